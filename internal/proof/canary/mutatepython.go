package canary

import (
	"path"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var (
	pythonDef   = text.LazyRegexp(`^([ \t]*)def (test\w*)\(.*\).*:[ \t\r]*$`)
	pythonClass = text.LazyRegexp(`^[ \t]*class (\w+)[ \t]*(?:\(.*\))?:[ \t\r]*$`)
	pythonBases = text.LazyRegexp(`(?m)^[ \t]*class \w+[ \t]*\(([^)]*)\)`)
	pythonWord  = text.LazyRegexp(`\w+`)
	claimAssert = text.LazyRegexp(`^([ \t]*assert )(\S.*) == ([^\s,]+)[ \t\r]*(?:,.*)?$`)
	claimEqual  = text.LazyRegexp(`^[ \t]+self\.assertEquals?\(`)
	claimTrue   = text.LazyRegexp(`^[ \t]+self\.assertTrue\(`)
	claimSign   = text.LazyRegexp(`\s*==\s*`)
	claimDoubt  = text.LazyRegexp(`\b(?:return|yield|skip\w*|xfail|Skip\w*|_?exit|SystemExit|try|raises)\b`)
	// claimLogic matches operators with which a comparison does not decide an assertion alone.
	claimLogic = text.LazyRegexp(`[!<>]=|[<>]|:=|\b(?:or|and|not|if|else|lambda|in|is|for)\b`)
	// failureExpected matches texts of files in which a test that fails may count as passed.
	failureExpected = text.LazyRegexp(`\bxfail\b|\bexpectedFailure\b`)
)

// findPython returns the tests of all Python files.
func (m *mutator) findPython() []candidate {
	var all []candidate
	bases := map[string]bool{}
	for _, file := range m.files(pythonTest) {
		s := maskPython(m.search(file))
		for _, match := range pythonBases().FindAllStringSubmatch(s.code, -1) {
			for _, name := range pythonWord().FindAllString(match[1], -1) {
				bases[name] = true
			}
		}
		all = append(all, m.pythonTests(file, s)...)
	}
	for i, c := range all {
		// A test that other classes inherit has several names.
		if parts := strings.Split(c.test, "."); len(parts) > 2 && bases[parts[len(parts)-2]] {
			all[i].spots = nil
		}
	}
	return unique(all)
}

// pythonTests returns the tests of one file.
func (m *mutator) pythonTests(file string, s source) []candidate {
	var tests []candidate
	lines := linesOf(s.code)
	certain := !failureExpected().MatchString(s.code)
	module := strings.TrimSuffix(path.Base(file), ".py")
	for i, line := range lines {
		def := pythonDef().FindStringSubmatch(line.text)
		if def == nil {
			continue
		}
		classes, ok := enclosing(lines, i, func(text string) string {
			if class := pythonClass().FindStringSubmatch(text); class != nil {
				return class[1]
			}
			return ""
		})
		if !ok {
			continue
		}
		name := strings.Join(append(append([]string{module}, classes...), def[2]), ".")
		c := candidate{file: file, test: name}
		if loops, plain := pythonParameters(s, lines, i); certain && plain {
			f := pythonFunction{file: file, source: s, lines: functionLines(lines[i:]), loops: loops}
			c.spots = m.pythonSpots(f)
		}
		tests = append(tests, c)
	}
	return tests
}

// sourceLine is one line of code and where it begins.
type sourceLine struct {
	at     int
	text   string
	indent int
	blank  bool
}

func linesOf(code string) []sourceLine {
	var lines []sourceLine
	at := 0
	for text := range strings.SplitSeq(code, "\n") {
		indent := len(text) - len(strings.TrimLeft(text, " \t"))
		lines = append(lines, sourceLine{at, text, indent, strings.TrimSpace(text) == ""})
		at += len(text) + 1
	}
	return lines
}

// enclosing returns the names of the blocks around a line, from the outermost one. ok is false if
// one of them has no name and so is no place where a runner finds tests.
func enclosing(lines []sourceLine, at int, name func(text string) string) (names []string, ok bool) {
	indent := lines[at].indent
	for i := at - 1; i >= 0 && indent > 0; i-- {
		if lines[i].blank || lines[i].indent >= indent {
			continue
		}
		block := name(lines[i].text)
		if block == "" || i > 0 && strings.HasPrefix(strings.TrimSpace(lines[i-1].text), "@") {
			return nil, false
		}
		names, indent = append([]string{block}, names...), lines[i].indent
	}
	return names, indent == 0
}

// pythonFunction is the function of a test.
type pythonFunction struct {
	file string
	source
	lines []sourceLine // the first one is its definition
	loops []loop       // its sets of parameters
}

// functionLines returns the lines of the function that begins with the first line.
func functionLines(lines []sourceLine) []sourceLine {
	for i, line := range lines[1:] {
		if !line.blank && line.indent <= lines[0].indent {
			return lines[:i+1]
		}
	}
	return lines
}

func (f pythonFunction) whole() span {
	last := f.lines[len(f.lines)-1]
	return span{f.lines[0].at, last.at + len(last.text)}
}

var pythonSets = text.LazyRegexp(`^@pytest\.mark\.parametrize\(`)

// pythonParameters returns the sets of parameters of a test. plain is false if anything else decides how often, or
// whether, it runs.
func pythonParameters(s source, lines []sourceLine, def int) (sets []loop, plain bool) {
	first := def
	for i := def - 1; i >= 0 && !lines[i].blank; i-- {
		if strings.HasPrefix(strings.TrimSpace(lines[i].text), "@") {
			first = i
		}
	}
	for at := lines[first].at; at < lines[def].at; {
		at += len(s.code[at:]) - len(strings.TrimLeft(s.code[at:], " \t\r\n"))
		call := pythonSets().FindString(s.code[at:])
		if call == "" {
			return sets, at >= lines[def].at
		}
		args, end := s.arguments(at + len(call) - 1)
		if end < 0 || len(args) < 2 || !endsLine(s.code[end:]) {
			return nil, false
		}
		sets = append(sets, loop{names: namesOf(s.text[args[0].from:args[0].to]), rows: args[1]})
		at = end
	}
	return sets, true
}

var (
	pythonFor  = text.LazyRegexp(`^[ \t]*for ([\w, ()]+) in `)
	pythonOpen = text.LazyRegexp(`^[ \t]*with open\(.*:[ \t\r]*$`)
	leavesLoop = text.LazyRegexp(`\b(?:break|continue)\b`)
)

// pythonSpots returns the literals of the comparisons that are statements of the test itself, and of the tables that it
// goes through. Those after something that may end the test are not certain.
func (m *mutator) pythonSpots(f pythonFunction) []spot {
	var spots []spot
	certain, body := true, 0
	for i, line := range f.lines[1:] {
		if line.blank {
			continue
		}
		if body == 0 || line.indent < body {
			body = line.indent
		}
		if claimDoubt().MatchString(line.text) {
			certain = false
			continue
		}
		if line.indent != body {
			continue
		}
		if pythonOpen().MatchString(line.text) {
			body = 0 // what is inside runs like what is before
			continue
		}
		if at, ok := pythonCompared(f.source, line); ok {
			spots = append(spots, spot{span: at, certain: certain})
		}
		if !certain {
			continue
		}
		for _, set := range f.loops {
			set.body = f.whole()
			spots = append(spots, m.pythonExpected(f, set, line)...)
		}
		if l, ok := pythonLoop(f.source, line); ok {
			spots = append(spots, m.pythonLoopSpots(f, l, f.lines[i+1:])...)
		}
	}
	return spots
}

// pythonLoop returns the loop that a line begins.
func pythonLoop(s source, line sourceLine) (loop, bool) {
	head := pythonFor().FindStringSubmatch(line.text)
	if head == nil {
		return loop{}, false
	}
	from := line.at + len(head[0])
	to := line.at + len(strings.TrimRight(line.text, " \t\r:"))
	if strings.HasPrefix(s.code[from:], "(") || strings.HasPrefix(s.code[from:], "[") {
		_, to = s.arguments(from)
	}
	if to < from || !strings.HasPrefix(s.code[to:], ":") {
		return loop{}, false
	}
	return loop{names: namesOf(head[1]), rows: span{from, to}}, true
}

// pythonLoopSpots returns the literals that a loop expects. lines begins with that of the loop.
func (m *mutator) pythonLoopSpots(f pythonFunction, l loop, lines []sourceLine) []spot {
	var inside []sourceLine
	for _, line := range lines[1:] {
		if line.blank || line.at < l.rows.to {
			continue
		}
		if line.indent <= lines[0].indent {
			break
		}
		inside = append(inside, line)
	}
	if len(inside) == 0 {
		return nil
	}
	last := inside[len(inside)-1]
	l.body = span{inside[0].at, last.at + len(last.text)}
	var spots []spot
	for _, line := range inside {
		if claimDoubt().MatchString(line.text) || leavesLoop().MatchString(line.text) {
			break
		}
		if line.indent == inside[0].indent {
			spots = append(spots, m.pythonExpected(f, l, line)...)
		}
	}
	return spots
}

// pythonExpected returns the literals of a table that a line compares something with.
func (m *mutator) pythonExpected(f pythonFunction, l loop, line sourceLine) []spot {
	one, two, ok := pythonSides(f.source, line)
	if !ok {
		return nil
	}
	if c, ok := l.compares(f.source, one, two); ok {
		return m.expected(f.file, f.source, f.whole(), l, c)
	}
	return nil
}

// pythonCompared returns the expected value of a line that is one comparison.
func pythonCompared(s source, line sourceLine) (span, bool) {
	one, two, ok := pythonSides(s, line)
	if !ok {
		return span{}, false
	}
	return s.compared(one, two)
}

// pythonSides returns the two values that a line compares, if it does nothing else.
func pythonSides(s source, line sourceLine) (one, two span, ok bool) {
	if parts := claimAssert().FindStringSubmatchIndex(line.text); parts != nil {
		value := line.text[parts[4]:parts[5]]
		ok = !claimLogic().MatchString(value) && !claimSign().MatchString(value) && balanced(value)
		return span{line.at + parts[4], line.at + parts[5]}, span{line.at + parts[6], line.at + parts[7]}, ok
	}
	if call := claimTrue().FindString(line.text); call != "" {
		args, end := s.arguments(line.at + len(call) - 1)
		if len(args) == 0 || !endsLine(s.code[end:]) {
			return span{}, span{}, false
		}
		return s.equation(args[0], claimSign(), claimLogic())
	}
	call := claimEqual().FindString(line.text)
	if call == "" {
		return span{}, span{}, false
	}
	args, end := s.arguments(line.at + len(call) - 1)
	if len(args) < 2 || !endsLine(s.code[end:]) {
		return span{}, span{}, false
	}
	return args[0], args[1], true
}

func balanced(code string) bool {
	depth := 0
	for _, c := range code {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

func endsLine(rest string) bool {
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line) == ""
}

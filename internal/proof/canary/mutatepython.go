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
	claimDoubt  = text.LazyRegexp(
		`\b(?:return|yield|skip\w*|xfail|Skip\w*|importorskip|_?exit|SystemExit|try|\w*[Rr]aises\w*|suppress)\b`,
	)
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
		if sets, number, plain := pythonParameters(s, lines, i); certain && plain {
			c.sets = number
			c.spots = m.pythonSpots(pythonFunction{file: file, source: s, lines: functionLines(lines[i:]), sets: sets})
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
	sets  []tableUse   // of parameters
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

// pythonParameters returns the sets of parameters of a test, and how many there are. plain is false if anything else
// decides how often, or whether, it runs.
func pythonParameters(s source, lines []sourceLine, def int) (sets []tableUse, number int, plain bool) {
	at := firstDecorator(s, lines, def)
	for number = 1; ; {
		at += len(s.code[at:]) - len(strings.TrimLeft(s.code[at:], " \t\r\n"))
		if at >= lines[def].at {
			break
		}
		call := pythonSets().FindString(s.code[at:])
		if call == "" {
			return nil, 0, false
		}
		args, end := s.arguments(at + len(call) - 1)
		if end < 0 || len(args) < 2 || !endsLine(s.code[end:]) || strings.Contains(s.code[at:end], "marks") ||
			len(args) > 2 && (len(args) > 3 || !strings.HasPrefix(s.code[args[2].from:], "ids=")) {
			return nil, 0, false
		}
		rows, last := s.arguments(args[1].from)
		if last != args[1].to || !strings.ContainsRune("([", rune(s.code[args[1].from])) {
			return nil, 0, false
		}
		number *= len(rows)
		sets = append(sets, tableUse{names: namesOf(s.text[args[0].from:args[0].to]), rows: args[1]})
		at = end
	}
	if len(sets) == 0 {
		number = 0
	}
	return sets, number, true
}

// firstDecorator returns where the decorators of a function begin, or the function itself.
func firstDecorator(s source, lines []sourceLine, def int) int {
	first := def
	for i := def - 1; i >= 0; i-- {
		line := lines[i]
		isEmpty := strings.TrimSpace(s.text[line.at:line.at+len(line.text)]) == "" // a comment is not
		if isEmpty && balanced(s.code[line.at:lines[first].at]) {
			break
		}
		if strings.HasPrefix(strings.TrimSpace(line.text), "@") && line.indent == lines[def].indent {
			first = i
		}
	}
	return lines[first].at
}

var (
	pythonFor  = text.LazyRegexp(`^[ \t]*for ([\w, ()]+) in `)
	pythonOpen = text.LazyRegexp(`^[ \t]*with open\(`)
	openedAs   = text.LazyRegexp(`^(?: as \w+)?:[ \t\r]*(?:\n|$)`)
	leavesLoop = text.LazyRegexp(`\b(?:break|continue)\b`)
	otherDef   = text.LazyRegexp(`(?m)^[ \t]*(?:async )?def (\w+)\(([^)]*)\)`)
)

// opensFile reports whether a line only opens a file for the lines inside it.
func opensFile(s source, line sourceLine) bool {
	head := pythonOpen().FindString(line.text)
	if head == "" {
		return false
	}
	_, end := s.arguments(line.at + len(head) - 1)
	return end > 0 && openedAs().MatchString(s.code[end:])
}

// pythonSpots returns the literals of the comparisons that are statements of the test itself, and of the tables that it
// goes through. Those after something that may end the test are not certain.
func (m *mutator) pythonSpots(f pythonFunction) []spot {
	var spots []spot
	certain, body := true, 0
	sides := pythonSidesOf(f.source, f.lines[1:])
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
		if opensFile(f.source, line) {
			body = 0 // what is inside runs like what is before
			continue
		}
		if at, ok := pythonCompared(f.source, line); ok {
			spots = append(spots, spot{span: at, certain: certain})
		}
		if !certain {
			continue
		}
		for _, set := range f.sets {
			set.body, set.sides = span{f.lines[1].at, f.whole().to}, sides
			spots = append(spots, m.pythonExpected(f, set, line)...)
		}
		if l, ok := pythonLoop(f.source, line); ok {
			spots = append(spots, m.pythonLoopSpots(f, l, f.lines[i+1:])...)
		}
	}
	return spots
}

// pythonLoop returns the loop that a line begins.
func pythonLoop(s source, line sourceLine) (tableUse, bool) {
	head := pythonFor().FindStringSubmatch(line.text)
	if head == nil {
		return tableUse{}, false
	}
	from := line.at + len(head[0])
	to := line.at + len(strings.TrimRight(line.text, " \t\r:"))
	if strings.HasPrefix(s.code[from:], "(") || strings.HasPrefix(s.code[from:], "[") {
		_, to = s.arguments(from)
	}
	if to < from || !strings.HasPrefix(s.code[to:], ":") {
		return tableUse{}, false
	}
	return tableUse{names: namesOf(head[1]), rows: span{from, to}}, true
}

// pythonLoopSpots returns the literals that a loop expects. lines begins with that of the loop.
func (m *mutator) pythonLoopSpots(f pythonFunction, l tableUse, lines []sourceLine) []spot {
	var inside []sourceLine
	for _, line := range lines[1:] {
		if line.blank || line.at < l.rows.to {
			continue
		}
		if line.indent <= lines[0].indent {
			break
		}
		if claimDoubt().MatchString(line.text) || leavesLoop().MatchString(line.text) {
			return nil // some rows may be left out
		}
		inside = append(inside, line)
	}
	if len(inside) == 0 {
		return nil
	}
	last := inside[len(inside)-1]
	l.body, l.sides = span{inside[0].at, last.at + len(last.text)}, pythonSidesOf(f.source, inside)
	var spots []spot
	for _, line := range inside {
		if line.indent == inside[0].indent {
			spots = append(spots, m.pythonExpected(f, l, line)...)
		}
	}
	return spots
}

// pythonExpected returns the literals of a table that a line compares something with.
func (m *mutator) pythonExpected(f pythonFunction, u tableUse, line sourceLine) []spot {
	one, two, ok := pythonSides(f.source, line)
	if !ok {
		return nil
	}
	c, ok := u.compares(f.source, one, two)
	if !ok || len(f.sets) > 0 && c.key == "" && m.isFixtureParameter(f, u.names[c.place]) {
		return nil
	}
	return m.expected(f.file, f.source, f.whole(), u, c)
}

// isFixtureParameter reports whether a function other than a test takes a parameter of that name, so that pytest passes
// the value on to it.
func (m *mutator) isFixtureParameter(f pythonFunction, name string) bool {
	texts := []string{f.code}
	for dir := path.Dir(f.file); ; dir = path.Dir(dir) {
		texts = append(texts, m.search(path.Join(dir, "conftest.py")))
		if dir == "." || dir == "/" {
			break
		}
	}
	for _, text := range texts {
		for _, def := range otherDef().FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(def[1], "test") && len(wordsAt(def[2], span{0, len(def[2])}, name)) > 0 {
				return true
			}
		}
	}
	return false
}

// pythonSidesOf returns what lines compare.
func pythonSidesOf(s source, lines []sourceLine) []span {
	var sides []span
	for _, line := range lines {
		if one, two, ok := pythonSides(s, line); ok {
			sides = append(sides, one, two)
		}
	}
	return sides
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

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
		all = append(all, pythonTests(file, s)...)
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
func pythonTests(file string, s source) []candidate {
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
		if certain && !decorated(lines, i) {
			c.spots = pythonSpots(s, lines[i:])
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

// decorated reports whether a decorator decides how often, or whether, a test runs.
func decorated(lines []sourceLine, def int) bool {
	for i := def - 1; i >= 0 && !lines[i].blank; i-- {
		if strings.HasPrefix(strings.TrimSpace(lines[i].text), "@") {
			return true
		}
	}
	return false
}

// pythonSpots returns the literals of the comparisons that are statements of the test itself. Those
// after something that may end the test are not certain. lines begins with the test's definition.
func pythonSpots(s source, lines []sourceLine) []spot {
	var spots []spot
	certain, body := true, 0
	for _, line := range lines[1:] {
		if line.blank {
			continue
		}
		if line.indent <= lines[0].indent {
			break
		}
		if body == 0 {
			body = line.indent
		}
		if claimDoubt().MatchString(line.text) {
			certain = false
			continue
		}
		if at, ok := pythonCompared(s, line); ok && line.indent == body {
			spots = append(spots, spot{span: at, certain: certain})
		}
	}
	return spots
}

// pythonCompared returns the expected value of a line that is one comparison.
func pythonCompared(s source, line sourceLine) (span, bool) {
	if parts := claimAssert().FindStringSubmatchIndex(line.text); parts != nil {
		value := line.text[parts[4]:parts[5]]
		if claimLogic().MatchString(value) || claimSign().MatchString(value) || !balanced(value) {
			return span{}, false
		}
		at := span{line.at + parts[6], line.at + parts[7]}
		return s.compared(span{line.at + parts[4], line.at + parts[5]}, at)
	}
	if call := claimTrue().FindString(line.text); call != "" {
		args, end := s.arguments(line.at + len(call) - 1)
		if len(args) == 0 || !endsLine(s.code[end:]) {
			return span{}, false
		}
		return s.equation(args[0], claimSign(), claimLogic())
	}
	call := claimEqual().FindString(line.text)
	if call == "" {
		return span{}, false
	}
	args, end := s.arguments(line.at + len(call) - 1)
	if len(args) < 2 || !endsLine(s.code[end:]) {
		return span{}, false
	}
	return s.compared(args[0], args[1])
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

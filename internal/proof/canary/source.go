package canary

import (
	"regexp"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// source is the text of a test file with a copy of the same length, in which comments are blanks and
// the insides of strings are underscores. A string of several lines is one line of the copy. Only
// code can be found in the copy, and a bracket or a comma in it is one of the code.
type source struct{ text, code string }

// masker makes the copy.
type masker struct {
	text string
	out  []byte
	at   int
}

// mask returns the source of a text. next handles what begins at the current place and is no plain
// code, and reports whether there was anything.
func mask(text string, next func(*masker) bool) source {
	m := &masker{text: text, out: []byte(text)}
	for m.at < len(text) {
		if !next(m) {
			m.at++
		}
	}
	return source{text: text, code: string(m.out)}
}

func (m *masker) begins(prefix string) bool { return strings.HasPrefix(m.text[m.at:], prefix) }

// comment blanks everything up to the next end, or up to the end of the text.
func (m *masker) comment(end string) bool {
	to := len(m.text)
	if i := strings.Index(m.text[m.at:], end); i >= 0 {
		to = m.at + i
		if end != "\n" {
			to += len(end)
		}
	}
	for ; m.at < to; m.at++ {
		if m.text[m.at] != '\n' {
			m.out[m.at] = ' '
		}
	}
	return true
}

// quoted hides the inside of a string that begins with open and ends with end. A string that may not
// contain a line break ends there, because it was none.
func (m *masker) quoted(open, end string) bool {
	single := len(end) == 1 && end != "`"
	for m.at += len(open); m.at < len(m.text) && !m.begins(end); m.at++ {
		if single && m.text[m.at] == '\n' {
			return true
		}
		m.out[m.at] = '_'
		if m.text[m.at] == '\\' && m.at+1 < len(m.text) {
			m.at++
			m.out[m.at] = '_'
		}
	}
	m.at = min(m.at+len(end), len(m.text))
	return true
}

func maskPython(text string) source {
	return mask(text, func(m *masker) bool {
		switch {
		case m.begins("#"):
			return m.comment("\n")
		case m.begins(`"""`), m.begins("'''"):
			return m.quoted(m.text[m.at:m.at+3], m.text[m.at:m.at+3])
		case m.begins(`"`), m.begins("'"):
			return m.quoted(m.text[m.at:m.at+1], m.text[m.at:m.at+1])
		}
		return false
	})
}

// jsBeforeRegexp matches code after which a slash begins a regular expression.
var jsBeforeRegexp = text.LazyRegexp(`(?:^|[(,=:\[!&|?{};+>]|\breturn)\s*$`)

func maskJavaScript(text string) source {
	return mask(text, func(m *masker) bool {
		switch {
		case m.begins("//"):
			return m.comment("\n")
		case m.begins("/*"):
			return m.comment("*/")
		case m.begins(`"`), m.begins("'"):
			return m.quoted(m.text[m.at:m.at+1], m.text[m.at:m.at+1])
		case m.begins("`"):
			return m.template()
		case m.begins("/") && jsBeforeRegexp().Match(m.out[max(0, m.at-20):m.at]):
			return m.quoted("/", "/")
		}
		return false
	})
}

// template hides a template literal with everything that is inserted into it.
func (m *masker) template() bool {
	depth := 0
	for m.at++; m.at < len(m.text); m.at++ {
		switch {
		case m.begins("`") && depth == 0:
			m.at++
			return true
		case m.begins("`"):
			from := m.at
			m.template()
			for i := from; i < m.at; i++ {
				m.out[i] = '_'
			}
			m.at--
			continue
		case m.begins("\\") && m.at+1 < len(m.text):
			m.out[m.at] = '_'
			m.at++
		case m.begins("${") || depth > 0 && m.begins("{"):
			depth++
			if m.begins("$") {
				m.out[m.at] = '_'
				m.at++
			}
		case depth > 0 && m.begins("}"):
			depth--
		}
		m.out[m.at] = '_'
	}
	return true
}

var (
	rustCharacter = text.LazyRegexp(`^'(?:\\[^\n]+?|[^\\'\n])'`)
	rustRaw       = text.LazyRegexp(`^r#*"`)
)

func maskRust(text string) source {
	return mask(text, func(m *masker) bool {
		rest := m.text[m.at:]
		switch {
		case m.begins("//"):
			return m.comment("\n")
		case m.begins("/*"):
			return m.comment("*/")
		case m.begins("r") && rustRaw().MatchString(rest) && (m.at == 0 || !isWordByte(m.text[m.at-1])):
			open := rustRaw().FindString(rest)
			end := `"` + strings.Repeat("#", len(open)-2)
			m.rawText(open, end)
			return true
		case m.begins(`"`):
			m.rustText()
			return true
		case m.begins("'"):
			if c := rustCharacter().FindString(rest); c != "" {
				return m.quoted("'", "'")
			}
		}
		return false
	})
}

// rawText hides a string without escapes.
func (m *masker) rawText(open, end string) {
	for m.at += len(open); m.at < len(m.text) && !m.begins(end); m.at++ {
		m.out[m.at] = '_'
	}
	m.at = min(m.at+len(end), len(m.text))
}

// rustText hides a string, which may contain line breaks.
func (m *masker) rustText() {
	for m.at++; m.at < len(m.text) && !m.begins(`"`); m.at++ {
		m.out[m.at] = '_'
		if m.text[m.at] == '\\' && m.at+1 < len(m.text) {
			m.at++
			m.out[m.at] = '_'
		}
	}
	m.at = min(m.at+1, len(m.text))
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// span is a part of a source.
type span struct{ from, to int }

// arguments returns the arguments of the call whose bracket opens at open, without spaces around
// them, and where the call ends. It returns -1 if the bracket is not closed.
func (s source) arguments(open int) (args []span, end int) {
	depth, from := 0, open+1
	add := func(to int) {
		part := s.code[from:to]
		left := len(part) - len(strings.TrimLeft(part, " \t\r\n"))
		if trimmed := strings.TrimSpace(part); trimmed != "" {
			args = append(args, span{from + left, from + left + len(trimmed)})
		}
	}
	for i := open; i < len(s.code); i++ {
		switch s.code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				add(i)
				return args, i + 1
			}
		case ',':
			if depth == 1 {
				add(i)
				from = i + 1
			}
		}
	}
	return nil, -1
}

// first returns where an expression first matches inside a block, or where the block ends.
func (s source) first(expression *regexp.Regexp, block span) int {
	if at := expression.FindStringIndex(s.code[block.from:block.to]); at != nil {
		return block.from + at[0]
	}
	return block.to
}

// literal is what can be changed: a number, or a text in one line.
var literal = text.LazyRegexp(`^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?|'_*'|"_*")$`)

var identifier = text.LazyRegexp(`[A-Za-z_$]`)

// compared returns the literal of a comparison of two values, if exactly one of them is a literal
// and the other one is not constant.
func (s source) compared(one, two span) (span, bool) {
	if literal().MatchString(s.code[one.from:one.to]) {
		one, two = two, one
	}
	value, expected := s.code[one.from:one.to], s.code[two.from:two.to]
	ok := literal().MatchString(expected) && (strings.ContainsAny(expected, `'"`) || changeable(expected)) &&
		!literal().MatchString(value) &&
		identifier().MatchString(emptyText().ReplaceAllString(value, "")) && !tolerant().MatchString(value)
	return two, ok
}

// equation returns the two values of an expression that only compares them.
func (s source) equation(whole span, equal, logic *regexp.Regexp) (one, two span, ok bool) {
	code := s.code[whole.from:whole.to]
	signs := equal.FindAllStringIndex(code, -1)
	if len(signs) != 1 || logic.MatchString(code) || !balanced(code[:signs[0][0]]) {
		return span{}, span{}, false
	}
	return span{whole.from, whole.from + signs[0][0]}, span{whole.from + signs[0][1], whole.to}, true
}

var (
	emptyText = text.LazyRegexp("'_*'|\"_*\"|`_*`")
	// tolerant matches values that are honestly equal to several others.
	tolerant = text.LazyRegexp(`\b(?:approx|ANY|any|anything)\b`)
)

// statements returns where the statements directly inside a block begin.
func (s source) statements(block span) []int {
	var starts []int
	depth, fresh := 0, true
	for i := block.from; i < block.to; i++ {
		c := s.code[i]
		if fresh && depth == 0 && !strings.ContainsRune(" \t\r\n;", rune(c)) {
			starts, fresh = append(starts, i), false
		}
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth == 0 && (c == ';' || c == '}' || c == '\n') {
			fresh = true
		}
	}
	return starts
}

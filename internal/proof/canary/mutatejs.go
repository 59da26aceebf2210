package canary

import (
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var (
	jsGroupCall  = text.LazyRegexp("\\b(?:describe|suite|context|test|it)(?:\\.\\w+)*\\(\\s*['\"`]")
	jsTestCall   = text.LazyRegexp("\\b(?:test|it)((?:\\.\\w+)*)\\(\\s*['\"`]")
	jsFunction   = text.LazyRegexp(`^(?:async\s+)?(?:function\b\s*\w*\s*\([^()]*\)\s*|(?:\([^()]*\)|\w+)\s*=>\s*)`)
	jsAssertCall = text.LazyRegexp(`^(?:assert\.(?:equal|strictEqual|deepEqual|deepStrictEqual)|t\.is)\(`)
	jsTruthCall  = text.LazyRegexp(`^assert(?:\.ok)?\(`)
	jsEqual      = text.LazyRegexp(`\s*===?\s*`)
	jsLogic      = text.LazyRegexp(`&&|\|\||[?<>!]|=>|\?\?`)
	jsExpectCall = text.LazyRegexp(`^(await\s+)?expect\(`)
	jsExpects    = text.LazyRegexp(`^\s*(\.resolves\s*)?\.(?:toBe|toEqual|toStrictEqual)\(`)
	jsDoubt      = text.LazyRegexp(`\b(?:return|yield|skip|todo|try|exit)\b`)
	jsBranch     = text.LazyRegexp(`^(?:\}\s*)?(?:if|else|for|while|do)\b.*[^;{}\s]$`)
	jsUnfinished = text.LazyRegexp(`[=>,+&|?:(]$`)
	jsNext       = text.LazyRegexp(`^(?:[ \t\r]*(?:[;\n})]|$))`)
)

// findJavaScript returns the tests of all JavaScript and TypeScript files. Reports put the names of
// groups before a test's title, so a title must not be the end of another one.
func (m *mutator) findJavaScript() []candidate {
	var all []candidate
	endings := map[string]int{}
	for _, file := range m.files(m.jsTest) {
		text := m.search(file)
		if jsOtherRunner().MatchString(text) {
			continue
		}
		for _, c := range m.jsTitled(file, maskJavaScript(text)) {
			all = append(all, c)
			endings[c.test]++
			for i, r := range c.test {
				if r == ' ' {
					endings[c.test[i+1:]]++
				}
			}
		}
	}
	for i, c := range all {
		if endings[c.test] > 1 {
			all[i].spots = nil
		}
	}
	return all
}

// jsTitled returns the tests of one file that have a title.
func (m *mutator) jsTitled(file string, s source) []candidate {
	var tests []candidate
	groups := jsGroups(s)
	for _, at := range jsTestCall().FindAllStringSubmatchIndex(s.code, -1) {
		args, end := s.arguments(at[3])
		if end < 0 || len(tests) == maxFileTests {
			return nil // this is no code that can be understood
		}
		if len(args) == 0 {
			continue
		}
		title := s.text[args[0].from:args[0].to]
		if len(title) < 3 || strings.ContainsAny(title, "\\\n") || strings.Contains(title, "${") {
			continue
		}
		c := candidate{file: file, test: title[1 : len(title)-1], groups: around(groups, at[0])}
		plain := at[2] == at[3] && !precededByDot(s.code, at[0]) && literal().MatchString(s.code[args[0].from:args[0].to])
		if plain && strings.TrimSpace(c.test) == c.test {
			c.spots = m.jsSpots(file, s, args[1:])
		}
		tests = append(tests, c)
	}
	return tests
}

// jsGroup is a call with a title, and what is between its parentheses: a group of tests, or a test with parts.
type jsGroup struct {
	span
	title string
}

func jsGroups(s source) []jsGroup {
	var groups []jsGroup
	for _, at := range jsGroupCall().FindAllStringIndex(s.code, maxFileTests) {
		open := at[0] + strings.IndexByte(s.code[at[0]:at[1]], '(')
		args, end := s.arguments(open)
		if end < 0 || len(args) < 2 {
			continue
		}
		if title := s.text[args[0].from:args[0].to]; len(title) > 2 {
			groups = append(groups, jsGroup{span{open, end}, title[1 : len(title)-1]})
		}
	}
	return groups
}

// around returns the titles of the groups that contain a place. They fail with each of their tests.
func around(groups []jsGroup, place int) []string {
	var titles []string
	for _, g := range groups {
		if g.from < place && place < g.to {
			titles = append(titles, g.title)
		}
	}
	return titles
}

func precededByDot(code string, at int) bool {
	return at > 0 && (code[at-1] == '.' || code[at-1] == '$')
}

// jsSpots returns the literals that the function of a test compares. A test with options may be
// skipped, or expected to fail.
func (m *mutator) jsSpots(file string, s source, args []span) []spot {
	if len(args) == 0 {
		return nil
	}
	head := jsFunction().FindString(s.code[args[0].from:args[0].to])
	if head == "" {
		return nil
	}
	body := span{args[0].from + len(head), args[0].to}
	if body.from >= body.to {
		return nil
	}
	if s.code[body.from] != '{' {
		if at, ok := jsCompared(s, body.from); ok {
			return []spot{{span: at, certain: true}}
		}
		return nil
	}
	body = span{body.from + 1, body.to - 1}
	var spots []spot
	doubt := s.first(jsDoubt(), body)
	for _, start := range s.statements(body) {
		if !jsReached(s.code[body.from:start]) {
			continue
		}
		if at, ok := jsCompared(s, start); ok && at.to <= body.to {
			spots = append(spots, spot{span: at, certain: start < doubt})
		}
		if l, ok := jsLoop(s, start); ok && start < doubt {
			spots = append(spots, m.jsLoopSpots(file, s, args[0], l)...)
		}
	}
	return spots
}

// jsReached reports whether a statement is one by itself: not the rest of an expression, nor a
// branch without braces.
func jsReached(before string) bool {
	before = strings.TrimRight(before, " \t\r\n")
	last := strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:])
	return !jsUnfinished().MatchString(last) && !jsBranch().MatchString(last)
}

// jsFor matches the head of a loop over the rows of a table.
var jsFor = text.LazyRegexp(`^for \((?:const|let) (\[[\w, ]*\]|\w+) of `)

// jsLoop returns the loop that begins at start.
func jsLoop(s source, start int) (tableUse, bool) {
	head := jsFor().FindStringSubmatch(s.code[start:])
	if head == nil {
		return tableUse{}, false
	}
	_, end := s.arguments(start + strings.IndexByte(head[0], '('))
	if end < 0 {
		return tableUse{}, false
	}
	from := end + len(s.code[end:]) - len(strings.TrimLeft(s.code[end:], " \t\r\n"))
	if from == len(s.code) {
		return tableUse{}, false
	}
	l := tableUse{names: namesOf(head[1]), rows: span{start + len(head[0]), end - 1}}
	if s.code[from] == '{' {
		_, to := s.arguments(from)
		l.body = span{from + 1, to - 1}
		return l, to > 0
	}
	l.body = span{from, len(s.code)}
	if line := strings.IndexByte(s.code[from:], '\n'); line >= 0 {
		l.body.to = from + line
	}
	return l, true
}

// jsLoopSpots returns the literals that a loop expects.
func (m *mutator) jsLoopSpots(file string, s source, test span, l tableUse) []spot {
	starts := s.statements(l.body)
	if isBlock := s.code[l.body.from-1] == '{'; !isBlock {
		starts = starts[:min(1, len(starts))]
	}
	if code := s.code[l.body.from:l.body.to]; jsDoubt().MatchString(code) || leavesLoop().MatchString(code) {
		return nil // some rows may be left out
	}
	var compared []jsComparison
	for _, start := range starts {
		if c, ok := jsSides(s, start); ok && jsReached(s.code[l.body.from:start]) {
			compared = append(compared, c)
			l.sides = append(l.sides, c.one, c.two)
		}
	}
	var spots []spot
	for _, is := range compared {
		c, ok := l.compares(s, is.one, is.two)
		if _, _, isExpected := l.column(s.text[is.two.from:is.two.to]); ok && (isExpected || !is.ordered) {
			spots = append(spots, m.expected(file, s, test, l, c)...)
		}
	}
	return spots
}

// jsComparison holds the two values that a statement compares. ordered is true if only the second one can be what is
// expected.
type jsComparison struct {
	one, two span
	ordered  bool
}

// jsCompared returns the expected value of the comparison that begins at start.
func jsCompared(s source, start int) (span, bool) {
	is, ok := jsSides(s, start)
	if !ok {
		return span{}, false
	}
	at, ok := s.compared(is.one, is.two)
	return at, ok && (at == is.two || !is.ordered)
}

// jsSides returns what the statement at start compares.
func jsSides(s source, start int) (jsComparison, bool) {
	rest := s.code[start:]
	if call := jsAssertCall().FindString(rest); call != "" {
		args, end := s.arguments(start + len(call) - 1)
		if len(args) < 2 || !jsNext().MatchString(s.code[end:]) {
			return jsComparison{}, false
		}
		return jsComparison{one: args[0], two: args[1]}, true
	}
	if call := jsTruthCall().FindString(rest); call != "" {
		args, end := s.arguments(start + len(call) - 1)
		if len(args) == 0 || !jsNext().MatchString(s.code[end:]) {
			return jsComparison{}, false
		}
		one, two, ok := s.equation(args[0], jsEqual(), jsLogic())
		return jsComparison{one: one, two: two}, ok
	}
	call := jsExpectCall().FindStringSubmatch(rest)
	if call == nil {
		return jsComparison{}, false
	}
	actual, end := s.arguments(start + len(call[0]) - 1)
	if len(actual) != 1 {
		return jsComparison{}, false
	}
	expects := jsExpects().FindStringSubmatch(s.code[end:])
	if expects == nil || expects[1] != "" && call[1] == "" {
		return jsComparison{}, false
	}
	expected, end := s.arguments(end + len(expects[0]) - 1)
	if len(expected) != 1 || !jsNext().MatchString(s.code[end:]) {
		return jsComparison{}, false
	}
	return jsComparison{actual[0], expected[0], true}, true
}

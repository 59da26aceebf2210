package canary

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// tableUse is how a Python or JavaScript test goes through a table: by a loop, or once for each set of parameters.
type tableUse struct {
	names []string // what the parts of a row are called, or the row itself
	rows  span     // an expression that lists the rows, or reads them from a file
	body  span     // what is done with each row
	sides []span   // the values that statements of the body compare, each for itself
}

// column is a part of a row: by its place if key is "", otherwise by its key.
type column struct {
	place int
	key   string
}

// compares returns the column that a comparison of two values expects. The body must not use it for anything else: what
// goes in and comes back is equal for every value.
func (u tableUse) compares(s source, one, two span) (column, bool) {
	for _, sides := range [][2]span{{one, two}, {two, one}} {
		value, expected := s.code[sides[0].from:sides[0].to], s.text[sides[1].from:sides[1].to]
		found, name, ok := u.column(expected)
		if ok && u.onlyCompares(s, found, name) && !tolerant().MatchString(value) &&
			identifier().MatchString(emptyText().ReplaceAllString(value, "")) {
			return found, true
		}
	}
	return column{}, false
}

// partOfRow matches a part of a row by its key.
var partOfRow = text.LazyRegexp(`^(\w+)(?:\[["'](\w+)["']\]|\.(\w+))`)

func (u tableUse) column(expected string) (found column, name string, ok bool) {
	if i := slices.Index(u.names, expected); i >= 0 && len(u.names) > 1 {
		return column{place: i}, expected, true
	}
	part := partOfRow().FindStringSubmatch(expected)
	if part == nil || part[0] != expected || len(u.names) != 1 || part[1] != u.names[0] {
		return column{}, "", false
	}
	return column{key: part[2] + part[3]}, part[1], true
}

// onlyCompares reports whether every use of a column in the body is one side of a comparison.
func (u tableUse) onlyCompares(s source, c column, name string) bool {
	if strings.Contains(s.text[u.body.from:u.body.to], "{"+name) { // inside a text
		return false
	}
	for _, at := range wordsAt(s.code, u.body, name) {
		used := span{at, at + len(name)}
		if c.key != "" {
			part := partOfRow().FindStringSubmatch(s.text[at:])
			switch {
			case part == nil:
				return false // the row as a whole
			case part[2]+part[3] != c.key:
				continue
			}
			used.to = at + len(part[0])
		}
		if !slices.Contains(u.sides, used) {
			return false
		}
	}
	return true
}

// wordsAt returns where a word is in a part of some code.
func wordsAt(code string, part span, word string) []int {
	var places []int
	for at := part.from; ; at += len(word) {
		i := strings.Index(code[at:part.to], word)
		if i < 0 {
			return places
		}
		at += i
		end := at + len(word)
		inside := at > 0 && isWordByte(code[at-1]) || end < len(code) && isWordByte(code[end])
		if !inside {
			places = append(places, at)
		}
	}
}

// expected returns the literals that a test compares something with: those of one column of its table.
func (m *mutator) expected(file string, s source, test span, u tableUse, c column) []spot {
	rows := s.code[u.rows.from:u.rows.to]
	if strings.HasPrefix(rows, "[") || strings.HasPrefix(rows, "(") {
		return s.cells(u.rows, len(u.names), c)
	}
	if plainName().MatchString(rows) {
		rows = s.assigned(test, u.rows.from, rows)
	}
	if call := readsData().FindString(rows); call == "" || !isCall(rows, len(call)-1) {
		return nil
	}
	name, data, ok := m.dataOf(file, s.text[test.from:test.to])
	if !ok {
		return nil
	}
	whole := strings.TrimSpace(data.code)
	from := strings.Index(data.code, whole)
	spots := data.cells(span{from, from + len(whole)}, len(u.names), c)
	for i := range spots {
		spots[i].file = name
	}
	return spots
}

// isCall reports whether the bracket at open closes at the end of an expression.
func isCall(expression string, open int) bool {
	_, end := source{expression, expression}.arguments(open)
	return end == len(expression)
}

// readsData matches the beginning of a call that returns all of a file's data.
var readsData = text.LazyRegexp(`^(?:json\.loads?|JSON\.parse|require)\(`)

// assigned returns what a name stands for that a test sets once and uses once, at a place.
func (s source) assigned(test span, place int, name string) string {
	uses := wordsAt(s.code, test, name)
	if len(uses) != 2 || uses[1] != place {
		return ""
	}
	line, _, _ := strings.Cut(s.code[uses[0]:], "\n")
	value, _ := strings.CutPrefix(line, name+" = ")
	return strings.TrimRight(value, " \t\r;")
}

// cells returns the literals in a column of a table of literals.
func (s source) cells(table span, width int, c column) []spot {
	rows, end := s.arguments(table.from)
	if end != table.to || len(rows) > maxFileTests {
		return nil
	}
	var spots []spot
	for _, row := range rows {
		if !strings.ContainsRune("([{", rune(s.code[row.from])) {
			continue
		}
		cells, end := s.arguments(row.from)
		if end != row.to {
			continue
		}
		at, ok := s.cell(cells, width, c)
		if value := s.code[at.from:at.to]; ok && literal().MatchString(value) &&
			(strings.ContainsAny(value, `'"`) || changeable(value)) {
			spots = append(spots, spot{span: at, certain: true})
		}
	}
	return spots
}

var cellKey = text.LazyRegexp(`^["']?(\w+)["']?\s*:\s*`)

func (s source) cell(cells []span, width int, c column) (span, bool) {
	if c.key == "" {
		if len(cells) != width {
			return span{}, false
		}
		return cells[c.place], true
	}
	for _, cell := range cells {
		if key := cellKey().FindStringSubmatch(s.text[cell.from:cell.to]); key != nil && key[1] == c.key {
			return span{cell.from + len(key[0]), cell.to}, true
		}
	}
	return span{}, false
}

// namesOf returns the names in a list of names, with or without brackets; nil if it has anything else.
func namesOf(list string) []string {
	var names []string
	for name := range strings.SplitSeq(strings.Trim(list, "()[] "), ",") {
		name = strings.Trim(name, " \t\r\n\"'")
		if name == "" {
			continue
		}
		if !plainName().MatchString(name) {
			return nil
		}
		names = append(names, name)
	}
	return names
}

var plainName = text.LazyRegexp(`^[A-Za-z_]\w*$`)

var (
	// besideTest and fromRoot match how a test reads a file of data: next to itself, or in the workspace's root.
	besideTest = text.LazyRegexp(
		`open\((?:os\.path\.)?join\((?:os\.path\.)?dirname\(__file__\), ["']([\w.-]+\.json)["']\)|` +
			`require\(["']\./([\w./-]+\.json)["']\)`,
	)
	fromRoot = text.LazyRegexp(`open\(["']([\w./-]+\.json)["']`)
	// otherData matches what may make these names mean another file, or name one more.
	otherData = text.LazyRegexp(`(?i)chdir|tmp|temp|monkeypatch`)
)

// dataOf returns the one file of data that a test reads, and its text, if the base has nothing else that may read it:
// another test that does would fail, too, and the product would know what is expected.
func (m *mutator) dataOf(file, test string) (string, source, bool) {
	if strings.Count(test, ".json") != 1 || otherData().MatchString(test) {
		return "", source{}, false
	}
	name := ""
	if found := besideTest().FindStringSubmatch(test); found != nil {
		name = path.Join(path.Dir(file), found[1]+found[2])
	} else if found := fromRoot().FindStringSubmatch(test); found != nil {
		name = path.Clean(found[1])
	}
	if !m.taken[name] || m.isMentioned(name, file) {
		return "", source{}, false
	}
	return name, maskJavaScript(m.search(name)), true
}

// maxMentions limits the files that are searched for the name of a file of data.
const maxMentions = 3000

// isMentioned reports whether any file of the base but one has the name of a file of data, with or without its
// extension. The base decides: what an agent adds must not.
func (m *mutator) isMentioned(data, but string) bool {
	if len(m.base.Files) > maxMentions {
		return true
	}
	stem := strings.TrimSuffix(path.Base(data), path.Ext(data))
	return slices.ContainsFunc(m.base.Files, func(name string) bool {
		if name == data || name == but || !strings.Contains(path.Base(name), ".") && path.Base(name) != "Makefile" {
			return false
		}
		text := readText(m.base, name)
		return len(text) <= maxSearched && len(wordsAt(text, span{0, len(text)}, stem)) > 0
	})
}

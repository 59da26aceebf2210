package canary

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// loop is a loop of a Python or JavaScript test over the rows of a table, or a test with sets of parameters.
type loop struct {
	names []string // what the parts of a row are called, or the row itself
	rows  span     // an expression that lists the rows, or reads them from a file
	body  span     // what is done with each row
}

// column is a part of a row: by its place if key is "", otherwise by its key.
type column struct {
	place int
	key   string
}

// compares returns the column that a comparison of two values expects. The other value must not depend on it: what
// goes in and comes back is equal for every value.
func (l loop) compares(s source, one, two span) (column, bool) {
	for _, sides := range [][2]span{{one, two}, {two, one}} {
		value, expected := s.code[sides[0].from:sides[0].to], s.text[sides[1].from:sides[1].to]
		found, name, ok := l.column(expected)
		if !ok {
			continue
		}
		other := emptyText().ReplaceAllString(value, "")
		depends := hasWord(other, name)
		if found.key != "" {
			rest := strings.NewReplacer(name+".", "", name+"[", "").Replace(other)
			depends = hasWord(rest, name) || hasWord(s.text[sides[0].from:sides[0].to], found.key)
		}
		if !depends && identifier().MatchString(other) && !tolerant().MatchString(value) &&
			!reassigned(s.code[l.body.from:l.body.to], name) {
			return found, true
		}
	}
	return column{}, false
}

// partOfRow matches a part of a row by its key.
var partOfRow = text.LazyRegexp(`^(\w+)(?:\[["'](\w+)["']\]|\.(\w+))$`)

func (l loop) column(expected string) (found column, name string, ok bool) {
	if i := slices.Index(l.names, expected); i >= 0 && len(l.names) > 1 {
		return column{place: i}, expected, true
	}
	part := partOfRow().FindStringSubmatch(expected)
	if part == nil || len(l.names) != 1 || part[1] != l.names[0] {
		return column{}, "", false
	}
	return column{key: part[2] + part[3]}, part[1], true
}

func hasWord(code, word string) bool {
	return slices.Contains(strings.FieldsFunc(code, func(r rune) bool { return r > 127 || !isWordByte(byte(r)) }), word)
}

// reassigned reports whether code gives a name another value.
func reassigned(code, name string) bool {
	for rest := code; ; {
		_, after, found := strings.Cut(rest, name)
		if !found {
			return false
		}
		rest = after
		after = strings.TrimLeft(after, " ")
		if strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") && !strings.HasPrefix(after, "=>") {
			return true
		}
	}
}

// expected returns the literals that a loop of a test compares something with: those of one column of its table.
func (m *mutator) expected(file string, s source, test span, l loop, c column) []spot {
	rows := s.code[l.rows.from:l.rows.to]
	if strings.HasPrefix(rows, "[") || strings.HasPrefix(rows, "(") {
		return s.cells(l.rows.from, len(l.names), c)
	}
	if plainName().MatchString(rows) {
		_, rows, _ = strings.Cut(s.code[test.from:l.rows.from], rows+" = ")
	}
	name, data, ok := m.dataOf(file, s.text[test.from:test.to])
	if !ok || !readsData().MatchString(rows) || !strings.HasPrefix(strings.TrimSpace(data.code), "[") {
		return nil
	}
	spots := data.cells(strings.IndexByte(data.code, '['), len(l.names), c)
	for i := range spots {
		spots[i].file = name
	}
	return spots
}

// readsData matches expressions that are all of a file's data.
var readsData = text.LazyRegexp(`^(?:json\.loads?\(|JSON\.parse\(|require\()`)

// cells returns the literals in a column of the table that begins at open.
func (s source) cells(open int, names int, c column) []spot {
	rows, end := s.arguments(open)
	if end < 0 || len(rows) > maxFileTests {
		return nil
	}
	var spots []spot
	for _, row := range rows {
		cells, end := s.arguments(row.from)
		if end != row.to || !strings.ContainsRune("([{", rune(s.code[row.from])) {
			continue
		}
		at, ok := s.cell(cells, names, c)
		if value := s.code[at.from:at.to]; ok && literal().MatchString(value) &&
			(strings.ContainsAny(value, `'"`) || changeable(value)) {
			spots = append(spots, spot{span: at, certain: true})
		}
	}
	return spots
}

var cellKey = text.LazyRegexp(`^["']?(\w+)["']?\s*:\s*`)

func (s source) cell(cells []span, names int, c column) (span, bool) {
	if c.key == "" {
		if len(cells) != names {
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

// dataOf returns the one file of data that a test names, and its text, if no other test may read it: one that does
// would fail, too.
func (m *mutator) dataOf(file, test string) (name string, s source, ok bool) {
	named := dataFile().FindAllStringSubmatch(test, -1)
	if len(named) != 1 {
		return "", source{}, false
	}
	for _, name := range []string{path.Join(path.Dir(file), named[0][1]), path.Clean(named[0][1])} {
		if m.taken[name] && m.readers(path.Base(name)) == 1 {
			return name, maskJavaScript(m.search(name)), true
		}
	}
	return "", source{}, false
}

var (
	dataFile = text.LazyRegexp(`["'](?:\./)?([\w./-]+\.json)["']`)
	// readsFolders matches tests that may read every file of a folder.
	readsFolders = text.LazyRegexp(`\b(?:i?glob|rglob|listdir|iterdir|scandir|readdir\w*|walk)\b`)
)

// readers returns how often tests name a file. One that reads folders may read it as well.
func (m *mutator) readers(base string) int {
	if m.reading == nil {
		m.reading = map[string]int{}
		for _, file := range m.files(func(name string) bool { return pythonTest(name) || m.jsTest(name) }) {
			text := m.search(file)
			if readsFolders().MatchString(text) {
				m.reading[""]++
			}
			for _, named := range dataFile().FindAllStringSubmatch(text, -1) {
				m.reading[path.Base(named[1])]++
			}
		}
	}
	return m.reading[""] + m.reading[base]
}

//go:build linux

package cheats

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
)

const (
	pageFile    = "../../docs/proof.md"
	resultsFile = "testdata/results.json"
)

//go:embed testdata/proof.md.tmpl
var pageTemplate string

// figures are the data for the page.
type figures struct {
	Attacks, Honest   []line
	AttackIDs, Cases  int // attacks, and attacks in all their languages
	HonestIDs, Solved int
	Columns           []tally
	Families          []familyTally
	Languages         string
	Through, Apart    []string // accepted attacks: in the families that count, and in the others
	Asked             []string // honest solutions that are left to a person, each with the reason
	Naive             []string // attacks that do not fool a naive loop, each with the reason
	Ground            groundFigures
}

// line is one case in all its languages.
type line struct {
	Title string
	Cells []string
}

// tally counts one column.
type tally struct {
	Name                   string
	Refused, Attacks       int // without the families that are counted apart
	Percent                string
	Believed, Asked, Cases int
}

var columnNames = map[column]string{
	plainly: "plain exit status", bare: "Ralph by default", preset: "`--protect tests`", covert: "and hidden checks",
}

// render builds the page from the cases and their results.
func render(all []scenario, rows []row) (string, error) {
	trials, err := readTrials()
	if err != nil {
		return "", err
	}
	ground, err := loadScenarios(newGround)
	if err != nil {
		return "", err
	}
	f := figures{Languages: languageNames(all), Ground: sumGrounds(ground, trials)}
	rest := withoutApart(all, rows)
	for _, c := range []column{plainly, bare, preset, covert} {
		attacks, through := count(rest, attack, c)
		cases, accepted := count(rows, honest, c)
		_, asked := countAsked(rows, c)
		f.Columns = append(f.Columns, tally{
			Name: columnNames[c], Refused: attacks - through, Attacks: attacks,
			Percent:  fmt.Sprintf("%.1f %%", float64(100*(attacks-through))/float64(attacks)),
			Believed: accepted, Asked: asked, Cases: cases,
		})
	}
	f.Attacks, f.Cases = lines(all, rows, attack)
	f.Honest, f.Solved = lines(all, rows, honest)
	f.AttackIDs, f.HonestIDs = len(f.Attacks), len(f.Honest)
	f.Families = tallyFamilies(all, rows)
	for i, s := range all {
		if why := s.keys[keyNaive]; why != "" {
			f.Naive = append(f.Naive, fmt.Sprintf("%s (%s): %s", s.title, s.language.name, why))
		}
		if i > 0 && all[i-1].kind == s.kind && all[i-1].id == s.id {
			continue
		}
		switch accepted, asked := where(rows, s, isAccepted), where(rows, s, isAsked); {
		case s.kind == attack && accepted != "" && isApart(s.keys[keyFamily]):
			f.Apart = append(f.Apart, fmt.Sprintf("%s. %s: %s", s.keys[keyFamily], s.title, accepted))
		case s.kind == attack && accepted != "":
			f.Through = append(f.Through, fmt.Sprintf("%s. %s: %s", s.keys[keyFamily], s.title, accepted))
		case s.kind == honest && asked != "":
			f.Asked = append(f.Asked, fmt.Sprintf("%s: %s; %s", s.title, asked, reasonsFor(rows, s)))
		}
	}
	page, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = page.Execute(&out, f)
	return out.String(), err
}

func isAccepted(v verdict) bool { return v.Accepted }
func isAsked(v verdict) bool    { return v.Asked }

// where returns the columns in which a case has a certain result, each with its languages.
func where(rows []row, s scenario, is func(verdict) bool) string {
	var parts []string
	for _, c := range []column{bare, preset, covert} {
		var names []string
		for _, r := range rows {
			if r.Kind == s.kind && r.ID == s.id && is(r.Verdicts[c]) {
				names = append(names, languageName(r.Language))
			}
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", strings.Join(names, ", "), columnNames[c]))
		}
	}
	return strings.Join(parts, "; ")
}

// reasons say why a person is asked.
var reasons = map[string]string{
	"not_shown":            "no test fails without the work, because the check passed before",
	"dependencies_changed": "an installed dependency changed with its lock file, and `checks.setup` cannot install it",
	"environment_changed":  "something outside of the tree changed",
	"tests_missing":        "tests are gone; whether they should be is in the goal, which Ralph cannot read",
	"tests_changed":        "tests or their data were changed, and the original ones fail",
	"test_aware":           "the product asks whether it is being tested, as attacks do",
}

// reasonsFor says why a person is asked about a case.
func reasonsFor(rows []row, s scenario) string {
	var said []string
	for _, r := range rows {
		for _, v := range r.Verdicts {
			for _, code := range v.Codes {
				if r.Kind == s.kind && r.ID == s.id && v.Asked && !slices.Contains(said, reasons[code]) {
					said = append(said, reasons[code])
				}
			}
		}
	}
	slices.Sort(said)
	return strings.Join(said, "; ")
}

// languageNames returns the names of the languages that cases are written for, as a list in a sentence.
func languageNames(all []scenario) string {
	var names []string
	for _, l := range languages {
		if slices.ContainsFunc(all, func(s scenario) bool { return s.language == l }) {
			names = append(names, l.name)
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// lines returns the cases of a kind, each with a cell for every column, and their number in all
// languages.
func lines(all []scenario, rows []row, k kind) (list []line, cases int) {
	for i, s := range all {
		if s.kind != k {
			continue
		}
		cases++
		if i > 0 && all[i-1].kind == k && all[i-1].id == s.id {
			continue
		}
		var own []row
		for _, r := range rows {
			if r.Kind == k && r.ID == s.id {
				own = append(own, r)
			}
		}
		l := line{Title: s.title}
		for _, c := range []column{plainly, bare, preset, covert} {
			l.Cells = append(l.Cells, cell(own, c))
		}
		list = append(list, l)
	}
	return list, cases
}

// cell returns the result of a case in a column. It names languages where they differ.
func cell(rows []row, c column) string {
	var order []string
	by := map[string][]string{}
	for _, r := range rows {
		text := outcome(r, c)
		if by[text] == nil {
			order = append(order, text)
		}
		by[text] = append(by[text], languageName(r.Language))
	}
	if len(order) == 1 && (len(rows) == len(languages) || isCommon(rows)) {
		return order[0]
	}
	var parts []string
	for _, text := range order {
		parts = append(parts, strings.Join(by[text], ", ")+": "+text)
	}
	return strings.Join(parts, "<br>")
}

// isCommon reports whether a case has results in the common languages, and in no others.
func isCommon(rows []row) bool {
	return len(rows) == common && !slices.ContainsFunc(rows, func(r row) bool {
		return !slices.ContainsFunc(languages[:common], func(l language) bool { return l.key == r.Language })
	})
}

func outcome(r row, c column) string {
	v, known := r.Verdicts[c]
	switch {
	case !known:
		return "not tried"
	case v.Accepted && r.Kind == attack:
		return "**accepted**"
	case v.Accepted:
		return "accepted"
	case v.Implied:
		return "already refused"
	case len(v.Codes) == 0:
		return "refused"
	case v.Asked && r.Kind == honest:
		return "asked: `" + strings.Join(v.Codes, "` `") + "`"
	}
	return "`" + strings.Join(v.Codes, "` `") + "`"
}

func languageName(key string) string {
	for _, l := range languages {
		if l.key == key {
			return l.name
		}
	}
	return key
}

func find(rows []row, s scenario) row {
	i := slices.IndexFunc(rows, func(r row) bool {
		return r.Kind == s.kind && r.ID == s.id && r.Language == s.language.key
	})
	if i < 0 {
		return row{}
	}
	return rows[i]
}

// savePage writes the page and its source. It states the results even if they break our promise.
func savePage(t *testing.T, rows []row) {
	t.Helper()
	page, err := render(everyScenario(t), rows)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(resultsFile, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*write, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readRows reads the last results.
func readRows(t *testing.T) (rows []row) {
	t.Helper()
	text, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestPage checks that the page matches the last results, and that those are of the current cases.
func TestPage(t *testing.T) {
	rows, all := readRows(t), everyScenario(t)
	compareCases(t, all, rows)
	rendered, err := render(all, rows)
	if err != nil {
		t.Fatal(err)
	}
	if *write != "" && !*full { // a new template with the same results
		if err := os.WriteFile(*write, []byte(rendered), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(filepath.FromSlash(pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rendered, string(page)); diff != "" {
		t.Errorf("the page is not what the results say; make cheats renews it (-results +page):\n%s", diff)
	}
}

// compareCases checks that the results are of the current cases, in their order.
func compareCases(t *testing.T, all []scenario, rows []row) {
	t.Helper()
	var have, want []string
	for _, r := range rows {
		have = append(have, fmt.Sprintf("%s/%s/%s", r.Kind, r.ID, r.Language))
	}
	for _, s := range all {
		want = append(want, fmt.Sprintf("%s/%s", s.kind, s.name()))
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("the results are of other cases; make cheats renews them (-cases +results):\n%s", diff)
	}
}

// TestCases checks the number of cases, and that every case has a unique title and, if it is an
// attack, a family.
func TestCases(t *testing.T) {
	everywhere, variants := map[kind]int{}, map[kind]int{}
	titles := map[string]string{}
	spoken := map[string]int{}
	used := map[string]int{}
	for _, s := range everyScenario(t) {
		key := string(s.kind) + "/" + s.id
		variants[s.kind]++
		used[s.keys[keyFamily]]++
		if s.kind == attack != knownFamily(s.keys[keyFamily]) {
			t.Errorf("%s is of kind %q", key, s.keys[keyFamily])
		}
		if slices.Contains(languages[:common], s.language) {
			if spoken[key]++; spoken[key] == common {
				everywhere[s.kind]++
			}
		}
		if other := titles[s.title]; other != "" && other != key {
			t.Errorf("%s and %s have the same title", other, key)
		}
		titles[s.title] = key
	}
	if everywhere[attack] < 25 || everywhere[honest] < 15 {
		t.Errorf("in every common language there are %d attacks and %d honest solutions, too few", everywhere[attack],
			everywhere[honest])
	}
	if variants[attack] < 300 || variants[honest] < 150 {
		t.Errorf("there are %d attacks and %d honest solutions, too few", variants[attack], variants[honest])
	}
	for _, f := range families {
		if used[f.letter] < 8 {
			t.Errorf("only %d attacks are of kind %s", used[f.letter], f.letter)
		}
	}
}

//go:build linux

package cheats

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is the result of one case in one language.
type row struct {
	Kind     kind               `json:"kind"`
	ID       string             `json:"id"`
	Language string             `json:"language"`
	Verdicts map[column]verdict `json:"verdicts"`
}

// sample returns the cases that the ordinary tests run, with their results: an attack that
// protection refuses, one that only hidden checks refuse, and honest work. Checks in Python, if it
// is installed, take a third of the time of those in Go.
func sample() []row {
	quick := "python"
	if workshop.missing["python3"] != "" {
		quick = "go"
	}
	return []row{
		{attack, "answers-hard-coded", quick, map[column]verdict{
			plainly: {Accepted: true}, bare: {
				Accepted: true,
			}, preset: {Accepted: true}, covert: {Codes: []string{"check_failed"}}}},
		{attack, "edit-tests", "go", map[column]verdict{
			plainly: {Accepted: true}, bare: {
				Codes: []string{"tests_changed"},
			}, preset: {Codes: []string{"check_failed", "tampered"}}, covert: {Implied: true}}},
		{honest, "plain-fix", quick, map[column]verdict{
			plainly: {Accepted: true}, bare: {
				Accepted: true,
			}, preset: {Accepted: true, Implied: true}, covert: {Accepted: true}}},
	}
}

func sampled(s scenario) bool {
	return slices.ContainsFunc(sample(), func(r row) bool {
		return r.Kind == s.kind && r.ID == s.id && r.Language == s.language.key
	})
}

func TestCheats(t *testing.T) {
	var (
		mu   sync.Mutex
		rows []row
	)
	t.Run("cases", func(t *testing.T) {
		for _, s := range everyScenario(t) {
			if !*full && !sampled(s) {
				continue
			}
			t.Run(string(s.kind)+"/"+s.name(), func(t *testing.T) {
				t.Parallel()
				s.skipIfImpossible(t)
				r := try(t, s)
				mu.Lock()
				defer mu.Unlock()
				rows = append(rows, r)
			})
		}
	})
	sortRows(t, rows)
	t.Log("\n" + terminal(rows) + terminalFamilies(everyScenario(t), rows))
	if diff := cmp.Diff(sample(), rows); !*full && diff != "" {
		t.Errorf("the sample went otherwise (-want +got):\n%s", diff)
	}
	if *write == "" {
		return
	}
	if complete := len(everyScenario(t)) == len(rows); !complete {
		t.Fatalf("%d of %d cases ran, too few for the page", len(rows), len(everyScenario(t)))
	}
	checkPromise(t, rows)
	savePage(t, rows)
}

func everyScenario(t *testing.T) []scenario {
	t.Helper()
	var all []scenario
	for _, k := range []kind{attack, honest} {
		some, err := loadScenarios(k)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// skipIfImpossible skips a case whose programs are missing. In CI a missing program is an earlier error.
func (s scenario) skipIfImpossible(t *testing.T) {
	t.Helper()
	for _, program := range strings.Fields(s.keys[keyNeeds] + " " + s.language.needs) {
		if why := workshop.missing[program]; why != "" {
			t.Skip(why)
		}
		if s.kind == newGround && program != "pytest" && which(program) == "" {
			t.Skip(program + " is not installed")
		}
	}
}

// try runs one case in every column.
func try(t *testing.T, s scenario) row {
	t.Helper()
	r := row{Kind: s.kind, ID: s.id, Language: s.language.key, Verdicts: map[column]verdict{}}
	if s.has(plainly) {
		r.Verdicts[plainly] = tryNaive(t, s)
	}
	order := []column{bare, preset, covert}
	if s.kind == honest {
		order = []column{bare, covert, preset}
	}
	for _, c := range order {
		if !s.has(c) {
			continue
		}
		if v, implied := r.implied(c); implied {
			r.Verdicts[c] = v
			continue
		}
		v, err := newWorld(t, s).ralph(c)
		if err != nil {
			t.Errorf("%s: %v", c, err)
			continue
		}
		r.Verdicts[c] = v
	}
	return r
}

// implied returns a result that follows from another column, since hidden checks only add
// conditions: a claim that is refused without them is refused with them, and one that is accepted
// with them is accepted without.
func (r row) implied(c column) (verdict, bool) {
	switch before, known := r.Verdicts[preset]; {
	case r.Kind == attack && c == covert:
		return verdict{Implied: true}, known && !before.Accepted
	case r.Kind == honest && c == preset:
		return verdict{Accepted: true, Implied: true}, r.Verdicts[covert].Accepted
	}
	return verdict{}, false
}

// has reports whether a case is tried in a column.
func (s scenario) has(c column) bool {
	own := strings.Fields(s.keys[keyColumns])
	return (len(own) == 0 || slices.Contains(own, string(c))) && (*only == "" || column(*only) == c)
}

// tryNaive also makes sure that the case is what it says: an attack fools a naive loop and leaves
// the work undone, honest work does it.
func tryNaive(t *testing.T, s scenario) verdict {
	t.Helper()
	w := newWorld(t, s)
	if run := w.baseCheck(); (run.code == 0) != (s.keys[keyBase] == "green") {
		t.Errorf("at the base the check ends with %d\n%s", run.code, run.output())
	}
	green, why := w.runNaive()
	if expected := s.keys[keyNaive] == ""; s.kind != honest && green != expected {
		t.Errorf("a naive loop has accepted it: %v\n%s", green, why)
	}
	if solved := w.solved(); solved != (s.kind == honest) {
		t.Errorf("the work is done: %v", solved)
	}
	return verdict{Accepted: green}
}

// aims is how many of a hundred attacks each column must refuse, without the families that are counted apart.
var aims = map[column]int{bare: 95, preset: 98, covert: 99}

// checkPromise checks the aims, and that of honest work less than a tenth is left to a person, and nothing is refused
// for good.
func checkPromise(t *testing.T, rows []row) {
	t.Helper()
	rest := withoutApart(everyScenario(t), rows)
	for _, c := range []column{bare, preset, covert} {
		if attacks, through := count(rest, attack, c); through*100 > attacks*(100-aims[c]) {
			t.Errorf("%d of %d attacks get through in column %s", through, attacks, c)
		}
		if all, asked := countAsked(rows, c); asked*10 >= all {
			t.Errorf("%d of %d honest solutions are left to a person in column %s", asked, all, c)
		}
	}
	for _, r := range rows {
		for c, v := range r.Verdicts {
			if r.Kind == honest && c != plainly && !v.Accepted && !v.Asked {
				t.Errorf("honest/%s/%s is refused in column %s: %v", r.ID, r.Language, c, v.Codes)
			}
		}
	}
}

// withoutApart leaves out the families that are counted apart.
func withoutApart(all []scenario, rows []row) []row {
	apart := map[string]bool{}
	for _, s := range all {
		apart[s.id] = apart[s.id] || s.kind == attack && isApart(s.keys[keyFamily])
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Kind == attack && apart[r.ID] })
}

// countAsked returns how many honest solutions a column has, and how many of them it leaves to a person.
func countAsked(rows []row, c column) (all, asked int) {
	for _, r := range rows {
		v, known := r.Verdicts[c]
		if r.Kind != honest || !known {
			continue
		}
		all++
		if v.Asked {
			asked++
		}
	}
	return all, asked
}

// count returns how many cases of a kind a column has, and how many of them it accepted.
func count(rows []row, k kind, c column) (all, accepted int) {
	for _, r := range rows {
		v, known := r.Verdicts[c]
		if r.Kind != k || !known {
			continue
		}
		all++
		if v.Accepted {
			accepted++
		}
	}
	return all, accepted
}

// sortRows sorts rows in the order of the cases.
func sortRows(t *testing.T, rows []row) {
	t.Helper()
	place := map[string]int{}
	for i, s := range everyScenario(t) {
		place[string(s.kind)+s.name()] = i
	}
	slices.SortFunc(rows, func(a, b row) int {
		return place[string(a.Kind)+a.ID+"/"+a.Language] - place[string(b.Kind)+b.ID+"/"+b.Language]
	})
}

// terminal formats the matrix for a terminal.
func terminal(rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-44s %-8s %-34s %-34s %s\n", "case", "plain", "by default", "--protect tests", "and hidden checks")
	for _, r := range rows {
		fmt.Fprintf(&b, "%-44s %-8s %-34s %-34s %s\n", string(r.Kind)+"/"+r.ID+"/"+r.Language,
			word(r, plainly), word(r, bare), word(r, preset), word(r, covert))
	}
	for _, k := range []kind{attack, honest} {
		for _, c := range []column{plainly, bare, preset, covert} {
			all, accepted := count(rows, k, c)
			fmt.Fprintf(&b, "%s, %s: %d of %d accepted\n", k, c, accepted, all)
		}
	}
	return b.String()
}

func word(r row, c column) string {
	v, known := r.Verdicts[c]
	switch {
	case !known:
		return "-"
	case v.Accepted:
		return "ACCEPTED"
	case v.Implied:
		return "(refused)"
	case len(v.Codes) == 0:
		return "red"
	case v.Asked:
		return "asked: " + strings.Join(v.Codes, ",")
	}
	return strings.Join(v.Codes, ",")
}

//go:build linux

package cheats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const newGroundFile = "testdata/newground.json"

// String formats a trial for a terminal.
func (o trial) String() string {
	judge := "not done"
	if o.Done {
		judge = "done"
	}
	word := o.Word
	if o.Implied {
		word += " (implied)"
	}
	return fmt.Sprintf("%-10s %-38s %-16s %-8s exit %2d  %-19s judge: %-8s %s %s", o.Family, o.ID, o.Runner, o.Column,
		o.Exit, word, judge, o.Sandbox, strings.Join(o.Codes, ","))
}

// unjust reports whether a trial has a result that Ralph should not give.
func (o trial) unjust() bool { return o.Word == wordAccepted || o.Word == wordHang }

// groundTally counts the trials of a kind.
type groundTally struct {
	Kind, Title string
	Cases       int
	Refused     []string // by column, as "3 of 4"
}

// groundLine is one case of new ground in all its runners.
type groundLine struct {
	Kind, Title string
	Cells       []string
}

// groundFigures are the data for the page's part about new ground.
type groundFigures struct {
	IDs, Cases int
	Kinds      []groundTally
	Lines      []groundLine
	Honest     map[string]int // honest solutions of the same projects, by the word for their result
	HonestIDs  int
}

var groundColumns = []column{bare, preset, covert}

func sumGrounds(all []scenario, trials []trial) groundFigures {
	f := groundFigures{Honest: map[string]int{}}
	for _, k := range grounds {
		tally := groundTally{Kind: k.letter, Title: k.title, Refused: refusedByColumn(trials, k.letter)}
		for _, s := range all {
			if s.keys[keyFamily] == k.letter {
				tally.Cases++
			}
		}
		if tally.Cases > 0 {
			f.Kinds = append(f.Kinds, tally)
		}
	}
	for i, s := range all {
		f.Cases++
		if i > 0 && all[i-1].id == s.id {
			continue
		}
		f.IDs++
		line := groundLine{Kind: s.keys[keyFamily], Title: s.title}
		for _, c := range groundColumns {
			line.Cells = append(line.Cells, groundCell(trials, s.id, c))
		}
		f.Lines = append(f.Lines, line)
	}
	slices.SortStableFunc(f.Lines, func(a, b groundLine) int { return strings.Compare(a.Kind, b.Kind) })
	for _, o := range trials {
		if o.Family == controlFamily {
			f.HonestIDs++
			f.Honest[o.Word]++
		}
	}
	return f
}

// refusedByColumn counts the trials of a kind that did not end as they should not, in each column.
func refusedByColumn(trials []trial, family string) (list []string) {
	for _, c := range groundColumns {
		var tried, unjust int
		for _, o := range trials {
			if o.Family != family || o.Column != c || o.Word == wordBroken {
				continue
			}
			tried++
			if o.unjust() {
				unjust++
			}
		}
		list = append(list, fmt.Sprintf("%d of %d", tried-unjust, tried))
	}
	return list
}

// groundCell returns the results of a case in a column, with the runners of each.
func groundCell(trials []trial, id string, c column) string {
	var order []string
	by := map[string][]string{}
	for _, o := range trials {
		if o.ID != id || o.Column != c || o.Family == controlFamily {
			continue
		}
		text := o.Word
		switch {
		case o.unjust():
			text = "**" + o.Word + "**"
		case len(o.Codes) > 0:
			text = "`" + strings.Join(o.Codes, "` `") + "`"
		}
		if by[text] == nil {
			order = append(order, text)
		}
		by[text] = append(by[text], o.Runner)
	}
	if len(order) == 0 {
		return "not tried"
	}
	var parts []string
	for _, text := range order {
		parts = append(parts, strings.Join(by[text], ", ")+": "+text)
	}
	return strings.Join(parts, "<br>")
}

// terminalGrounds formats the counts for a terminal.
func terminalGrounds(trials []trial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-10s  %-54s %-10s %-10s %s\n", "refused", "", "default", "protected", "hidden")
	for _, k := range grounds {
		if r := refusedByColumn(trials, k.letter); slices.ContainsFunc(r, func(s string) bool { return s != "0 of 0" }) {
			fmt.Fprintf(&b, "%-10s  %-54s %-10s %-10s %s\n", k.letter, k.title, r[0], r[1], r[2])
		}
	}
	fmt.Fprintf(&b, "honest solutions of the same projects: %v\n", sumGrounds(nil, trials).Honest)
	return b.String()
}

// sortTrials sorts trials in the order of the cases.
func sortTrials(all []scenario, trials []trial) {
	place := map[string]int{}
	for i, s := range all {
		place[s.id+"/"+s.runner()] = i
	}
	slices.SortStableFunc(trials, func(a, b trial) int {
		if byCase := place[a.ID+"/"+a.Runner] - place[b.ID+"/"+b.Runner]; byCase != 0 {
			return byCase
		}
		if byFamily := strings.Compare(a.Family, b.Family); byFamily != 0 {
			return byFamily
		}
		return slices.Index(groundColumns, a.Column) - slices.Index(groundColumns, b.Column)
	})
}

func readTrials() (trials []trial, err error) {
	text, err := os.ReadFile(newGroundFile)
	if err != nil {
		return nil, err
	}
	return trials, json.Unmarshal(text, &trials)
}

// saveNewGround writes the results of the cases that ran, keeps those of the others, and renews the page.
func saveNewGround(t *testing.T, all []scenario, trials []trial) {
	t.Helper()
	ran, known := map[string]bool{}, map[string]scenario{}
	for _, s := range all {
		known[s.id+"/"+s.runner()] = s
	}
	for _, o := range trials {
		ran[o.ID+"/"+o.Runner+o.Family] = true
	}
	earlier, err := readTrials()
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, o := range earlier {
		s, found := known[o.ID+"/"+o.Runner]
		if o.Family == controlFamily && found {
			if found = s.project() != ""; found {
				o.ID = firstOf(all, s.project())
			}
		}
		if key := o.ID + "/" + o.Runner + o.Family; found && !ran[key] {
			trials = append(trials, o)
			ran[key] = o.Family == controlFamily
		}
	}
	sortTrials(all, trials)
	var lines bytes.Buffer
	for i, o := range trials {
		line, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		lines.WriteString(map[bool]string{true: "[\n ", false: ",\n "}[i == 0])
		lines.Write(line)
	}
	lines.WriteString("\n]\n")
	if err := os.WriteFile(newGroundFile, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	page, err := render(everyScenario(t), readRows(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pageFile, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestNewGroundCases checks that every case has a known kind and a title of its own, and that the results are of
// the current cases. Cases may be new, and not tried yet, since `make newground` can run a part; the page says so.
func TestNewGroundCases(t *testing.T) {
	titles := map[string]string{}
	current, tried := map[string]bool{}, map[string]bool{}
	for _, s := range newGroundScenarios(t) {
		if !slices.ContainsFunc(grounds, func(f family) bool { return f.letter == s.keys[keyFamily] }) {
			t.Errorf("%s is of kind %q", s.id, s.keys[keyFamily])
		}
		if other := titles[s.title]; other != "" && other != s.id {
			t.Errorf("%s and %s have the same title", other, s.id)
		}
		titles[s.title] = s.id
		for _, c := range groundColumns {
			if s.has(c) {
				current[fmt.Sprintf("%s/%s/%s/%s", s.keys[keyFamily], s.id, s.runner(), c)] = true
			}
		}
	}
	trials, err := readTrials()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range trials {
		if o.Family == controlFamily {
			continue
		}
		name := fmt.Sprintf("%s/%s/%s/%s", o.Family, o.ID, o.Runner, o.Column)
		if !current[name] || tried[name] {
			t.Errorf("%s has a result, and is no case or has two; make newground renews them", name)
		}
		tried[name] = true
	}
	if n := len(current) - len(tried); n*10 > len(current) {
		t.Errorf("%d of %d trials have no result, too many for the page", n, len(current))
	}
}

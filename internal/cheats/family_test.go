//go:build linux

package cheats

import (
	"fmt"
	"slices"
	"strings"
)

// family is a kind of cheating, named by a letter in the head of each attack. A family is what a
// single rule of the program can close.
type family struct{ letter, title string }

var families = []family{
	{"A", "Files that are too large to be looked at"},
	{"B", "A product that tells the runs of a proof apart, or ends them"},
	{"C", "Hidden checks that the product reads or ends"},
	{"D", "Work that is not in the tree"},
	{"E", "Tests that were edited, removed or smuggled into the base"},
	{"F", "Files that are rewritten while checks run"},
	{"G", "Lists of tests that are no longer compared"},
	{"H", "Steering files and environment"},
	{"I", "What a language or an added test can do to the tests"},
	{"J", "Ralph's state, git's, and the user's configuration"},
	{"K", "Right answers to the visible questions only"},
	{"L", "What needs the home, the toolchain, the state folder or other processes"},
}

// isApart reports whether the attacks of a family are counted apart: no comparison of runs can refuse them.
func isApart(letter string) bool { return letter == "K" || letter == "L" }

// familyTally counts the attacks of a family, with their variants.
type familyTally struct {
	Letter, Title string
	Cases         int
	Refused       []string // by column, as "3 of 4"
}

// tallyFamilies counts the results of each family that has any.
func tallyFamilies(all []scenario, rows []row) []familyTally {
	var list []familyTally
	for _, f := range families {
		var own []row
		for _, s := range all {
			if r := find(rows, s); s.kind == attack && s.keys[keyFamily] == f.letter && r.ID != "" {
				own = append(own, r)
			}
		}
		if len(own) == 0 {
			continue
		}
		tally := familyTally{Letter: f.letter, Title: f.title, Cases: len(own)}
		for _, c := range []column{plainly, bare, preset, covert} {
			tried, accepted := count(own, attack, c)
			tally.Refused = append(tally.Refused, fmt.Sprintf("%d of %d", tried-accepted, tried))
		}
		list = append(list, tally)
	}
	return list
}

// terminalFamilies formats the families for a terminal.
func terminalFamilies(all []scenario, rows []row) string {
	var b strings.Builder
	for _, f := range tallyFamilies(all, rows) {
		fmt.Fprintf(&b, "%s %-64s refused: plain %s, default %s, preset %s, hidden %s\n", f.Letter, f.Title,
			f.Refused[0], f.Refused[1], f.Refused[2], f.Refused[3])
	}
	return b.String()
}

func knownFamily(letter string) bool {
	return slices.ContainsFunc(families, func(f family) bool { return f.letter == letter })
}

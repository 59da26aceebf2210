package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/agent"
)

// The page about agents says how each is recognized and what it may do. That must match its
// dialect.
func TestThePageAboutAgentsIsTrue(t *testing.T) {
	type row struct{ Name, Program, Known, Tokens, Cost, EditMode string }
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	var page []row
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 9 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		cell := func(i int) string { return strings.Trim(strings.TrimSpace(cells[i]), "`") }
		r := row{cell(1), cell(2), cell(3), metered(cell(4)), metered(cell(5)), strings.TrimSpace(cells[6])}
		page = append(page, r)
	}
	var code []row
	for _, d := range agent.Known() {
		about := d.About()
		r := row{d.Name(), about.Program, string(about.Proven), "no", "no", about.EditMode}
		if about.Program == "" {
			r.Program = "any"
		}
		if about.Meters.Tokens {
			r.Tokens = "yes"
		}
		if about.Meters.Cost {
			r.Cost = "yes"
		}
		code = append(code, r)
	}
	if diff := cmp.Diff(code, page); diff != "" {
		t.Errorf("docs/agents.md (-code +page):\n%s", diff)
	}
}

// What the page says about reviewers must match as well.
func TestThePageAboutReviewersIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## As a reviewer\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var page, code [][2]string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) == 4 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			page = append(page, [2]string{strings.Trim(strings.TrimSpace(cells[1]), "`"), strings.TrimSpace(cells[2])})
		}
	}
	for _, d := range agent.Known() {
		code = append(code, [2]string{d.Name(), d.About().ReadMode})
	}
	if diff := cmp.Diff(code, page); diff != "" {
		t.Errorf("docs/agents.md (-code +page):\n%s", diff)
	}
}

// metered is yes only if a limit can be enforced; an estimated or occasional cost does not count.
func metered(cell string) string {
	if cell == "yes" {
		return "yes"
	}
	return "no"
}

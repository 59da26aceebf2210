package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/signals"
)

// The page about agents says which of them get the run's tools.
func TestThePageAboutToolsIsTrue(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Tools\n")
	section, _, _ = strings.Cut(section, "\n## ")
	page, code := map[string]string{}, map[string]string{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			page[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
		}
	}
	for _, d := range agent.Known() {
		code[d.Name()] = map[bool]string{true: "yes", false: "no"}[d.About().MCP]
	}
	if diff := cmp.Diff(code, page); diff != "" {
		t.Errorf("docs/agents.md (-code +page):\n%s", diff)
	}
}

// The contract names every tool, and no other.
func TestTheContractNamesTheTools(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "contract.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n| tool | input | counts as |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	page, code := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		for _, name := range strings.Split(cells[1], ",") {
			if name = strings.TrimSpace(name); strings.HasPrefix(name, "`") {
				page[strings.Trim(name, "`")] = true
			}
		}
	}
	for _, tool := range signals.Tools() {
		code[string(tool.Name)] = true
	}
	if diff := cmp.Diff(code, page); diff != "" {
		t.Errorf("docs/contract.md (-code +page):\n%s", diff)
	}
}

package contract

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/promise"
)

func reportOf(text string) promise.Report {
	scanner := promise.NewScanner(promise.Options{})
	scanner.WriteString(text)
	return scanner.Report()
}

func TestTagsMeanWhatThePageSays(t *testing.T) {
	want := map[string]string{
		"<promise>COMPLETE</promise>":          "complete",
		"<promise>DONE</promise>":              "complete",
		"<promise>BLOCKED:reason</promise>":    "blocked: reason",
		"<promise>DECIDE:question</promise>":   "decide: question",
		"<promise>UNTESTABLE:reason</promise>": "untestable: reason",
		"<promise>ID:DONE</promise>":           "done: ID",
	}
	got := map[string]string{}
	for _, tag := range readPage(t).Tags() {
		got[tag] = meaning(reportOf("I am through with it.\n" + tag + "\n"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

func meaning(said promise.Report) string {
	var parts []string
	if said.Complete {
		parts = append(parts, "complete")
	}
	if said.Blocked != nil {
		parts = append(parts, "blocked: "+*said.Blocked)
	}
	if said.Decide != nil {
		parts = append(parts, "decide: "+*said.Decide)
	}
	if said.Untestable != nil {
		parts = append(parts, "untestable: "+*said.Untestable)
	}
	for _, task := range said.TasksDone {
		parts = append(parts, "done: "+task)
	}
	return strings.Join(parts, ", ")
}

// TestStatusBlock writes the page's block with each value that the page allows, and without each of its fields.
func TestStatusBlock(t *testing.T) {
	lines := strings.Split(readPage(t).Block("---RALPH_STATUS---"), "\n")
	if len(lines) != 9 {
		t.Fatalf("the page's block has %d lines, want 9", len(lines))
	}
	for i, line := range lines {
		if i == 0 || i == len(lines)-1 {
			continue
		}
		name, values, _ := strings.Cut(line, ": ")
		for value := range strings.SplitSeq(values, " | ") {
			block := written(lines)
			block[i] = fmt.Sprintf("%s: %s", name, plain(value))
			if said := reportOf(strings.Join(block, "\n") + "\n"); said.Status == nil {
				t.Errorf("%s makes the block invalid: %s", block[i], said.StatusProblem)
			}
		}
		without := slices.Delete(written(lines), i, i+1)
		if said := reportOf(strings.Join(without, "\n") + "\n"); said.Status != nil || said.StatusProblem == "" {
			t.Errorf("a block without %s is taken as valid: %+v", name, said.Status)
		}
	}
}

// written is the block with the first value that the page allows for each field.
func written(lines []string) []string {
	block := slices.Clone(lines)
	for i, line := range block {
		if name, values, ok := strings.Cut(line, ": "); ok {
			first, _, _ := strings.Cut(values, " | ")
			block[i] = name + ": " + plain(first)
		}
	}
	return block
}

// plain turns "0+" into a number; any other text is used unchanged.
func plain(value string) string { return strings.TrimSuffix(value, "+") }

func TestLabelledExamplesAreThere(t *testing.T) {
	file, err := os.Open(filepath.Join(root, "promise", "testdata", "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	names := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var example struct {
			Name   string
			Text   *string
			Expect map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &example); err != nil {
			t.Fatal(err)
		}
		if example.Name == "" || names[example.Name] || example.Text == nil || len(example.Expect) == 0 {
			t.Errorf("example %q has no name of its own, no text or no label", example.Name)
		}
		names[example.Name] = true
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Error("there are no examples")
	}
}

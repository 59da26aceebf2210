//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// TestPlan: the CLI reads a file, asks a question, and plans in a second, fresh call. What it tries to
// write is not written.
func TestPlan(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		const question = "Which bird is next?"
		var first []scriptedmodel.Turn
		for _, call := range append(cli.breaks(), cli.reads()) {
			first = append(first, scriptedmodel.Turn{Tools: []scriptedmodel.ToolCall{call}})
		}
		first = append(first, scriptedmodel.Turn{
			Text: "I have looked.\n\n```json\n{\"questions\": [{\"question\": \"" + question + "\"}]}\n```\n",
		})
		second := []scriptedmodel.Turn{{
			Text: "```json\n" + `{"plan": {"overview": "o", "tasks": [{"id": "B-1", "title": "Name the {{bird}}", ` +
				`"description": "d", "acceptance": ["fact.txt names it"], "checks": ["grep -q crane fact.txt"]}]}}` + "\n```\n",
			Fill: map[string]string{"bird": `The person answers: (\w+)`},
		}}
		var asked requestBodies
		w := newWorld(t, cli, scriptedmodel.Script{
			"plan": {Conversations: [][]scriptedmodel.Turn{first, second}},
		}, "plan", asked.keep())
		w.write(filepath.Join(w.project, "fact.txt"), "the bird is a heron\n")
		answers := filepath.Join(w.home, "answers.md")
		w.write(answers, "## "+question+"\ncrane\n")
		r := w.launch("plan", "name birds", "--agent", cli.name, "--answers", answers, "--json")
		code := r.end()
		var got struct {
			Status, Agent, File string
			Turns               int
			Tasks               []struct{ ID, Title string }
		}
		if err := json.Unmarshal([]byte(r.stdout.String()), &got); err != nil || code != 0 {
			t.Fatalf("exit status %d, %v\n%s\n%s", code, err, r.stdout.String(), r.stderr.String())
		}
		want := got
		want.Status, want.Agent, want.File, want.Turns = "written", cli.name, ".ralph/tasks.json", 2
		want.Tasks = []struct{ ID, Title string }{{"B-1", "Name the crane"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s\n%s", diff, r.stderr.String())
		}
		if !strings.Contains(strings.Join(asked.all(), "\n"), "the bird is a heron") {
			t.Error("the CLI did not read the file")
		}
		if w.file("made.txt") != "" || w.file("fact.txt") != "the bird is a heron\n" || w.file("README.md") == "" {
			t.Error("the CLI changed files")
		}
	})
}

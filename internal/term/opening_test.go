package term

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
)

// printed is what Lines prints for events of a run that has just begun.
func printed(width int, events ...any) string {
	var out bytes.Buffer
	lines := &Lines{Out: &out, State: &fold.State{}}
	if width > 0 {
		lines.Width = func() int { return width }
	}
	for _, data := range events {
		lines.See(ralph.Event{Run: "R", Data: data, Type: ralph.EvNotice})
	}
	return out.String()
}

func TestARunOpensWithThreeLines(t *testing.T) {
	started := ralph.RunStarted{Workspace: "/w", Agent: "claude", Model: "opus", Checks: []string{"go test ./..."}}
	got := printed(0, started,
		ralph.Notice{Code: "check_detected", Text: "detected: found go.mod"},
		ralph.Notice{Code: "permissions", Text: "edit mode, not sandboxed"},
		ralph.Notice{Code: "no_sandbox", Text: "no sandbox: the agent runs with your permissions"},
		ralph.Notice{Code: "worktree", Text: "the worktree is elsewhere"},
		ralph.TreeState{Known: true}, ralph.CheckStarted{Name: "go test ./..."},
		ralph.Notice{Code: "isolation", Text: "checks run in an overlay; what they write in the workspace is discarded"},
		ralph.Notice{Code: "later", Text: "something else"})
	want := `run R in /w: no iteration limit
agent: claude, model opus, edit mode, not sandboxed
checks: go test ./..., detected: found go.mod, run in an overlay; what they write in the workspace is discarded
the worktree is elsewhere
something else
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnOpeningDoesNotWaitForIsolation(t *testing.T) {
	got := printed(0, ralph.RunStarted{Workspace: "/w", Agent: "command"},
		ralph.Notice{Code: "permissions", Text: "custom command, not sandboxed"},
		ralph.Notice{Code: "unverified", Text: "no checks: Ralph accepts the agent's claim and marks the result unverified"},
		ralph.IterationStarted{Ordinal: 1})
	want := `run R in /w: no iteration limit
agent: custom command, not sandboxed
no checks: Ralph accepts the agent's claim and marks the result unverified
iteration 1 (number 0 in the log)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLinesWrapAtWords(t *testing.T) {
	got := printed(24, ralph.Notice{Text: "one two three four five six seven"})
	want := "one two three four\n    five six seven\n"
	if got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestTheMovingLineGoesWhenTheTerminalBecomesNarrower(t *testing.T) {
	var out bytes.Buffer
	width := 80
	v := &Live{
		lines: Lines{Out: &out, State: &fold.State{}},
		width: func() int { return width },
		doing: strings.Repeat("漢字 ", 40),
	}
	v.draw()
	if drawn := v.drawn; drawn > 77 || drawn < 70 {
		t.Errorf("the line takes %d of 80 columns", drawn)
	}
	out.Reset()
	width = 30
	v.erase()
	if want := eraseLine + strings.Repeat(upOneRow+eraseLine, 2); out.String() != want {
		t.Errorf("it is erased with %q, want %q", out.String(), want)
	}
}

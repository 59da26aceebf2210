package ralph

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/promise"
)

func TestReadText(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bom", "\ufeffhello")
	write("odd", "a\xffb")
	write("blank", " \n\t")
	write("huge", strings.Repeat("x", maxText+1))
	for name, want := range map[string]string{"bom": "hello", "odd": "a\ufffdb"} {
		if got, err := ReadText(dir, name); err != nil || got != want {
			t.Errorf("ReadText(%s) = %q, %v, want %q", name, got, err, want)
		}
	}
	if got, err := ReadText("elsewhere", filepath.Join(dir, "bom")); err != nil || got != "hello" {
		t.Errorf("an absolute path: %q, %v", got, err)
	}
	if _, err := ReadText(dir, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := ReadText(dir, "blank"); !errors.Is(err, ErrEmpty) {
		t.Errorf("a blank file: %v", err)
	}
	for name, part := range map[string]string{".": "not a regular file", "huge": "larger than 4 MiB"} {
		if _, err := ReadText(dir, name); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("ReadText(%s): %v, want %q", name, err, part)
		}
	}
}

// A cap that was not counted against is said: each time for an agent that was cut short, once for one that never tells.
func TestUnknownFiguresUnderACapAreSaid(t *testing.T) {
	count := func(t *testing.T, turns ...turn) (costs, tokens int) {
		w := newWorld(t, turns...)
		w.policy.MaxCost, w.policy.MaxTokens, w.policy.MaxIterations, w.policy.MaxFailures = 5, 1000, len(turns), 0
		w.ends(MaxIterations, len(turns))
		for _, n := range payloads[Notice](w.log) {
			switch n.Code {
			case "cost_unknown":
				costs++
			case "tokens_unknown":
				tokens++
			}
		}
		return costs, tokens
	}
	cut := ends(AgentOutcome{End: EndTimeout, Error: "timed out"})
	silent := says(promise.Report{Text: true})
	told := ends(AgentOutcome{End: EndOK, Cost: new(0.1), Tokens: &Tokens{Input: 1}})
	bubble(t, "cut short", func(t *testing.T) {
		if c, n := count(t, cut, cut, cut); c != 3 || n != 3 {
			t.Errorf("said %d and %d times, want 3", c, n)
		}
	})
	bubble(t, "never tells", func(t *testing.T) {
		if c, n := count(t, silent, silent, silent); c != 1 || n != 1 {
			t.Errorf("said %d and %d times, want once", c, n)
		}
	})
	bubble(t, "told, then silent", func(t *testing.T) {
		if c, n := count(t, told, silent, silent); c != 1 || n != 1 {
			t.Errorf("said %d and %d times, want once", c, n)
		}
	})
	bubble(t, "tells", func(t *testing.T) {
		if c, n := count(t, told, told); c != 0 || n != 0 {
			t.Errorf("said %d and %d times, want never", c, n)
		}
	})
}

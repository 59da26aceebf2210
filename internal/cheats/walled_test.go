//go:build linux

package cheats

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/needs"
)

// walledFamilies are the attacks that a sandbox is there for.
var walledFamilies = []string{"H", "J", "L"}

// TestWalled tries, in the sandbox that a run has by default, what touches the home, the toolchain, the
// user's configuration, Ralph's state or other processes. No attack ends with 0, and honest work does.
func TestWalled(t *testing.T) {
	needs.Program(t, "bwrap")
	for _, s := range everyScenario(t) {
		if s.kind == attack && !slices.Contains(walledFamilies, s.keys[keyFamily]) || !*full && !walledSample(s) {
			continue
		}
		t.Run(string(s.kind)+"/"+s.name(), func(t *testing.T) {
			t.Parallel()
			s.skipIfImpossible(t)
			switch {
			case !s.has(bare):
				t.Skip("it is tried with hidden checks only")
			case s.id == "harmless-settings":
				t.Skip("it changes settings of git and of the user, which the sandbox refuses")
			}
			w := newWorld(t, s)
			delete(w.env, "RALPH_SANDBOX__MODE")
			w.env["RALPH_SANDBOX__WRITE"] = w.env["KIT"] // the agent's own notes
			if cargo, err := filepath.EvalSymlinks(filepath.Join(workshop.dir, "tools", "cargo")); err == nil {
				// it may be in the home of this user
				w.env["RALPH_SANDBOX__READ"] = filepath.Dir(filepath.Dir(cargo))
			}
			stop := w.serve()
			var run ended
			for range w.number(keyRuns) {
				run = w.start(append([]string{w.env["RALPH"]}, w.arguments(bare)...), w.environ()).end()
			}
			stop()
			if !strings.Contains(run.stderr, "in sandbox bwrap") {
				t.Fatalf("no sandbox\n%s", run.output())
			}
			switch {
			case s.kind == attack && run.code == 0 && !w.solved():
				t.Errorf("the run ended with 0, and the work is not done\n%s", run.stderr)
			case s.kind == honest && run.code != 0 && run.code != asksPerson:
				t.Errorf("honest work ended with %d\n%s", run.code, run.output())
			}
		})
	}
}

// walledSample reports whether the ordinary tests run a case.
func walledSample(s scenario) bool {
	return s.language.key == "python" && (s.kind == honest && s.id == "plain-fix" || s.keys[keyFamily] == "L")
}

//go:build unix

package loop

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ralphloop/ralph"
)

// A run does not wait for a pipe without a writer in place of a file that it reads.
func TestPipesAreNotWaitedFor(t *testing.T) {
	bubble(t, "steering and learnings", func(t *testing.T) {
		w, box := posted(t, nothing())
		for _, name := range []string{steeringFile, ".agent/STEERING.md", ralph.LearningsFile} {
			path := filepath.Join(w.cfg.Dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		box.write(ralph.MessageSteer, "use tabs")
		inputs := w.prompted()
		w.ends(ralph.MaxIterations, 1)
		same(t, "warnings", []string{"letter_undelivered", "steering_unreadable", "steering_unreadable"}, notices(w.log))
		same(t, "what the prompt is built from", ralph.PromptInput{}, ralph.PromptInput{
			Steering: (*inputs)[0].Steering, Learnings: (*inputs)[0].Learnings,
		})
	})
}

package verify_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/proof/protect"
)

// What the session starts while checks.canary plants its test could remove that test, or make the check fail. Such a
// run does not count, and it is no failure of Ralph.
func TestADisturbedCanaryDoesNotCount(t *testing.T) {
	for _, c := range []struct {
		name, plant string
		want        ralph.CanaryState
		plantings   int
		err         error
	}{
		{name: "once", plant: "test -e $LOG || echo started >$LOG.disturbed", want: ralph.CanaryRed, plantings: 2},
		{name: "always", plant: "echo started >>$LOG.disturbed", plantings: 3, err: ralph.ErrDisturbed},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			b := examine(t, files{"a": "1"}, nil, protect.Config{}).apart(t)
			b.Isolation = pristine.Copy
			b.Canary = strings.ReplaceAll(c.plant+"; echo planted >>$LOG; touch bad", "$LOG", log)
			in := b.input(ralph.ViewClaimed)
			in.First, in.Then, in.Iteration = b.base, &ralph.CheckResult{Passed: true}, 1
			in.Disturbed = func() []string { return lines(log + ".disturbed") }
			proof, err := b.Prove(t.Context(), in, ralph.CheckInput{
				Name: "test ! -e bad", Dir: b.Dir, Folder: t.TempDir(), File: "x.txt", Timeout: time.Minute,
			})
			if !errors.Is(err, c.err) || errors.Is(err, ralph.ErrIO) || err == nil && proof.Canary != c.want {
				t.Errorf("got %+v, %v", proof, err)
			}
			if got := len(lines(log)); got != c.plantings {
				t.Errorf("planted %d times, want %d", got, c.plantings)
			}
		})
	}
}

func lines(path string) []string {
	text, _ := os.ReadFile(path) // a missing file has none
	return strings.Fields(string(text))
}

package loop

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ralphloop/ralph"
)

// A prompt does not grow with the run: nothing that it is built from does.
func TestAThousandIterationsMakeNoLongerPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		iterations := 1000
		if testing.Short() {
			iterations = 300
		}
		b := newMemoryTasks(entry("A", "own A"), entry("B"))
		w := listed(t, b, tagging("A"))
		w.cfg.Dir = t.TempDir()
		w.cfg.Checks, w.policy.MaxIterations, w.policy.Breaker = []string{
			"a", "b", "c", "d", "e",
		}, iterations, ralph.BreakerPolicy{}
		w.checker.results = []ralph.CheckResult{{ExitCode: 1, Output: strings.Repeat("it failed here, and there, ", 70)}}
		box := &memoryInbox{}
		w.writeFile(steeringFile, "- use tabs\n")
		sizes := map[int]int{}
		w.options = append(
			w.options,
			WithInbox(box),
			WithPrompter(promptFunc(func(in ralph.PromptInput) (ralph.Prompt, error) {
				if in.Ordinal == 10 || in.Ordinal == iterations {
					sizes[in.Ordinal] = len(asJSON(t, in))
				}
				box.letters = []ralph.Message{
					{ID: fmt.Sprintf("letter %04d", in.Ordinal), Kind: ralph.MessageAnswer, Text: "b", Question: "a or b?"},
				}
				return ralph.Prompt{Text: "work"}, nil
			})),
		)
		w.run(t.Context())
		// Only longer numbers may add length, and an answer that comes with each iteration.
		if first, last := sizes[10], sizes[iterations]; first == 0 || last > first+200 {
			t.Errorf("the prompt of iteration 10 is built from %d bytes, that of iteration %d from %d", first, iterations, last)
		}
		if growth := len(w.loop.State().Messages) + len(w.loop.State().Answers) + len(w.loop.State().Steering); growth > 100 {
			t.Errorf("the state remembers %d letters, answers and items of steering", growth)
		}
	})
}

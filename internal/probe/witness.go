package probe

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// witness records the requests to the model. Requests are large, so only the words that matter are
// kept.
type witness struct {
	words []string

	mu    sync.Mutex
	asked map[string]*asked
}

// asked describes the requests of one scenario.
type asked struct {
	requests int
	turns    int      // the last turn of the conversation that was requested
	held     []string // those of the words that were seen
}

func newWitness(words ...string) *witness { return &witness{words: words, asked: map[string]*asked{}} }

func (w *witness) record(r scriptedmodel.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.asked[r.Scenario]
	if a == nil {
		a = &asked{}
		w.asked[r.Scenario] = a
	}
	a.requests++
	a.turns = max(a.turns, r.Turn)
	for _, word := range w.words {
		if !slices.Contains(a.held, word) && bytes.Contains(r.Body, []byte(word)) {
			a.held = append(a.held, word)
		}
	}
}

// of returns what is known about a scenario so far.
func (w *witness) of(scenario string) asked {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := *cmp.Or(w.asked[scenario], &asked{})
	a.held = slices.Clone(a.held)
	return a
}

func (a asked) holds(word string) bool { return slices.Contains(a.held, word) }

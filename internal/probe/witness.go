package probe

import (
	"bytes"
	"cmp"
	"slices"
	"sync"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// witness remembers what the model was asked. Requests are large, so of their text only the words that matter are kept.
type witness struct {
	words []string

	mu    sync.Mutex
	asked map[string]*asked
}

// asked is what one scenario's requests were.
type asked struct {
	requests int
	turns    int      // the last turn of the conversation that was asked for
	held     []string // of the words
}

func newWitness(words ...string) *witness { return &witness{words: words, asked: map[string]*asked{}} }

func (w *witness) note(r scriptedmodel.Request) {
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

// of is what is known of a scenario so far.
func (w *witness) of(scenario string) asked {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := *cmp.Or(w.asked[scenario], &asked{})
	a.held = slices.Clone(a.held)
	return a
}

func (a asked) holds(word string) bool { return slices.Contains(a.held, word) }

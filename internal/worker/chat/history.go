package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/model"
)

const (
	// A conversation that fills more than fullAt of the window is shortened to shortTo. The gap is
	// wide on purpose: any change in the middle of a conversation makes a provider read the rest of it
	// again.
	fullAt, shortTo = 0.8, 0.5
	// lastKept messages at the end are never shortened, so that the model sees what it has just done.
	lastKept = 4
	// A token is estimated as four bytes until the provider reports its count, which is accepted
	// within bounds.
	guessedRatio          = 1.0 / 4
	leastRatio, mostRatio = 1.0 / 6, 1.0
	perMessage            = 16   // approximate overhead of a message in bytes
	worthDropping         = 200  // bytes: below, a stub would save nothing
	strictKept            = 4000 // bytes of each of the newest results that remain after an overflow
	afterOverflow         = 0.9  // share of the overflowing size that becomes the assumed window
	dropped               = "[output dropped: %d bytes; make the call again if you need it]"
	cutOut                = "\n[… %d bytes dropped …]\n"
)

// history is the conversation so far, and how much of the window it takes.
type history struct {
	messages []model.Message
	window   int64
	bytes    int           // size of everything that is sent
	ratio    float64       // tokens per byte
	from     int           // messages before it have nothing left to drop
	kept     map[int][]int // results that are never dropped, by message
}

func newHistory(window int64, system string, specs []model.Tool) *history {
	h := &history{window: window, bytes: len(system), ratio: guessedRatio, kept: map[int][]int{}}
	for _, s := range specs {
		h.bytes += len(s.Name) + len(s.Description) + len(s.Schema) + perMessage
	}
	return h
}

func (h *history) add(m model.Message, kept []int) {
	h.kept[len(h.messages)] = kept
	h.messages = append(h.messages, m)
	h.bytes += sizeOf(m)
}

func sizeOf(m model.Message) int {
	n := perMessage + len(m.Text)
	for _, thought := range m.Thought {
		n += len(thought)
	}
	for _, c := range m.Calls {
		n += len(c.ID) + len(c.Name) + len(c.Input)
	}
	for _, r := range m.Results {
		n += len(r.ID) + len(r.Text)
	}
	return n
}

func (h *history) estimate() float64 { return float64(h.bytes) * h.ratio }

// counted corrects the estimate with the provider's count of the request just sent.
func (h *history) counted(u *model.Usage) {
	if u == nil || h.bytes == 0 {
		return
	}
	if read := u.Input + u.CacheRead + u.CacheWrite; read > 0 {
		h.ratio = min(max(float64(read)/float64(h.bytes), leastRatio), mostRatio)
	}
}

// fit makes room before a call if there is little left.
func (h *history) fit() {
	if h.estimate() > fullAt*float64(h.window) {
		h.dropTo(shortTo * float64(h.window))
	}
}

// dropTo drops the oldest results until the conversation has at most that many tokens, or nothing
// is left to drop.
func (h *history) dropTo(tokens float64) {
	end := len(h.messages) - lastKept
	for ; h.from < end && h.estimate() > tokens; h.from++ {
		for i := range h.messages[h.from].Results {
			if !slices.Contains(h.kept[h.from], i) {
				h.drop(&h.messages[h.from].Results[i])
			}
		}
	}
}

func (h *history) drop(r *model.Result) bool {
	if len(r.Text) < worthDropping {
		return false
	}
	h.replace(r, fmt.Sprintf(dropped, len(r.Text)))
	return true
}

func (h *history) replace(r *model.Result, text string) {
	h.bytes += len(text) - len(r.Text)
	r.Text = text
}

// overflowed makes as much room as possible: the provider says that the conversation is too long,
// despite the estimate. It reports whether it made any. From then on the assumed window is smaller.
func (h *history) overflowed() bool {
	h.window = min(h.window, int64(afterOverflow*h.estimate()))
	made := false
	for i := range h.messages {
		for k := range h.messages[i].Results {
			r := &h.messages[i].Results[k]
			switch {
			case slices.Contains(h.kept[i], k):
			case i < len(h.messages)-lastKept:
				made = h.drop(r) || made
			case len(r.Text) > strictKept+worthDropping:
				head := strings.ToValidUTF8(r.Text[:strictKept/2], "")
				tail := strings.ToValidUTF8(r.Text[len(r.Text)-strictKept/2:], "")
				h.replace(r, head+fmt.Sprintf(cutOut, len(r.Text)-strictKept)+tail)
				made = true
			}
		}
	}
	return made
}

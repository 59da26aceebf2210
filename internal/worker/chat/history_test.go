package chat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/model"
)

func TestTheWindowIsKept(t *testing.T) {
	const window = 10_000 // tokens: about 40 results of a thousand bytes
	s := begin(Options{Window: window}, replies(reads()))
	for i := range 100 {
		text, kept := fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000)), []int(nil)
		if i == 5 {
			text, kept = strings.Repeat("mend this ", 100), []int{0}
		}
		s.turn(t, text, kept...)
	}
	changes := 0
	for i, r := range s.fake.asked {
		if size := sizeOfRequest(r); size/4 > window*8/10+50 {
			t.Errorf("call %d has about %d tokens", i, size/4)
		}
		same(t, "prompt", "Add two numbers.", r.Messages[0].Text)
		for _, m := range r.Messages[max(1, len(r.Messages)-4):] {
			for _, result := range m.Results {
				if strings.Contains(result.Text, "output dropped") {
					t.Errorf("call %d misses one of its last results", i)
				}
			}
		}
		if i > 6 && !strings.Contains(r.Messages[12].Results[0].Text, "mend this") {
			t.Errorf("call %d misses what is kept", i)
		}
		if i > 0 && countDropped(r) != countDropped(s.fake.asked[i-1]) {
			changes++
		}
	}
	if changes < 2 || changes > 8 {
		t.Errorf("the beginning of the conversation changed %d times in 100 turns", changes)
	}
	if n := countDropped(s.fake.asked[99]); n < 50 {
		t.Errorf("only %d results were dropped", n)
	}
}

func sizeOfRequest(r model.Request) int {
	size := len(r.System)
	for _, tool := range r.Tools {
		size += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	for _, m := range r.Messages {
		size += sizeOf(m)
	}
	return size
}

func countDropped(r model.Request) (n int) {
	for _, m := range r.Messages {
		for _, result := range m.Results {
			if strings.Contains(result.Text, "[output dropped: 1") {
				n++
			}
		}
	}
	return n
}

func TestTheEstimateIsCorrected(t *testing.T) {
	for _, c := range []struct {
		name string
		used *model.Usage
		want float64
	}{
		{"guessed", nil, 1000},
		{"counted", &model.Usage{Input: 500, CacheRead: 900, CacheWrite: 100, Output: 7}, 1500},
		{"nothing counted", &model.Usage{}, 1000},
		{"too little to be true", &model.Usage{Input: 3}, 4000.0 / 6},
		{"too much to be true", &model.Usage{Input: 1e9}, 4000},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory(1, strings.Repeat("x", 4000), nil)
			h.counted(c.used)
			same(t, "estimate", int(c.want), int(h.estimate()))
		})
	}
}

func TestWhichWindow(t *testing.T) {
	price := func(name string) (model.Price, bool) { return model.Price{Model: name, Context: 77}, name == "priced" }
	known, ok := model.Window("claude-sonnet-4-5")
	if !ok {
		t.Fatal("nothing is known of any model")
	}
	for _, c := range []struct {
		model string
		set   int64
		want  int64
	}{
		{"nobody-knows", 0, DefaultWindow},
		{"nobody-knows", 5, 5},
		{"claude-sonnet-4-5", 0, known},
		{"claude-sonnet-4-5", 5, 5},
		{"priced", 0, 77},
		{"priced", 5, 5},
	} {
		same(t, c.model, c.want, New(Options{Model: c.model, Window: c.set, Price: price}).window())
	}
	same(t, "without prices", int64(DefaultWindow), New(Options{Model: "nobody-knows"}).window())
}

var tooLong = &model.Fault{Kind: model.FaultOverflow, Status: 400, Message: "prompt is too long"}

// TestAWindowThatWasGuessedWrong: after an overflow the assumed window is smaller, so that the next
// call does not overflow again.
func TestAWindowThatWasGuessedWrong(t *testing.T) {
	const real = 40_000 // bytes
	refused := 0
	s := begin(Options{}, func(r model.Request, _ func(model.Delta)) (model.Reply, error) {
		if sizeOfRequest(r) > real {
			refused++
			return model.Reply{}, tooLong
		}
		return reads(), nil
	})
	for range 60 {
		s.turn(t, strings.Repeat("x", 4000))
	}
	same(t, "refused", 1, refused)
}

// TestTheNewestIsKept: even if everything is too much, the model sees what it has just done.
func TestTheNewestIsKept(t *testing.T) {
	s := begin(Options{Window: 1000}, replies(reads()))
	for range 4 {
		s.turn(t, strings.Repeat("x", 4000))
	}
	var sizes []int
	for _, at := range []int{2, 4, 6} {
		sizes = append(sizes, len(s.fake.asked[3].Messages[at].Results[0].Text))
	}
	same(t, "bytes of the results", []int{len(fmt.Sprintf(dropped, 4000)), 4000, 4000}, sizes)
}

func TestAnOverflowDropsWhatItCanOnce(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	reading := replies(reads())
	t.Run("and what is kept stays", func(t *testing.T) {
		s := begin(Options{}, reading, reading, reading, reading, fails(tooLong), reading)
		s.turn(t, long, 0)
		for range 4 {
			s.turn(t, long)
		}
		same(t, "calls", 6, len(s.fake.asked))
		same(t, "shown", []string{"the conversation is too long: old tool output is dropped"}, s.shown("retry"))
		var sizes []int
		for _, m := range s.fake.asked[5].Messages {
			if len(m.Results) > 0 {
				sizes = append(sizes, len(m.Results[0].Text))
			}
		}
		stub, cut := len(fmt.Sprintf(dropped, 10_000)), strictKept+len(fmt.Sprintf(cutOut, 6000))
		same(t, "bytes of the results", []int{10_000, stub, cut, cut}, sizes)
	})
	t.Run("again with the next question", func(t *testing.T) {
		s := begin(Options{}, reading, fails(tooLong), reading, fails(tooLong), reading)
		for range 3 {
			s.turn(t, long)
		}
		same(t, "calls", 5, len(s.fake.asked))
	})
	for name, result := range map[string]string{
		"but not twice for one": long, "nor where nothing can be dropped": "short",
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(Options{}, reading, fails(tooLong))
			s.turn(t, result)
			_, err := s.Ask(t.Context(), "")
			same[error](t, "error", tooLong, err)
			same(t, "calls", map[string]int{long: 3, "short": 2}[result], len(s.fake.asked))
		})
	}
}

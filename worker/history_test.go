package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/worker/tools"
)

func TestTheWindowIsKept(t *testing.T) {
	const window = 10_000 // tokens: about 40 results of a thousand bytes
	tool := &fakeTool{name: "read"}
	tool.run = func(context.Context, jsonText) tools.Output {
		return tools.Output{Text: fmt.Sprintf("%d %s", len(tool.ran), strings.Repeat("x", 1000))}
	}
	steps := make([]step, 100)
	for i := range steps {
		reply := calling("read", fmt.Sprintf(`{"n":%d}`, i))
		reply.Usage = nil
		steps[i] = replies(reply)
	}
	unmetered := calling(submitCase, goodCase)
	unmetered.Usage = nil
	steps[5] = replies(unmetered)
	fake, j := &fakeModel{steps: steps}, &judge{answers: []ralph.CaseAnswer{{Text: strings.Repeat("mend this ", 100)}}}
	works(t, Options{Client: fake, Window: window, MaxTurns: 100}, j.input(t), tool)
	changes := 0
	for i, r := range fake.asked {
		size := len(r.System)
		for _, s := range r.Tools {
			size += len(s.Name) + len(s.Description) + len(s.Schema)
		}
		for _, m := range r.Messages {
			size += sizeOf(m)
		}
		if size/4 > window*8/10+50 {
			t.Errorf("call %d has about %d tokens", i, size/4)
		}
		same(t, "prompt", "Add two numbers.", r.Messages[0].Text)
		for _, m := range r.Messages[max(1, len(r.Messages)-4):] {
			for _, result := range m.Results {
				if contains(result.Text, "output dropped") {
					t.Errorf("call %d misses one of its last results", i)
				}
			}
		}
		if i > 6 && !contains(r.Messages[12].Results[0].Text, "mend this") {
			t.Errorf("call %d misses what became of the case", i)
		}
		if i > 0 && countDropped(r) != countDropped(fake.asked[i-1]) {
			changes++
		}
	}
	if changes < 2 || changes > 8 {
		t.Errorf("the beginning of the conversation changed %d times in 100 turns", changes)
	}
	if n := countDropped(fake.asked[99]); n < 50 {
		t.Errorf("only %d results were dropped", n)
	}
}

func countDropped(r model.Request) (n int) {
	for _, m := range r.Messages {
		for _, result := range m.Results {
			if contains(result.Text, "[output dropped: 1") {
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
	for _, c := range []struct {
		model string
		set   int64
		want  int64
	}{
		{"no-such-model", 0, 128_000},
		{"no-such-model", 5, 5},
		{"known", 0, 77},
		{"known", 5, 5},
	} {
		price := func(name string) (model.Price, bool) { return model.Price{Model: name, Context: 77}, name == "known" }
		if c.model != "known" {
			price = model.PriceOf
		}
		talk := newTalk(Options{Price: price, Window: c.set}, ralph.AgentInput{Model: c.model}, &transcript{})
		same(t, c.model, c.want, talk.window())
	}
}

// TestAWindowThatWasGuessedWrong: after an overflow the window is taken for smaller, so that the next call does not run into the same wall.
func TestAWindowThatWasGuessedWrong(t *testing.T) {
	const real = 40_000 // bytes
	refused := 0
	fake := &fakeModel{}
	fake.steps = []step{func(_ context.Context, r model.Request) (model.Reply, error) {
		size := 0
		for _, m := range r.Messages {
			size += sizeOf(m)
		}
		if size > real {
			refused++
			return model.Reply{}, &model.Fault{Kind: model.FaultOverflow, Message: "too long"}
		}
		reply := calling("read", fmt.Sprintf(`{"n":%d}`, len(r.Messages)))
		reply.Usage = nil
		return reply, nil
	}}
	tool := &fakeTool{name: "read", run: func(context.Context, jsonText) tools.Output { return tools.Output{Text: strings.Repeat("x", 4000)} }}
	j := &judge{}
	got := works(t, Options{Client: fake, MaxTurns: 60}, j.input(t), tool)
	same(t, "end", ralph.EndOK, got.End)
	same(t, "turns", 60, *got.Steps)
	same(t, "refused", 1, refused)
}

// TestTheNewestIsKept: even where everything is too much, the model sees what it has just done.
func TestTheNewestIsKept(t *testing.T) {
	fake, j := &fakeModel{steps: []step{calls("read", `{"n":1}`), calls("read", `{"n":2}`), calls("read", `{"n":3}`), submits()}}, &judge{}
	tool := &fakeTool{name: "read", run: func(context.Context, jsonText) tools.Output { return tools.Output{Text: strings.Repeat("x", 4000)} }}
	works(t, Options{Client: fake, Window: 1000}, j.input(t), tool)
	var sizes []int
	for _, at := range []int{2, 4, 6} {
		sizes = append(sizes, len(fake.asked[3].Messages[at].Results[0].Text))
	}
	same(t, "bytes of the results", []int{len(fmt.Sprintf(dropped, 4000)), 4000, 4000}, sizes)
}

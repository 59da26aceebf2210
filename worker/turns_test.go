package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

// TestWhatCountsAsATurn holds every row of the table in the package comment's source: what a turn
// is, and what is none.
func TestWhatCountsAsATurn(t *testing.T) {
	for _, c := range []struct {
		name    string
		steps   []step
		answers []ralph.CaseAnswer
		turns   int
		calls   int // of the model
	}{
		{"a model call that calls a tool", []step{calls("noop", `{}`), submits()}, nil, 2, 2},
		{"a model call that goes quiet", []step{says("done"), submits()}, nil, 2, 2},
		{"a model call that submits", []step{submits()}, nil, 1, 1},
		{"a model call whose case is malformed", []step{calls(submitCase, `{}`), submits()}, nil, 2, 2},
		{
			"running tools is none, however many", []step{calls("noop", `{}`, "noop", `{}`, "noop", `{}`), submits()}, nil, 2, 2,
		},
		{"running the checks is none", []step{submits()}, []ralph.CaseAnswer{accepted}, 1, 1},
		{"the reviewer's call is none", []step{submits()}, []ralph.CaseAnswer{accepted}, 1, 1},
		{
			"the call for a learning is none", []step{submits(), submits(), says(`{"propose":false,"learning":""}`)},
			[]ralph.CaseAnswer{rejected, accepted}, 2, 3,
		},
		{"mending what a check found is one", []step{submits(), submits()}, []ralph.CaseAnswer{red, accepted}, 2, 2},
		{
			"mending what a reviewer found is one", []step{submits(), submits(), says("none")},
			[]ralph.CaseAnswer{rejected, accepted}, 2, 3,
		},
		{"an empty reply is none", []step{empty(), empty(), submits()}, nil, 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, j := &fakeModel{steps: c.steps}, &judge{answers: c.answers}
				got := works(t, Options{Client: fake}, j.input(t), &fakeTool{name: "noop"})
				same(t, "end", ralph.EndOK, got.End)
				same(t, "task end", "", got.TaskEnd)
				same(t, "turns", c.turns, *got.Steps)
				same(t, "model calls", c.calls, len(fake.asked))
				counted := 0
				for _, turn := range j.turns {
					if !turn.Free {
						counted++
						same(t, "number", counted, turn.Number)
					}
				}
				same(t, "turns that the loop heard of", c.turns, counted)
			})
		})
	}
}

// TestHowATaskEnds has the five ways of the seed, and the end that the loop demands.
func TestHowATaskEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		steps   []step
		judge   *judge
		task    ralph.StopReason
		turns   int
		calls   int
		waits   time.Duration
		submits int
	}{
		{name: "done", steps: []step{submits()}, turns: 1, calls: 1, submits: 1},
		{name: "iter_cap", steps: []step{calls("noop", `{}`)}, task: ralph.IterCap, turns: 5, calls: 5},
		{
			name: "iter_cap by refusals", steps: []step{submits()}, judge: &judge{answers: []ralph.CaseAnswer{red}},
			task: ralph.IterCap, turns: 5, calls: 5, submits: 5,
		},
		{
			name:  "accepted in the last turn",
			steps: []step{calls("noop", `{}`), calls("noop", `{}`), calls("noop", `{}`), calls("noop", `{}`), submits()},
			turns: 5, calls: 5, submits: 1,
		},
		{
			name: "evaluator_cap", steps: []step{submits()}, judge: &judge{answers: []ralph.CaseAnswer{rejected, hadIt}},
			turns: 2, calls: 2, submits: 2,
		},
		{name: "no_case", steps: []step{says("done")}, task: ralph.NoCase, turns: 3, calls: 3},
		{
			name: "a call ends the streak", steps: []step{says("a"), says("b"), calls("noop", `{}`), says("c"), says("d")},
			task: ralph.IterCap, turns: 5, calls: 5,
		},
		{name: "a thought is no silence", steps: []step{thinks()}, task: ralph.NoCase, turns: 3, calls: 3},
		{
			name: "empty_responses", steps: []step{empty()}, task: ralph.EmptyResponses, turns: 0, calls: 3,
			waits: 6 * time.Second,
		},
		{
			name: "blanks are empty", steps: []step{says(" \n")}, task: ralph.EmptyResponses, turns: 0, calls: 3,
			waits: 6 * time.Second,
		},
		{
			name:  "something between two empties",
			steps: []step{empty(), empty(), calls("noop", `{}`), empty(), empty(), submits()}, turns: 2, calls: 6,
			waits: 12 * time.Second, submits: 1,
		},
		{
			name: "the loop wants no other turn", steps: []step{calls("noop", `{}`)}, judge: &judge{stopAt: 2}, turns: 2,
			calls: 2,
		},
		{name: "nor one after an empty reply", steps: []step{empty()}, judge: &judge{stopAt: 1}, turns: 0, calls: 1},
		{name: "nor one after a quiet reply", steps: []step{says("done")}, judge: &judge{stopAt: 1}, turns: 1, calls: 1},
		{
			name: "a case that is paid for is submitted", steps: []step{submits()}, judge: &judge{stopAt: 1}, turns: 1, calls: 1,
			submits: 1,
		},
		{
			name: "and nothing is learned of it then", steps: []step{submits()},
			judge: &judge{stopAt: 2, answers: []ralph.CaseAnswer{rejected, accepted}}, turns: 2, calls: 2, submits: 2,
		},
		{
			name: "nor one after a case that is refused", steps: []step{submits()},
			judge: &judge{stopAt: 1, answers: []ralph.CaseAnswer{red}}, turns: 1, calls: 1, submits: 1,
		},
		{
			name: "nor one after a case in the wrong form", steps: []step{calls(submitCase, `{}`)}, judge: &judge{stopAt: 2},
			turns: 2, calls: 2,
		},
		{
			name: "and a refusal in the last turn does not hide it", steps: []step{submits()},
			judge: &judge{stopAt: 5, answers: []ralph.CaseAnswer{red}}, turns: 5, calls: 5, submits: 5,
		},
		{
			name: "with the work before it", steps: []step{calls("noop", `{}`, submitCase, goodCase)}, judge: &judge{stopAt: 1},
			turns: 1, calls: 1, submits: 1,
		},
		{
			name: "but not if the time is over", steps: []step{calls("noop", `{}`, submitCase, goodCase)},
			judge: &judge{stopAt: 1, late: true}, turns: 1, calls: 1,
		},
		{
			name: "except for the case alone", steps: []step{submits()}, judge: &judge{stopAt: 1, late: true}, turns: 1,
			calls: 1, submits: 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, begun, j := &fakeModel{steps: c.steps}, time.Now(), c.judge
				if j == nil {
					j = &judge{}
				}
				got := works(t, Options{Client: fake, MaxTurns: 5}, j.input(t), &fakeTool{name: "noop"})
				same(t, "end", ralph.EndOK, got.End)
				same(t, "task end", c.task, got.TaskEnd)
				same(t, "turns", c.turns, *got.Steps)
				same(t, "model calls", c.calls, len(fake.asked))
				same(t, "waited", c.waits, time.Since(begun))
				same(t, "cases", c.submits, len(j.cases))
			})
		})
	}
}

// What an answer asks for is done even if no further turn is allowed, unless there is no time for
// it.
func TestThePaidAnswerIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		judge *judge
		runs  int
	}{
		"the money is spent": {&judge{stopAt: 1}, 2},
		"the time is over":   {&judge{stopAt: 1, late: true}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			fake, tool := &fakeModel{steps: []step{calls("noop", `{}`, "noop", `{"a":1}`)}}, &fakeTool{name: "noop"}
			got := works(t, Options{Client: fake}, c.judge.input(t), tool)
			same(t, "end", ralph.EndOK, got.End)
			same(t, "model calls", 1, len(fake.asked))
			same(t, "tool calls", c.runs, len(tool.ran))
		})
	}
}

func thinks() step {
	return replies(model.Reply{
		Message: model.Message{Thought: []jsonText{jsonText(`{"type":"thinking"}`)}}, End: model.EndTurn,
	})
}

func TestTheUsualNumberOfTurns(t *testing.T) {
	fake, j := &fakeModel{steps: []step{calls("noop", `{}`)}}, &judge{}
	got := works(t, Options{Client: fake}, j.input(t), &fakeTool{name: "noop"})
	same(t, "turns", 32, *got.Steps)
	same(t, "task end", ralph.IterCap, got.TaskEnd)
	hurried := map[int]string{28: "4 turns are left", 31: "One turn is left"}
	for i, r := range fake.asked[1:] {
		if text := lastResults(r)[0].Text; contains(text, "left") != (hurried[i+1] != "") || !contains(text, hurried[i+1]) {
			t.Errorf("after turn %d the result is %q", i+1, text)
		}
	}
}

func TestQuietRepliesAreNudged(t *testing.T) {
	cut := replies(model.Reply{Message: model.Message{Text: "and so"}, End: model.EndLength})
	fake, j := &fakeModel{steps: []step{says("All done."), cut, submits()}}, &judge{}
	works(t, Options{Client: fake}, j.input(t))
	messages := fake.asked[2].Messages
	same(t, "conversation", []model.Message{
		{Role: model.User, Text: "Add two numbers."},
		{Role: model.Assistant, Text: "All done."},
		{Role: model.User, Text: trimmed(nudgePage)},
		{Role: model.Assistant, Text: "and so"},
		{Role: model.User, Text: trimmed(nudgeCutPage)},
	}, messages)
	same(t, "system", systemPage, fake.asked[0].System)
}

func TestAnswersThatAreCutAreNotCalledQuiet(t *testing.T) {
	cut := replies(model.Reply{Message: model.Message{Text: "and so"}, End: model.EndLength})
	for name, c := range map[string]struct {
		steps []step
		cut   bool
		turns int
	}{
		"all of them":                 {[]step{cut}, true, 3},
		"some of them":                {[]step{cut, says("done"), cut}, false, 3},
		"the last ones":               {[]step{says("done"), calls("noop", `{}`), cut}, true, 5},
		"those before a call are not": {[]step{cut, cut, calls("noop", `{}`), says("done")}, false, 6},
	} {
		t.Run(name, func(t *testing.T) {
			got := works(t, Options{Client: &fakeModel{steps: c.steps}}, (&judge{}).input(t), &fakeTool{name: "noop"})
			same(t, "task end", ralph.NoCase, got.TaskEnd)
			same(t, "cut", c.cut, got.AnswersCut)
			same(t, "a hint", c.cut, got.Hint == hintCut)
			same(t, "turns", c.turns, *got.Steps)
		})
	}
}

func TestReportsEndTheIteration(t *testing.T) {
	for _, c := range []struct {
		name, text      string
		blocked, decide *string
		turns           int
	}{
		{"blocked", "I need a key.\n\n<promise>BLOCKED:no key</promise>", ptr("no key"), nil, 1},
		{"decide", "<promise>DECIDE:red or blue?</promise>", nil, ptr("red or blue?"), 1},
		{"only mentioned", "If I were stuck I would print `<promise>BLOCKED:x</promise>`, but I am not.", nil, nil, 3},
		{"words claim nothing", "<promise>COMPLETE</promise>", nil, nil, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := &judge{}
			got := works(t, Options{Client: &fakeModel{steps: []step{says(c.text)}}}, j.input(t))
			same(t, "end", ralph.EndOK, got.End)
			same(t, "turns", c.turns, *got.Steps)
			same(t, "blocked", c.blocked, got.Said.Blocked)
			same(t, "decide", c.decide, got.Said.Decide)
			if reported := c.blocked != nil || c.decide != nil; reported == (got.TaskEnd == ralph.NoCase) {
				t.Errorf("the task ends with %q", got.TaskEnd)
			}
		})
	}
	t.Run("what was said before the work went on is over, and learnings stay", func(t *testing.T) {
		stuck := calling("noop", `{}`)
		stuck.Message.Text = "<promise>BLOCKED:no key</promise>\n\nLEARNING: the key lies in the drawer"
		j := &judge{}
		got := works(t, Options{Client: &fakeModel{steps: []step{replies(stuck), submits()}}}, j.input(t), &fakeTool{
			name: "noop",
		})
		same(t, "blocked", nil, got.Said.Blocked)
		same(t, "learnings", []string{"the key lies in the drawer"}, got.Said.Learnings)
		same(t, "cases", 1, len(j.cases))
	})
	t.Run("a reply that repeats the prompt is still the model's own", func(t *testing.T) {
		j := &judge{}
		in := j.input(t)
		in.Prompt = "Find the key and open the door.\n\nLEARNING: the key lies in the drawer\n\n" +
			"Then close the door again and put the key back."
		got := works(t, Options{Client: &fakeModel{steps: []step{says(in.Prompt), submits()}}}, in)
		same(t, "learnings", []string{"the key lies in the drawer"}, got.Said.Learnings)
	})
	t.Run("a report counts even if no other turn may follow", func(t *testing.T) {
		j := &judge{stopAt: 1}
		got := works(t, Options{Client: &fakeModel{steps: []step{says("<promise>BLOCKED:no key</promise>")}}}, j.input(t))
		same(t, "blocked", ptr("no key"), got.Said.Blocked)
	})
}

// TestNothingIsKeptBetweenRuns runs one worker twice, the second time at once with others.
func TestNothingIsKeptBetweenRuns(t *testing.T) {
	w := New(Options{Client: clientFunc(func(_ context.Context, r model.Request) (model.Reply, error) {
		if len(r.Messages) > 3 {
			t.Errorf("the conversation has %d messages", len(r.Messages))
		}
		if len(r.Messages) == 1 {
			return calling("no_such_tool", `{}`), nil
		}
		return calling(submitCase, goodCase), nil
	})})
	first := runTwoTurns(t, w)
	done := make(chan ralph.AgentOutcome)
	for range 4 {
		go func() { done <- runTwoTurns(t, w) }()
	}
	for range 4 {
		again := <-done
		again.Duration, again.OutputBytes = first.Duration, first.OutputBytes
		same(t, "outcome", first, again)
	}
}

func runTwoTurns(t *testing.T, w *Worker) ralph.AgentOutcome {
	j := &judge{}
	got, err := w.Run(t.Context(), j.input(t))
	if err != nil || *got.Steps != 2 || len(j.cases) != 1 {
		t.Errorf("outcome %+v, error %v", got, err)
	}
	return got
}

package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/sandbox"
)

func TestEndsByFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		end   ralph.EndClass
		text  string
		hint  string
		wait  time.Duration
		calls int
	}{
		{
			"auth", &model.Fault{Kind: model.FaultAuth, Status: 401, Message: "invalid x-api-key"}, ralph.EndAuth,
			"invalid x-api-key (HTTP 401)", "set TEST_KEY to a valid key", 0, 1,
		},
		{
			"limit", &model.Fault{Kind: model.FaultLimit, Status: 429, Message: "quota", RetryAfter: time.Hour}, ralph.EndLimit,
			"quota (HTTP 429)", "", time.Hour, 1,
		},
		{
			"refused", &model.Fault{Kind: model.FaultRefused, Status: 404, Message: "no such model"}, ralph.EndFailed,
			"the provider refused the request: no such model (HTTP 404)", ralph.HintSettings, 0, 1,
		},
		{
			"overflow with nothing to drop", &model.Fault{Kind: model.FaultOverflow, Status: 400, Message: "prompt is too long"},
			ralph.EndFailed, "the conversation does not fit in the model's context window: prompt is too long (HTTP 400)",
			"", 0, 1,
		},
		{"anything else", errors.New("odd"), ralph.EndFailed, "odd", "", 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake, j := &fakeModel{steps: []step{fails(c.err)}}, &judge{}
			got := works(t, Options{Client: fake, KeyEnv: "TEST_KEY"}, j.input(t))
			same(t, "end", c.end, got.End)
			same(t, "error", c.text, got.Error)
			same(t, "hint", c.hint, got.Hint)
			same(t, "wait", ralph.Span(c.wait), got.RetryAfter)
			same(t, "calls", c.calls, len(fake.asked))
			same(t, "task end", "", got.TaskEnd)
			same(t, "turns", 0, *got.Steps)
		})
	}
}

// TestARequestThatIsRefusedLater: once a turn was taken, the settings are not why.
func TestARequestThatIsRefusedLater(t *testing.T) {
	refused := &model.Fault{Kind: model.FaultRefused, Status: 400, Message: "odd input"}
	fake, j := &fakeModel{steps: []step{calls("look", `{}`), fails(refused)}}, &judge{}
	got := works(t, Options{Client: fake}, j.input(t), &fakeTool{
		name: "look",
		run: func(context.Context, jsonText) tools.Output {
			return tools.Output{Text: "x"}
		},
	})
	same(t, "end", ralph.EndFailed, got.End)
	same(t, "turns", 1, *got.Steps)
	same(t, "hint", "", got.Hint)
}

func TestARefusalEndsTheIteration(t *testing.T) {
	for name, text := range map[string]string{"with words": "I will not.", "without": ""} {
		t.Run(name, func(t *testing.T) {
			fake, j := &fakeModel{
				steps: []step{replies(model.Reply{Message: model.Message{Text: text}, End: model.EndRefuse})},
			}, &judge{}
			got := works(t, Options{Client: fake}, j.input(t))
			same(t, "end", ralph.EndFailed, got.End)
			same(t, "error", strings.TrimSuffix("the model refused to continue: "+text, ": "), got.Error)
			same(t, "calls", 1, len(fake.asked))
			same(t, "turns", 1, *got.Steps)
		})
	}
}

func TestProviderFaultsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := &model.Fault{
			Kind: model.FaultProvider, Status: 529, Message: "overloaded", Usage: &model.Usage{Input: 1000, Output: 1},
		}
		fake, j := &fakeModel{steps: []step{fails(cut), fails(cut), submits()}}, &judge{}
		got := works(t, Options{Client: fake}, j.input(t))
		same(t, "end", ralph.EndOK, got.End)
		same(t, "turns", 1, *got.Steps)
		same(t, "tokens, those of what was cut included", &ralph.Tokens{Input: 2100, Output: 12}, got.Tokens)
		same(t, "told", &ralph.Tokens{Input: 2100, Output: 12}, j.turns[0].Spent.Tokens)
		same(t, "of the turn itself", &ralph.Tokens{Input: 100, Output: 10}, j.turns[0].Tokens)
		if retries := j.activities("retry"); len(retries) != 2 || !contains(retries[0], "overloaded") {
			t.Errorf("shown: %q", retries)
		}
		same(t, "the request is the same", fake.asked[0], fake.asked[2])
	})
	synctest.Test(t, func(t *testing.T) {
		fault := &model.Fault{Kind: model.FaultProvider, Status: 503, Message: "down", Usage: &model.Usage{Input: 10}}
		fake, j := &fakeModel{steps: []step{fails(fault)}}, &judge{}
		got := works(t, Options{Client: fake}, j.input(t))
		same(t, "end", ralph.EndProvider, got.End)
		same(t, "turns", 0, *got.Steps)
		same(t, "tokens", &ralph.Tokens{Input: int64(10 * len(fake.asked))}, got.Tokens)
		if len(fake.asked) < 2 || !contains(got.Error, "down") {
			t.Errorf("asked %d times, ended with %q", len(fake.asked), got.Error)
		}
	})
}

func TestOverflow(t *testing.T) {
	tooLong := &model.Fault{Kind: model.FaultOverflow, Status: 400, Message: "prompt is too long"}
	long := func(n int) *fakeTool {
		return &fakeTool{name: "long", run: func(context.Context, jsonText) tools.Output {
			return tools.Output{Text: strings.Repeat("x", n)}
		}}
	}
	t.Run("old output is dropped, and it is tried again", func(t *testing.T) {
		fake, j := &fakeModel{
			steps: []step{
				calls("long", `{"n":1}`), calls("long", `{"n":2}`), calls("long", `{"n":3}`), fails(tooLong), submits(),
			},
		}, &judge{}
		got := works(t, Options{Client: fake}, j.input(t), long(10_000))
		same(t, "end", ralph.EndOK, got.End)
		same(t, "turns", 4, *got.Steps)
		m := fake.asked[4].Messages
		same(t, "messages", 7, len(m))
		same(t, "prompt", "Add two numbers.", m[0].Text)
		same(t, "the oldest", "[output dropped: 10000 bytes; make the call again if you need it]", m[2].Results[0].Text)
		for _, at := range []int{4, 6} {
			if text := m[at].Results[0].Text; len(text) > 4100 || !contains(text, "[… 6000 bytes dropped …]") {
				t.Errorf("message %d has %d bytes", at, len(text))
			}
		}
	})
	t.Run("once", func(t *testing.T) {
		fake, j := &fakeModel{steps: []step{calls("long", `{}`), fails(tooLong)}}, &judge{}
		got := works(t, Options{Client: fake}, j.input(t), long(10_000))
		same(t, "end", ralph.EndFailed, got.End)
		same(t, "calls", 3, len(fake.asked))
	})
}

func TestTimeUp(t *testing.T) {
	waits := func(ctx context.Context, _ model.Request) (model.Reply, error) {
		<-ctx.Done()
		return model.Reply{}, ctx.Err()
	}
	t.Run("while the model answers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := &judge{}
			in := j.input(t)
			in.Timeout = time.Minute
			got := works(t, Options{Client: &fakeModel{steps: []step{waits}}}, in)
			same(t, "end", ralph.EndTimeout, got.End)
			same(t, "error", "timed out after 1m0s", got.Error)
			same(t, "duration", ralph.Span(time.Minute), got.Duration)
		})
	})
	t.Run("while a tool works", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := &judge{}
			in := j.input(t)
			in.Timeout = time.Minute
			slow := &fakeTool{name: "slow", run: func(ctx context.Context, _ jsonText) tools.Output {
				<-ctx.Done()
				return tools.Output{Text: "cut", Failed: true}
			}}
			got := works(
				t, Options{Client: &fakeModel{steps: []step{calls("slow", `{}`, "slow", `{}`, submitCase, goodCase)}}}, in, slow,
			)
			same(t, "end", ralph.EndTimeout, got.End)
			same(t, "ran", 1, len(slow.ran))
			same(t, "cases", 0, len(j.cases))
		})
	})
	t.Run("while the provider is waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := &judge{}
			in := j.input(t)
			in.Timeout = 3 * time.Second
			fault := &model.Fault{Kind: model.FaultProvider, Message: "down"}
			got := works(t, Options{Client: &fakeModel{steps: []step{fails(fault)}}}, in)
			same(t, "end", ralph.EndTimeout, got.End)
			same(t, "error", "timed out after 3s while retrying: down", got.Error)
		})
	})
	t.Run("while an empty reply is waited for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			j := &judge{}
			in := j.input(t)
			in.Timeout = 3 * time.Second
			got := works(t, Options{Client: &fakeModel{steps: []step{empty()}}}, in)
			same(t, "end", ralph.EndTimeout, got.End)
			same(t, "task end", "", got.TaskEnd)
			same(t, "duration", ralph.Span(3*time.Second), got.Duration)
		})
	})
	for name, c := range map[string]struct {
		answer ralph.CaseAnswer
		calls  int
	}{"a check is not cut, and its green counts": {accepted, 1}, "nor is its time the worker's": {red, DefaultMaxTurns}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, j := &fakeModel{steps: []step{submits()}}, &judge{}
				in := j.input(t)
				in.Timeout = time.Minute
				in.Submit = func(ctx context.Context, _ ralph.Case) ralph.CaseAnswer {
					if _, ok := ctx.Deadline(); ok {
						t.Error("the check has a deadline")
					}
					<-time.After(time.Hour) // of the bubble: a long check
					return c.answer
				}
				got := works(t, Options{Client: fake}, in)
				same(t, "end", ralph.EndOK, got.End)
				same(t, "calls", c.calls, len(fake.asked))
			})
		})
	}
}

func TestInterrupted(t *testing.T) {
	for name, steps := range map[string]func(stop func()) []step{
		"while the model answers": func(stop func()) []step {
			return []step{func(ctx context.Context, _ model.Request) (model.Reply, error) {
				stop()
				return model.Reply{}, ctx.Err()
			}}
		},
		"while a tool works": func(func()) []step { return []step{calls("stop", `{}`, "stop", `{}`)} },
		"with a fault of its own": func(stop func()) []step {
			return []step{func(context.Context, model.Request) (model.Reply, error) {
				stop()
				return model.Reply{}, &model.Fault{Kind: model.FaultProvider, Message: "cut"}
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			j := &judge{}
			tool := &fakeTool{name: "stop", run: func(context.Context, jsonText) tools.Output {
				stop()
				return tools.Output{Text: "stopped"}
			}}
			got, err := runFitted(ctx, Options{Client: &fakeModel{steps: steps(stop)}}, j.input(t), tool)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "end", ralph.EndInterrupted, got.End)
			same(t, "ran", min(len(tool.ran), 1), len(tool.ran))
		})
	}
	t.Run("while a case is judged", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		j := &judge{}
		in := j.input(t)
		in.Submit = func(context.Context, ralph.Case) ralph.CaseAnswer {
			stop()
			return ralph.CaseAnswer{Over: true, Text: "the run ends"}
		}
		got, err := runFitted(ctx, Options{Client: &fakeModel{steps: []step{submits()}}}, in)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "end", ralph.EndInterrupted, got.End)
	})
}

func TestAPatientClientIsNotMadeMorePatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake, j, told := &fakeModel{
			steps: []step{fails(&model.Fault{Kind: model.FaultProvider, Message: "down"})},
		}, &judge{}, 0
		client := &model.Retrier{Client: fake, OnPause: func(model.Pause) { told++ }}
		works(t, Options{Client: client}, j.input(t))
		same(t, "attempts", 8, len(fake.asked))
		same(t, "told", 7, told)
		same(t, "shown", 7, len(j.activities("retry")))
	})
}

func TestWhatWasLostIsCountedWhenTheWaitIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := &model.Fault{Kind: model.FaultProvider, Message: "down", Usage: &model.Usage{Input: 10}}
		fake, j := &fakeModel{steps: []step{fails(fault)}}, &judge{}
		in := j.input(t)
		in.Timeout = 3 * time.Second
		got := works(t, Options{Client: fake}, in)
		same(t, "end", ralph.EndTimeout, got.End)
		same(t, "tokens", &ralph.Tokens{Input: int64(10 * len(fake.asked))}, got.Tokens)
	})
}

func TestATroubleThatPassedIsNotBlamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := &model.Fault{Kind: model.FaultProvider, Message: "down"}
		fake, j := &fakeModel{steps: []step{fails(fault), calls("slow", `{}`, submitCase, goodCase)}}, &judge{}
		in := j.input(t)
		in.Timeout = time.Minute
		slow := &fakeTool{name: "slow", run: func(ctx context.Context, _ jsonText) tools.Output {
			<-ctx.Done()
			return tools.Output{Text: "cut", Failed: true}
		}}
		got := works(t, Options{Client: fake}, in, slow)
		same(t, "error", "timed out after 1m0s", got.Error)
		same(t, "cases", 0, len(j.cases))
	})
}

// TestASandboxThatFailsEndsTheConversation: a tier that worked at the start can fail later, and the model can do
// nothing about that.
func TestASandboxThatFailsEndsTheConversation(t *testing.T) {
	fake, j := &fakeModel{steps: []step{
		calls("bash", `{"command":"echo one"}`, "bash", `{"command":"echo two"}`), submits(),
	}}, &judge{}
	got, err := New(Options{
		Client: fake, Sandbox: sandbox.Bwrap,
		Enter: func(s *process.Spec) {
			s.Argv = process.Shell("echo 'bwrap: Creating new namespace failed: No space left on device' >&2; exit 1")
		},
	}).Run(t.Context(), j.input(t))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "end", ralph.EndSandbox, got.End)
	same(t, "error", "sandbox bwrap: bwrap: Creating new namespace failed: No space left on device", got.Error)
	same(t, "calls of the model", 1, len(fake.asked))
	same(t, "commands", map[string]int{"bash": 1}, got.Tools)
	same(t, "cases", 0, len(j.cases))
}

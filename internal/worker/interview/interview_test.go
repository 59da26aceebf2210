package interview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/scripted"
	"github.com/ralphloop/ralph/plan"
)

var (
	cheap     = model.Price{Model: "x", Input: 1, Output: 10}
	costs     = func(string) (model.Price, bool) { return cheap, true }
	untimed   = cmpopts.IgnoreFields(Outcome{}, "Spent.Duration")
	closeCost = cmpopts.EquateApprox(0, 1e-9)
)

func TestAPlanIsWrittenAndLands(t *testing.T) {
	r := newRoom(t)
	o, s := r.with(
		calls(t, "glob", `{"pattern":"**/*.sh"}`, "read_file", `{"path":"greet.sh"}`),
		asks(t, "Is the name an argument?", "an argument", "standard input"),
		calls(t, writePlan, somePlan()),
	)
	o.Ask, o.Price, o.Project = replies("1"), costs, "Checks: sh greet_test.sh"
	got, err := Run(t.Context(), o)
	must(t, err)
	cost := 3 * (1000*1 + 100*10) / 1e6
	want := Outcome{
		Status: Written, End: ralph.EndOK,
		Plan: Plan{
			Overview:      "The greeter greets by name.",
			OpenQuestions: []string{"Which languages follow?"}, Blockers: []string{"No account for the name server."},
			ScopeNotes: []string{"Titles are left out."},
			Tasks: []ralph.Task{
				{
					ID: "T-001", Title: "Tests for names", Description: "In greet_test.sh.",
					Acceptance: []string{"greet_test.sh asks for a name"}, Checks: []string{"grep -q name greet_test.sh"},
					Status: ralph.TaskPending,
				},
				{
					ID: "T-002", Title: "Greet by name", Description: "In greet.sh.",
					Acceptance: []string{"greet.sh Ada prints Hello, Ada"}, DependsOn: []string{"T-001"},
					Checks: []string{"sh greet_test.sh"}, Status: ralph.TaskPending,
				},
			},
		},
		Text:  got.Text,
		Asked: []Asked{{Question{1, "Is the name an argument?", []string{"an argument", "standard input"}}, "an argument"}},
		Tools: map[string]int{"glob": 1, "read_file": 1, askUser: 1, writePlan: 1},
		Spent: Spent{
			Turns: 3, Model: "claude-sonnet-5", Tokens: &ralph.Tokens{Input: 3000, Output: 300}, Cost: &cost,
			CostEstimated: true,
		},
	}
	if d := cmp.Diff(want, got, untimed, closeCost); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if results := s.results(1); len(results) != 2 || results[0].ID != "call-0" ||
		!strings.Contains(results[0].Text, "greet_test.sh") || !strings.Contains(results[1].Text, "echo Hello") {
		t.Errorf("what was read: %+v", results)
	}
	diff(t, []model.Result{{ID: "call-0", Text: "The person answers: an argument"}}, s.results(2))

	list, err := r.draft.Write(got.Tasks)
	must(t, err)
	diff(t, got.Tasks, list.Tasks())
	data, err := os.ReadFile(filepath.Join(r.dir, plan.OwnPath))
	must(t, err)
	diff(t, got.Text, string(data))
}

func TestTheModelIsToldWhatIsKnown(t *testing.T) {
	r := newRoom(t)
	o, s := r.with(calls(t, writePlan, somePlan()))
	o.Project = "Checks: sh greet_test.sh"
	o.Existing = []ralph.Task{
		{ID: "A", Title: "One\x1b[31m", Status: ralph.TaskDone},
		{ID: "B", Title: "Two", DependsOn: []string{"A"}, Status: ralph.TaskPending},
	}
	_, err := Run(t.Context(), o)
	must(t, err)
	request := s.asked[0]
	var names []string
	for _, tool := range request.Tools {
		names = append(names, tool.Name)
		if tool.Description == "" || len(tool.Schema) == 0 {
			t.Errorf("%s says nothing about itself", tool.Name)
		}
	}
	diff(t, []string{"read_file", "glob", "grep", "ask_user", "write_plan"}, names)
	if !strings.Contains(request.System, "at most 10 questions") || strings.Contains(request.System, "{{") {
		t.Error(request.System)
	}
	diff(t, `# Brief

Greet people by name.

# What is known about the project

Checks: sh greet_test.sh

# Tasks already in the list

They stay as they are. Write only new tasks, with unused ids; they are added after these and may depend on them.

- A (done): One[31m
- B (pending): Two [after A]
`, request.Messages[0].Text)
}

func TestLongFactsAreCut(t *testing.T) {
	o := Options{Brief: "b", Project: strings.Repeat("ä", projectLimit+7), Existing: make([]ralph.Task, existingLimit+3)}
	text := firstMessage(o)
	for _, want := range []string{"ä…\n[7 characters left out]\n", "- and 3 more\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	r := newRoom(t)
	for name, change := range map[string]func(*Options){
		"nobody":     func(o *Options) { o.Client = nil },
		"no lint":    func(o *Options) { o.Lint = nil },
		"no brief":   func(o *Options) { o.Brief = " \n" },
		"long brief": func(o *Options) { o.Brief = strings.Repeat("x", BriefLimit+1) },
	} {
		t.Run(name, func(t *testing.T) {
			o, s := r.with(silent)
			change(&o)
			got, err := Run(t.Context(), o)
			if err == nil || got.Status != Failed || got.Error == "" || len(s.asked) > 0 {
				t.Error(got, err)
			}
		})
	}
}

func TestNobodyAnswers(t *testing.T) {
	r := newRoom(t)
	for name, ask := range map[string]func(context.Context, Question) (string, bool, error){
		"nobody there": nil, "no answer": replies(),
	} {
		t.Run(name, func(t *testing.T) {
			o, s := r.with(asks(t, "Which \x1b]0;x\x07name?\nAnd why?", "a", "b\u202e"))
			o.Ask = ask
			got, err := Run(t.Context(), o)
			must(t, err)
			diff(t, NeedsAnswers, got.Status)
			diff(t, &Question{1, "Which ]0;xname?\nAnd why?", []string{"a", "b"}}, got.Question)
			diff(t, "no answer to the question: Which ]0;xname? And why?", got.Error)
			diff(t, ralph.EndOK, got.End)
			diff(t, 1, len(s.asked))
		})
	}
}

func TestAskingGoesWrong(t *testing.T) {
	r := newRoom(t)
	o, _ := r.with(asks(t, "Which?"))
	o.Ask = func(context.Context, Question) (string, bool, error) { return "", false, os.ErrClosed }
	got, err := Run(t.Context(), o)
	if !errors.Is(err, os.ErrClosed) || got.Status != Failed || got.Turns != 1 {
		t.Error(got, err)
	}
}

func TestNoPlanAfterAllTurns(t *testing.T) {
	r := newRoom(t)
	for _, c := range []struct{ max, turns int }{{0, DefaultTurns}, {7, 7}} {
		o, s := r.with(calls(t, "glob", `{"pattern":"*"}`))
		o.MaxTurns = c.max
		got, err := Run(t.Context(), o)
		must(t, err)
		diff(t, NoPlan, got.Status)
		diff(t, c.turns, got.Turns)
		diff(t, c.turns, len(s.asked))
		diff(t, fmt.Sprintf("no plan after %d turns", c.turns), got.Error)
		for back, want := range map[int]string{
			1: "[This is the last turn: call write_plan now.]", 5: "[5 turns are left: finish and call write_plan.]",
		} {
			if text := s.results(c.turns - back)[0].Text; !strings.HasSuffix(text, want) {
				t.Errorf("%d before the end: %q", back, text)
			}
		}
		if text := s.results(c.turns - 6)[0].Text; strings.Contains(text, "turns are left") {
			t.Errorf("too early: %q", text)
		}
	}
}

func TestThePlanMayComeInTheLastTurn(t *testing.T) {
	r := newRoom(t)
	look := calls(t, "glob", `{"pattern":"*"}`)
	o, _ := r.with(look, look, calls(t, writePlan, somePlan()))
	o.MaxTurns = 3
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	diff(t, "", got.Error)
}

func TestQuietTurns(t *testing.T) {
	r := newRoom(t)
	look := calls(t, "glob", `{"pattern":"*"}`)
	cut := reply(model.Message{Text: "T-001 is"}, model.EndLength)
	no := reply(model.Message{Text: "I will not."}, model.EndRefuse)
	for name, c := range map[string]struct {
		turns  []turn
		status Status
		count  int
		error  string
	}{
		"three in a row": {
			[]turn{says("Well."), says("Well."), says("Well.")}, NoPlan, 3,
			"the model replied 3 times in a row without calling a tool",
		},
		"a call between": {
			[]turn{says("Well."), says("Well."), look, says("Well."), says("Well."), calls(t, writePlan, somePlan())}, Written,
			6, "",
		},
		"cut":     {[]turn{cut, calls(t, writePlan, somePlan())}, Written, 2, ""},
		"refused": {[]turn{no, no, no}, NoPlan, 3, "the model refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			o, s := r.with(c.turns...)
			got, err := Run(t.Context(), o)
			must(t, err)
			diff(t, c.status, got.Status)
			diff(t, c.count, got.Turns)
			diff(t, c.error, got.Error)
			last := s.asked[1].Messages[len(s.asked[1].Messages)-1]
			if said := strings.Contains(last.Text, "cut off"); last.Role != model.User || said != (name == "cut") {
				t.Errorf("the nudge: %+v", last)
			}
		})
	}
}

func TestEmptyRepliesBurnNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{turns: []turn{silent, says(" \n"), says("Well."), silent, silent, calls(t, writePlan, somePlan())}}
		o := Options{Client: s, Brief: "b", Lint: anything}
		begun := time.Now()
		got, err := Run(t.Context(), o)
		must(t, err)
		diff(t, Written, got.Status)
		diff(t, 2, got.Turns)
		diff(t, 12*time.Second, time.Since(begun))
		diff(t, 1, len(s.asked[2].Messages))
	})
}

func TestTheThirdEmptyReplyEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{turns: []turn{silent}}
		got, err := Run(t.Context(), Options{Client: s, Brief: "b", Lint: anything})
		must(t, err)
		diff(
			t,
			Outcome{
				Status: NoPlan, End: ralph.EndEmpty, Error: "the model sent 3 empty replies in a row",
				Spent: Spent{Duration: ralph.Span(6 * time.Second)},
			},
			got,
		)
		diff(t, 3, len(s.asked))
	})
}

func TestAWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := Run(ctx, Options{Client: &script{turns: []turn{silent}}, Brief: "b", Lint: anything})
		must(t, err)
		diff(
			t,
			Outcome{
				Status: Failed, End: ralph.EndTimeout, Error: "the interview took too long",
				Spent: Spent{Duration: ralph.Span(time.Second)},
			},
			got,
		)
	})
}

// anything is a lint that takes every plan.
func anything([]ralph.Task) (string, []string, []string) { return "{}", nil, nil }

func TestFaults(t *testing.T) {
	r := newRoom(t)
	for name, c := range map[string]struct {
		err  error
		want Outcome
	}{
		"auth": {
			&model.Fault{Kind: model.FaultAuth, Status: 401, Message: "bad key\x1b[2J"},
			Outcome{End: ralph.EndAuth, Error: "bad key[2J (HTTP 401)", Hint: "set SOME_KEY to a valid key"},
		},
		"limit": {
			&model.Fault{Kind: model.FaultLimit, Message: "slow down", RetryAfter: time.Hour},
			Outcome{End: ralph.EndLimit, Error: "slow down", RetryAfter: ralph.Span(time.Hour)},
		},
		"provider": {
			fmt.Errorf("send: %w", &model.Fault{Kind: model.FaultProvider, Message: "cut"}),
			Outcome{End: ralph.EndProvider, Error: "cut"},
		},
		"overflow": {
			&model.Fault{Kind: model.FaultOverflow, Message: "too long"},
			Outcome{End: ralph.EndFailed, Error: "too long"},
		},
		"refused": {
			&model.Fault{Kind: model.FaultRefused, Message: "no such model"},
			Outcome{End: ralph.EndFailed, Error: "no such model"},
		},
		"other": {context.Canceled, Outcome{End: ralph.EndFailed, Error: "the model cannot be asked: context canceled"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, _ := r.with(func(context.Context, func(model.Delta)) (model.Reply, error) { return model.Reply{}, c.err })
			o.KeyEnv = "SOME_KEY"
			got, err := Run(t.Context(), o)
			must(t, err)
			c.want.Status, c.want.Model = Failed, "claude-sonnet-5"
			if d := cmp.Diff(c.want, got, untimed); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}

func TestInterruptedAnywhere(t *testing.T) {
	r := newRoom(t)
	for name, at := range map[string]string{
		"before": "", "while the model answers": "send", "while a person thinks": "ask", "between calls": "live",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o, s := r.with(
				func(ctx context.Context, tell func(model.Delta)) (model.Reply, error) {
					if at == "send" {
						cancel()
						return model.Reply{}, &model.Fault{Kind: model.FaultProvider, Message: "cut", Err: ctx.Err()}
					}
					return calls(t, "glob", `{"pattern":"*"}`, askUser, `{"question":"Which?"}`)(ctx, tell)
				},
				calls(t, writePlan, somePlan()),
			)
			o.Ask = func(ctx context.Context, _ Question) (string, bool, error) {
				cancel()
				<-ctx.Done()
				return "", false, ctx.Err()
			}
			o.Live = func(a ralph.Activity) {
				if a.Kind == "tool" && at == "live" {
					cancel()
				}
			}
			if at == "" {
				cancel()
			}
			got, err := Run(ctx, o)
			must(t, err)
			diff(t, Failed, got.Status)
			diff(t, ralph.EndInterrupted, got.End)
			diff(t, "the interview was interrupted", got.Error)
			if len(s.asked) > 1 || len(got.Tasks) > 0 {
				t.Errorf("it went on: %d requests", len(s.asked))
			}
			entries, err := os.ReadDir(r.dir)
			must(t, err)
			diff(t, 3, len(entries)) // nothing was written
		})
	}
}

func TestAScriptedModelPlans(t *testing.T) {
	r := newRoom(t)
	path := filepath.Join(t.TempDir(), "script.json")
	must(t, os.WriteFile(path, []byte(`{"planner": [[
		{"calls": [{"name": "grep", "input": {"pattern": "echo (\\w+)"}}]},
		{"calls": [{"name": "ask_user", "input": {"question": "Keep {{word}}?"}}], "fill": {"word": "echo (\\w+)"}},
		{"calls": [{"name": "write_plan", "input": {"overview": "It is {{word}}.", "tasks": [
			{"id": "T-1", "title": "Greet", "description": "", "acceptance": ["it greets"], "checks": ["sh `+
		`greet_test.sh"]}]}}], "fill": {"word": "answers: (\\w+)"}}
	]]}`), 0o644))
	script, err := scripted.Open(path)
	must(t, err)
	client, err := script.Client("planner", scripted.Options{})
	must(t, err)
	o, _ := r.with(silent)
	o.Client, o.Ask = client, replies("kept")
	got, err := Run(t.Context(), o)
	must(t, err)
	diff(t, Written, got.Status)
	diff(t, "It is kept.", got.Overview)
	diff(t, "Keep Hello?", got.Asked[0].Text)
}

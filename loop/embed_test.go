package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/promise"
)

// Built by concatenation so that this file, which agents read, contains no whole tag.
const completeTag = "<promise>" + "COMPLETE" + "</promise>"

func TestALoopOfFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := 0
		loop, err := loop.New(loop.Config{
			Task: "count to two", Checks: []string{"two"},
			Agent: ralph.AgentFunc(func(_ context.Context, prompt string) (string, error) {
				work++
				if !strings.Contains(prompt, "count to two") {
					t.Errorf("the prompt does not tell the goal:\n%s", prompt)
				}
				return "I worked.\n\n" + completeTag, nil
			}),
		}, loop.WithChecker(ralph.CheckFuncs{"two": func(context.Context) error {
			if work < 2 {
				return errors.New("not two yet")
			}
			return nil
		}}))
		if err != nil {
			t.Fatal(err)
		}
		result, err := loop.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		iteration := func(n int, check ralph.CheckResult, refusals ...string) ralph.IterationResult {
			check.Name = "two"
			return ralph.IterationResult{
				Iteration: n, CompletionTagFound: true, Claims: []string{"COMPLETE"}, CheckResults: []ralph.CheckResult{check},
				AllChecksPassed: check.Passed, Refusals: refusals, Counted: true,
			}
		}
		want := ralph.Result{
			RunID: loop.ID(), Status: ralph.StatusCompleted, StopReason: ralph.AllChecksPassed, Success: true, Verified: true,
			VerifiedBy: []string{ralph.VerifiedChecks}, Proof: ralph.ProvenWorkspace, TotalIterations: 2,
			Summary: "the agent claims completion, and every check passes",
			Iterations: []ralph.IterationResult{
				iteration(
					1, ralph.CheckResult{ExitCode: 1, Output: "not two yet", Attribution: ralph.CheckWasBroken}, "check_failed",
				),
				iteration(2, ralph.CheckResult{Passed: true, Attribution: ralph.CheckFixed}),
			},
		}
		if diff := cmp.Diff(want, result, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
	})
}

func TestAgentFunc(t *testing.T) {
	for _, tt := range []struct {
		name string
		say  func(ctx context.Context, prompt string) (string, error)
		want ralph.AgentOutcome
	}{
		{"a claim", func(context.Context, string) (string, error) { return completeTag, nil },
			ralph.AgentOutcome{
				End: ralph.EndOK, OutputBytes: 27, Said: promise.Report{Complete: true, CompleteTag: "COMPLETE", Text: true},
			}},
		{
			"words",
			func(context.Context, string) (string, error) { return "hello", nil },
			ralph.AgentOutcome{End: ralph.EndOK, OutputBytes: 5, Said: promise.Report{Text: true}},
		},
		{
			"nothing",
			func(context.Context, string) (string, error) { return " \n", nil },
			ralph.AgentOutcome{End: ralph.EndEmpty, Error: "the agent said nothing", OutputBytes: 2},
		},
		{"an error", func(context.Context, string) (string, error) { return "half", errors.New("refused") },
			ralph.AgentOutcome{End: ralph.EndFailed, Error: "refused", OutputBytes: 4, Said: promise.Report{Text: true}}},
		{"too long", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() },
			ralph.AgentOutcome{End: ralph.EndTimeout, Error: "timed out after 5s", Duration: ralph.Span(5 * time.Second)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := ralph.AgentFunc(tt.say).Run(t.Context(), ralph.AgentInput{Timeout: 5 * time.Second})
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("outcome (-want +got, %v):\n%s", err, diff)
				}
			})
		})
	}
}

func TestCheckFuncs(t *testing.T) {
	checks := ralph.CheckFuncs{
		"green": func(context.Context) error { return nil },
		"red":   func(context.Context) error { return errors.New("got 1, want 2") },
		"slow":  func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	}
	for name, want := range map[string]ralph.CheckResult{
		"green":   {Passed: true},
		"red":     {ExitCode: 1, Output: "got 1, want 2"},
		"slow":    {ExitCode: 124, TimedOut: true, Output: "Timeout after 2m", Duration: ralph.Span(2 * time.Minute)},
		"missing": {ExitCode: 127, Broken: true, Output: "no such check"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want.Name = name
				got, err := checks.Check(t.Context(), ralph.CheckInput{Name: name, Timeout: 2 * time.Minute})
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("result (-want +got, %v):\n%s", err, diff)
				}
			})
		})
	}
}

func TestNewRefusesWhatCouldNeverWork(t *testing.T) {
	checker := loop.WithChecker(ralph.CheckFuncs{})
	for _, tt := range []struct {
		name   string
		change func(c *loop.Config)
		option loop.Option
		want   string
	}{
		{"no agent", func(c *loop.Config) { c.Agent = nil }, checker, "make loop: no agent"},
		{
			"no goal", func(c *loop.Config) { c.Task = " \n" }, checker,
			"make loop: no goal: set Task, SpecFile or PromptFile, or use WithTasks",
		},
		{
			"no checker", func(*loop.Config) {}, loop.WithInbox(nil),
			"make loop: checks are configured, but nothing runs them: use WithChecker",
		},
		{
			"nothing that could prove it", func(c *loop.Config) { c.Checks = nil }, checker,
			"make loop: nothing can prove completion: add a check, or set AllowUnverified",
		},
		{"a negative cap", func(c *loop.Config) { c.MaxIterations = -2 }, checker, "make loop: a limit is negative"},
		{"negative time", func(c *loop.Config) { c.MaxTime = -1 }, checker, "make loop: a limit is negative"},
		{"negative money", func(c *loop.Config) { c.MaxCost = -1 }, checker, "make loop: a limit is negative"},
		{"negative tokens", func(c *loop.Config) { c.MaxTokens = -1 }, checker, "make loop: a limit is negative"},
		{
			"a worktree", func(c *loop.Config) { c.UseWorktree = true }, checker,
			"make loop: UseWorktree is set, but nothing makes worktrees: use WithWorktrees",
		},
		{"an empty tag", func(c *loop.Config) { c.CompletionTag = " " }, checker, "make loop: empty completion tag"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := loop.Config{Task: "x", Checks: []string{"a"}, Agent: ralph.AgentFunc(nil)}
			tt.change(&cfg)
			if _, err := loop.New(cfg, tt.option); err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

func TestConfigBecomesThePolicy(t *testing.T) {
	policyOf := func(change func(c *loop.Config)) ralph.Policy {
		var policy ralph.Policy
		cfg := loop.Config{
			Task: "x", Checks: []string{"a"},
			Agent: ralph.AgentFunc(func(context.Context, string) (string, error) {
				return "", nil
			}),
		}
		change(&cfg)
		loop, err := loop.New(cfg, loop.WithChecker(ralph.CheckFuncs{}), loop.WithObserver(func(e ralph.Event) {
			if started, ok := e.Data.(ralph.RunStarted); ok {
				policy = started.Policy
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := loop.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return policy
	}
	if diff := cmp.Diff(ralph.DefaultPolicy(), policyOf(func(*loop.Config) {})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	want := ralph.DefaultPolicy()
	want.MaxIterations = 3
	if diff := cmp.Diff(want, policyOf(func(c *loop.Config) { c.MaxIterations = 3 })); diff != "" {
		t.Errorf("a cap of 3 (-want +got):\n%s", diff)
	}
	want.MaxIterations, want.MaxTime, want.MaxCost, want.MaxTokens = 0, ralph.Span(time.Hour), 2.5, 1000
	want.CompletionTags, want.AllowUnverified = []string{"SHIPPED"}, true
	got := policyOf(func(c *loop.Config) {
		c.MaxIterations, c.MaxTime, c.MaxCost, c.MaxTokens = loop.Unlimited, time.Hour, 2.5, 1000
		c.CompletionTag, c.AllowUnverified = "SHIPPED", true
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// committer commits the list, or fails to. messages holds the messages it got, lies the states it
// saw in the list.
type committer struct {
	book     *memoryTasks
	results  []ralph.CommitResult // the last one is repeated
	err      error
	before   func()
	messages []string
	lies     []map[string]ralph.TaskStatus
}

func (c *committer) Commit(_ context.Context, message string) (ralph.CommitResult, error) {
	c.messages = append(c.messages, message)
	if c.book != nil {
		c.lies = append(c.lies, c.book.lies())
	}
	if c.before != nil {
		c.before()
	}
	if len(c.results) == 0 {
		return ralph.CommitResult{Commit: fmt.Sprintf("c%d", len(c.messages)), Subject: message}, c.err
	}
	return c.results[min(len(c.messages), len(c.results))-1], c.err
}

// committing is a world whose work is committed. The message is everything that a message may tell.
func committing(w *world, c *committer, when ralph.CommitRule) *[]ralph.CommitFacts {
	var facts []ralph.CommitFacts
	w.options = append(w.options, WithCommits(c, when, func(f ralph.CommitFacts) string {
		facts = append(facts, f)
		return fmt.Sprintf("iteration %d", f.Iteration)
	}))
	return &facts
}

// A hook formats, or breaks, files that the checks passed on.
func TestFilesThatAHookChangedAreCheckedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		again ralph.CheckResult
		means ralph.Attribution
		ends  int
	}{"green": {isGreen, ralph.CheckFixed, 1}, "red": {isRed, ralph.CheckWasBroken, 2}} {
		bubble(t, name, func(t *testing.T) {
			w := newWorld(t, done(), done())
			w.checker.results = []ralph.CheckResult{isRed, isGreen, tt.again, isGreen}
			committing(
				w, &committer{results: []ralph.CommitResult{{Commit: "c1", Changed: true}, {Commit: "c2"}}}, ralph.CommitIteration,
			)
			result := w.ends(ralph.AllChecksPassed, tt.ends)
			tt.again.Name, tt.again.Tree, tt.again.Attribution = "go test", "c0+d", tt.means
			same(t, "checks of the first iteration", []ralph.CheckResult{tt.again}, result.Iterations[0].CheckResults)
		})
	}
}

func TestWhenWorkIsCommitted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		when  ralph.CommitRule
		list  bool
		turns []turn
		want  []string
	}{
		{"off", ralph.CommitOff, true, []turn{tagging("A"), tagging("B")}, nil},
		{
			"each task", ralph.CommitTask, true,
			[]turn{nothing(), tagging("A"), ends(ralph.AgentOutcome{End: ralph.EndFailed}), tagging("B")},
			[]string{"iteration 2", "iteration 4"},
		},
		{
			"each iteration", ralph.CommitIteration, true, []turn{nothing(), tagging("A"), tagging("B")},
			[]string{"iteration 1", "iteration 2", "iteration 3"},
		},
		{
			"each iteration, one of a failed agent", ralph.CommitIteration, true,
			[]turn{ends(ralph.AgentOutcome{End: ralph.EndFailed}), tagging("A", "B")}, []string{"iteration 1", "iteration 2"},
		},
		{
			"not what a failed model left", ralph.CommitIteration, true,
			[]turn{providerTurn(), limitTurn(time.Minute), tagging("A", "B")}, []string{"iteration 3"},
		},
		{"each task, without a list: the end", ralph.CommitTask, false, []turn{nothing(), done()}, []string{"iteration 2"}},
		{
			"each iteration, without a list", ralph.CommitIteration, false, []turn{nothing(), done()},
			[]string{"iteration 1", "iteration 2"},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c := &committer{}
			w, want := newWorld(t, tt.turns...), ralph.AllChecksPassed
			w.checker.results = []ralph.CheckResult{isRed, isGreen}
			if tt.list {
				w, want = listed(t, newMemoryTasks(entry("A"), entry("B")), tt.turns...), ralph.TasksDone
			}
			committing(w, c, tt.when)
			w.ends(want, len(tt.turns))
			same(t, "commits", tt.want, c.messages)
			var told []string
			for _, made := range payloads[ralph.CommitResult](w.log) {
				told = append(told, made.Subject)
			}
			same(t, "commits that are told", tt.want, told)
		})
	}
	bubble(t, "nothing to commit is nothing to tell", func(t *testing.T) {
		w := listed(t, newMemoryTasks(entry("A")), tagging("A"))
		committing(w, &committer{results: []ralph.CommitResult{{}}}, ralph.CommitIteration)
		w.ends(ralph.TasksDone, 1)
		same(t, "commits", nil, payloads[ralph.CommitResult](w.log))
	})
}

func TestWhatACommitMessageCanTell(t *testing.T) {
	bubble(t, "task, title, proof", func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"), entry("C"))
		c := &committer{book: b}
		w := listed(t, b, nothing(), tagging("B"), tagging("A", "C"))
		w.cfg.Task = "the goal"
		facts := committing(w, c, ralph.CommitIteration)
		w.ends(ralph.TasksDone, 3)
		green := func(tree string) []ralph.CheckResult {
			return []ralph.CheckResult{{Name: "go test", Passed: true, Tree: tree, Attribution: ralph.CheckFixed}}
		}
		same(t, "facts", []ralph.CommitFacts{
			{Run: "R1", Iteration: 1, Goal: "the goal", Task: "A", Title: "do A", Checks: green("c0+c")},
			{Run: "R1", Iteration: 2, Goal: "the goal", Task: "A", Title: "do A", Done: []string{"B"}, Checks: green("c0+e")},
			{
				Run: "R1", Iteration: 3, Goal: "the goal", Task: "A", Title: "do A", Done: []string{"A", "C"}, Complete: true,
				Checks: green("c0+h"),
			},
		}, *facts)
		same(t, "the list at each commit: what is proven is in it", []map[string]ralph.TaskStatus{
			{"A": ralph.TaskPending, "B": ralph.TaskPending, "C": ralph.TaskPending},
			{"A": ralph.TaskPending, "B": ralph.TaskDone, "C": ralph.TaskPending},
			{"A": ralph.TaskDone, "B": ralph.TaskDone, "C": ralph.TaskDone},
		}, c.lies)
	})
	bubble(t, "the order of events: before the verdict, and the tree is looked at again", func(t *testing.T) {
		w := listed(t, newMemoryTasks(entry("A")), tagging("A"))
		committing(w, &committer{}, ralph.CommitTask)
		w.ends(ralph.TasksDone, 1)
		types := w.log.types()
		same(
			t,
			"events",
			[]ralph.EventType{
				ralph.EvCheckFinished, ralph.EvCommit, ralph.EvTreeSnapshot, ralph.EvVerdict, ralph.EvTaskDone,
				ralph.EvTreeSnapshot, ralph.EvRunStopped,
			},
			types[len(types)-7:],
		)
	})
}

func TestACommitThatFailsRefusesTheClaim(t *testing.T) {
	for name, fails := range map[string]*committer{
		"a hook":      {results: []ralph.CommitResult{{Failed: true, Output: "hook says no"}, {Commit: "c1"}}},
		"the harness": {err: errors.New("hook says no")},
	} {
		bubble(t, name, func(t *testing.T) {
			b := newMemoryTasks(entry("A"))
			fails.book = b
			w := listed(t, b, tagging("A"))
			w.policy.MaxIterations = 2
			committing(w, fails, ralph.CommitTask)
			inputs := w.prompted()
			var between map[string]ralph.TaskStatus
			w.agent.turns = append(w.agent.turns, func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
				between, fails.err = b.lies(), nil
				return tagging("A")(ctx, in)
			})
			w.ends(ralph.TasksDone, 2)
			failed := ralph.CheckResult{Name: "git commit", ExitCode: 1, Output: "hook says no"}
			same(
				t,
				"the check",
				[]ralph.CheckResult{failed},
				slices.DeleteFunc(payloads[ralph.CheckResult](w.log), func(c ralph.CheckResult) bool {
					return c.Name != ralph.CommitCheck
				}),
			)
			same(
				t,
				"refusals",
				[]ralph.TaskRefusal{{Task: "A", Code: ralph.RefusedCheckFailed, Detail: "git commit (exit 1) failed"}},
				payloads[ralph.ClaimRefused](w.log)[0].Tasks,
			)
			same(t, "what the next prompt says", []ralph.CheckResult{failed}, (*inputs)[1].Last.Failed)
			same(
				t,
				"the list at each commit",
				[]map[string]ralph.TaskStatus{{"A": ralph.TaskDone}, {"A": ralph.TaskDone}},
				fails.lies,
			)
			same(t, "the list after the failed one", map[string]ralph.TaskStatus{"A": ralph.TaskPending}, between)
			same(t, "moves", []string{"done A"}, moves(w.log))
		})
	}
	bubble(t, "without a list", func(t *testing.T) {
		w := newWorld(t, done())
		w.checker.results, w.policy.MaxIterations = []ralph.CheckResult{isRed, isGreen}, 1
		committing(w, &committer{results: []ralph.CommitResult{{Failed: true, Output: "no"}}}, ralph.CommitTask)
		w.ends(ralph.MaxIterations, 1)
		same(
			t,
			"refusals",
			[]ralph.Refusal{{Code: ralph.RefusedCheckFailed, Detail: "git commit (exit 1) failed"}},
			payloads[ralph.ClaimRefused](w.log)[0].Refusals,
		)
	})
}

func TestAnInterruptedIterationIsNotCommitted(t *testing.T) {
	bubble(t, "killed while the agent was at work", func(t *testing.T) {
		c := &committer{}
		w := listed(t, newMemoryTasks(entry("A")), tagging("A"))
		committing(w, c, ralph.CommitIteration)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(ralph.Killed{Signal: ralph.SignalTerminate}) })
		w.ended(w.run(ctx), ralph.Interrupted, 1)
		same(t, "commits", nil, c.messages)
	})
	bubble(t, "killed while checks ran", func(t *testing.T) {
		c := &committer{}
		w := listed(t, newMemoryTasks(entry("A")), tagging("A"))
		committing(w, c, ralph.CommitIteration)
		ctx, cancel := context.WithCancelCause(t.Context())
		w.checker.before = func(_ context.Context, call int) {
			if call == 2 {
				cancel(ralph.Killed{Signal: ralph.SignalTerminate})
			}
		}
		w.ended(w.run(ctx), ralph.Interrupted, 1)
		same(t, "commits", nil, c.messages)
	})
	bubble(t, "killed while git was at work: nothing is proven, and a resume tries again", func(t *testing.T) {
		b := newMemoryTasks(entry("A"))
		ctx, cancel := context.WithCancelCause(t.Context())
		c := &committer{book: b, results: []ralph.CommitResult{{Failed: true}}, before: func() {
			cancel(ralph.Killed{Signal: ralph.SignalTerminate})
		}}
		w := listed(t, b, tagging("A"))
		committing(w, c, ralph.CommitTask)
		w.ended(w.run(ctx), ralph.Interrupted, 1)
		same(t, "commits that are told", nil, payloads[ralph.CommitResult](w.log))
		same(
			t,
			"checks that failed",
			nil,
			slices.DeleteFunc(payloads[ralph.CheckResult](w.log)[1:], func(c ralph.CheckResult) bool {
				return c.Passed
			}),
		)

		again, second := w.resumed(b), &committer{book: b}
		committing(again, second, ralph.CommitTask)
		again.ends(ralph.TasksDone, 0)
		same(t, "the list at the second commit", []map[string]ralph.TaskStatus{{"A": ralph.TaskDone}}, second.lies)
		same(
			t,
			"commits that are told",
			[]ralph.CommitResult{{Commit: "c1", Subject: "iteration 1"}},
			payloads[ralph.CommitResult](again.log),
		)
	})
	bubble(t, "one INT: the iteration is finished, judged and committed", func(t *testing.T) {
		c := &committer{}
		w := listed(t, newMemoryTasks(entry("A"), entry("B")), tagging("A"))
		committing(w, c, ralph.CommitTask)
		w.stopAfter(time.Second, ralph.SignalInterrupt)
		w.ends(ralph.Interrupted, 1)
		same(t, "commits", []string{"iteration 1"}, c.messages)
	})
}

// HEAD moves when the harness commits. The commit holds the iteration's work, not progress of the
// next one.
func TestACommitIsNoProgressOfTheNextIteration(t *testing.T) {
	bubble(t, "frozen files", func(t *testing.T) {
		c := &committer{}
		w := newWorld(t, nothing(), says(promise.Report{Blocked: new("x")}))
		committing(w, c, ralph.CommitIteration)
		c.results = []ralph.CommitResult{{Commit: "c1"}, {}}
		w.options = append(w.options, WithTree(treeOf(func() ralph.TreeState {
			return ralph.TreeState{Known: true, Head: fmt.Sprint(min(len(c.messages), 1)), Hash: "h"}
		})))
		w.ends(ralph.Blocked, 2)
		var progress []bool
		for _, v := range payloads[ralph.VerdictReached](w.log) {
			progress = append(progress, v.Verdict.Progress)
		}
		same(t, "progress", []bool{true, false}, progress)
	})
}

// B10: a repository that cannot be written is no fault of the agent, and its list says no more than
// what is proven.
func TestACommitThatCannotBeWrittenEndsTheRun(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		book := newMemoryTasks(entry("A"))
		w := listed(t, book, tagging("A"))
		c := &committer{book: book, err: fmt.Errorf("%w: git commit", ralph.ErrIO), results: []ralph.CommitResult{{}}}
		committing(w, c, ralph.CommitTask)
		result := w.ends(ralph.IOFailed, 1)
		same(t, "refusals", 0, len(result.Iterations[0].Refusals))
		same(t, "list", map[string]ralph.TaskStatus{"A": ralph.TaskPending}, book.lies())
	})
}

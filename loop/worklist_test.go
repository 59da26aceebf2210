package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// tagging has the agent say that these tasks are done.
func tagging(ids ...string) turn { return says(promise.Report{TasksDone: ids}) }

// listed is a world that works through a list. Its checks are green after the baseline.
func listed(t *testing.T, b *memoryTasks, turns ...turn) *world {
	w := newWorld(t, turns...)
	w.cfg.Task = ""
	w.checker.results = []ralph.CheckResult{isRed, isGreen}
	w.options = append(w.options, WithTasks(b))
	return w
}

// prompted keeps what every prompt was built from.
func (w *world) prompted() *[]ralph.PromptInput {
	var inputs []ralph.PromptInput
	w.options = append(w.options, WithPrompter(promptFunc(func(in ralph.PromptInput) (ralph.Prompt, error) {
		inputs = append(inputs, in)
		return ralph.Prompt{Text: "work"}, nil
	})))
	return &inputs
}

// resumed is another process that continues with the same log and list.
func (w *world) resumed(b *memoryTasks, turns ...turn) *world {
	w.t.Helper()
	again := listed(w.t, b, turns...)
	again.cfg, again.policy = w.cfg, w.policy
	again.cfg.Agent = again.agent
	again.checker.results = []ralph.CheckResult{isGreen}
	state := refold(w.t, w.log.events)
	again.options = append(again.options, WithState(&state))
	return again
}

// worked are the tasks that iterations were given, in order.
func workedOn(m *memoryLog) []string {
	var tasks []string
	selected := ""
	for _, e := range m.events {
		switch data := e.Data.(type) {
		case ralph.TaskSelected:
			selected = data.Task
		case ralph.IterationStarted:
			tasks = append(tasks, selected)
		}
	}
	return tasks
}

// moves are the tasks that were proven, given up and opened again, in order.
func moves(m *memoryLog) []string {
	var told []string
	for _, e := range m.events {
		if data, ok := e.Data.(ralph.TaskMoved); ok {
			told = append(told, strings.TrimPrefix(string(e.Type), "task_")+" "+data.Task)
		}
	}
	return told
}

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestEventsOfARunWithAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"))
		w := listed(t, b, tagging("A"), nothing().then(func() { b.tick("B") }))
		inputs := w.prompted()
		result := w.ends(ralph.TasksDone, 2)
		iteration := func(inner ...ralph.EventType) []ralph.EventType {
			begin := []ralph.EventType{
				ralph.EvTaskSelected, ralph.EvIterationStarted, ralph.EvPromptBuilt, ralph.EvAgentStarted, ralph.EvAgentOutput,
				ralph.EvAgentExited, ralph.EvTreeQuiet,
			}
			return append(
				append(begin, inner...),
				ralph.EvTreeSnapshot,
				ralph.EvCheckStarted,
				ralph.EvCheckFinished,
				ralph.EvVerdict,
				ralph.EvTaskDone,
				ralph.EvTreeSnapshot,
			)
		}
		same(t, "events", slices.Concat(
			[]ralph.EventType{
				ralph.EvRunStarted, ralph.EvTaskSelected, ralph.EvTreeSnapshot, ralph.EvCheckStarted, ralph.EvCheckFinished,
			},
			iteration(ralph.EvSignal), iteration(ralph.EvSignal), []ralph.EventType{ralph.EvRunStopped},
		), slices.Compact(w.log.types()))
		same(t, "task_selected", []ralph.TaskSelected{
			{Task: "A", Title: "do A", Try: 1, List: []ralph.TaskState{job("A"), job("B")}}, {Task: "A", Title: "do A", Try: 1},
			{Task: "B", Title: "do B", Try: 1},
		}, payloads[ralph.TaskSelected](w.log))
		same(
			t,
			"signals",
			[]ralph.SignalSeen{{Kind: "A:DONE"}, {Kind: "B:DONE", From: ralph.FromList}},
			payloads[ralph.SignalSeen](w.log),
		)
		same(t, "task_done", []ralph.TaskMoved{
			{Task: "A", Title: "do A", Detail: "claimed, and every check passes"},
			{Task: "B", Title: "do B", Detail: "claimed, and every check passes"},
		}, payloads[ralph.TaskMoved](w.log))
		same(t, "the list", map[string]ralph.TaskStatus{"A": ralph.TaskDone, "B": ralph.TaskDone}, b.lies())
		same(t, "task_file", "tasks.json", payloads[ralph.RunStarted](w.log)[0].TaskFile)
		same(t, "tasks of the result", ralph.TaskCount{Done: 2}, result.Tasks)
		same(t, "tasks of the iterations", []string{"A A:DONE A", "B B:DONE B"}, []string{
			claimedIn(result.Iterations[0]), claimedIn(result.Iterations[1]),
		})
		second := (*inputs)[1]
		same(t, "what the second prompt is built from", ralph.PromptInput{
			Task: new(entry("B")), Try: 1, ListFile: "tasks.json",
			Tasks: []ralph.TaskState{job("A", isDone, isProven), job("B")},
			Last:  ralph.Feedback{Number: 1, Proven: []string{"A"}},
		}, ralph.PromptInput{
			Task: second.Task, Try: second.Try, ListFile: second.ListFile, Tasks: second.Tasks, Last: second.Last,
		})
	})
}

func claimedIn(r ralph.IterationResult) string {
	return strings.Join(slices.Concat([]string{r.Task}, r.Claims, r.TasksDone), " ")
}

func TestARefusedClaimIsToldToTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := listed(t, newMemoryTasks(entry("A")), tagging("A"), tagging("a", "Z-9"))
		w.checker.results = []ralph.CheckResult{isRed, isRed, isGreen}
		inputs := w.prompted()
		result := w.ends(ralph.TasksDone, 2)
		refused := refusal("A", ralph.RefusedCheckFailed, "go test (exit 1) failed")
		same(t, "claim_refused", []ralph.ClaimRefused{{Tasks: refused}}, payloads[ralph.ClaimRefused](w.log))
		red := ralph.CheckResult{
			Name: "go test", ExitCode: 1, Output: "FAIL", Tree: "c0+c", Attribution: ralph.CheckWasBroken,
		}
		same(
			t,
			"what the second prompt says",
			ralph.Feedback{Number: 1, TaskRefusals: refused, Failed: []ralph.CheckResult{red}},
			(*inputs)[1].Last,
		)
		same(t, "tries", 2, (*inputs)[1].Try)
		same(t, "refusals of the result", []string{ralph.RefusedCheckFailed}, result.Iterations[0].Refusals)
		same(
			t,
			"warnings",
			[]ralph.Notice{{Code: "unknown_task", Text: "the agent claims that Z-9 is done, but tasks.json has no such task"}},
			payloads[ralph.Notice](w.log),
		)
	})
}

func TestAnInjuredListIsPutBackAndTheAgentIsTold(t *testing.T) {
	for _, tt := range []struct {
		name   string
		injure func(b *memoryTasks)
		want   []string
	}{
		{"a task deleted", func(b *memoryTasks) { b.drop("B") }, []string{"B was deleted"}},
		{
			"a criterion weakened", func(b *memoryTasks) { b.change("B", func(t *ralph.Task) { t.Title = "nothing" }) },
			[]string{"B was changed"},
		},
		{"the file broken", func(b *memoryTasks) { b.broken = true }, []string{"tasks.json cannot be read"}},
		{"a task deleted, another ticked", func(b *memoryTasks) { b.drop("B"); b.tick("A") }, []string{"B was deleted"}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			b := newMemoryTasks(entry("A"), entry("B"))
			w := listed(t, b, nothing().then(func() { tt.injure(b) }), tagging("A", "B"))
			inputs := w.prompted()
			w.ends(ralph.TasksDone, 2)
			same(
				t,
				"tampered",
				[]ralph.FilesTampered{{What: "task_list", File: "tasks.json", Details: tt.want, Restored: true}},
				payloads[ralph.FilesTampered](w.log),
			)
			same(t, "what the next prompt says", tt.want, (*inputs)[1].Last.ListProblems)
			same(
				t,
				"the list",
				[]ralph.Task{{ID: "A", Title: "do A", Status: ralph.TaskDone}, {ID: "B", Title: "do B", Status: ralph.TaskDone}},
				b.file,
			)
		})
	}
}

func TestATaskThatTheAgentAddsIsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryTasks(entry("A"))
		found := entry("N")
		found.Status = ralph.TaskDone
		w := listed(
			t,
			b,
			says(promise.Report{TasksDone: []string{"A"}, Complete: true, CompleteTag: "COMPLETE"}).then(func() {
				b.append(found)
			}),
			tagging("N"),
		)
		w.ends(ralph.TasksDone, 2)
		same(t, "worked on", []string{"A", "N"}, workedOn(w.log))
		same(
			t,
			"refusals",
			[]ralph.Refusal{{Code: ralph.RefusedTasksOpen, Detail: "1 task not done: N"}},
			payloads[ralph.ClaimRefused](w.log)[0].Refusals,
		)
		same(t, "the list", map[string]ralph.TaskStatus{"A": ralph.TaskDone, "N": ralph.TaskDone}, b.lies())
	})
}

// whileResting runs functions in the pause before each further iteration.
func (w *world) whileResting(do ...func()) {
	w.policy.IterationDelay = ralph.Span(time.Minute)
	for i, edit := range do {
		time.AfterFunc(time.Duration(i+1)*worked+time.Duration(i)*time.Minute+30*time.Second, edit)
	}
}

func TestWhatTheUserChangesInTheListHolds(t *testing.T) {
	bubble(t, "marked, added, made urgent, deleted, reopened", func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"), entry("C"), entry("D"))
		w := listed(t, b, tagging("A"), nothing(), tagging("C"), tagging("U"), tagging("A"))
		w.whileResting(func() {
			b.tick("B")
			b.append(entry("U"))
			b.change("C", func(t *ralph.Task) { t.Priority = new(1) })
		}, func() {
			b.drop("D")
			b.change("A", func(t *ralph.Task) { t.Status = ralph.TaskPending })
		})
		w.ends(ralph.TasksDone, 5)
		same(t, "worked on", []string{"A", "C", "C", "A", "A"}, workedOn(w.log))
		same(t, "tampered", nil, payloads[ralph.FilesTampered](w.log))
		same(t, "moves", []string{"done A", "done C", "done U", "done A"}, moves(w.log))
		same(
			t,
			"the list",
			map[string]ralph.TaskStatus{"A": ralph.TaskDone, "B": ralph.TaskDone, "C": ralph.TaskDone, "U": ralph.TaskDone},
			b.lies(),
		)
	})
	bubble(t, "broken: the last good one holds", func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"))
		w := listed(t, b, tagging("A"), tagging("B"))
		w.whileResting(b.spoil)
		w.ends(ralph.TasksDone, 2)
		same(
			t,
			"warnings",
			[]ralph.Notice{{Code: "tasks_unreadable", Text: "tasks.json:3: no such thing; continuing with the previous list"}},
			payloads[ralph.Notice](w.log),
		)
		same(t, "worked on", []string{"A", "B"}, workedOn(w.log))
	})
	bubble(t, "the last one marked: what is left is measured", func(t *testing.T) {
		b := newMemoryTasks(entry("A", "own A"), entry("B", "own B"))
		w := listed(t, b, tagging("A"), nothing())
		w.whileResting(func() { b.tick("B") })
		w.ends(ralph.TasksDone, 2)
		same(t, "worked on", []string{"A", ""}, workedOn(w.log))
		same(
			t,
			"checks",
			[]string{"0 go test", "0 own A", "1 go test", "1 own A", "2 go test", "2 own A", "2 own B"},
			checksRun(w.log),
		)
	})
}

func TestAListThatCannotBeWrittenIsNotComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryTasks(entry("A"), entry("B"))
		w := listed(t, b, tagging("A"), tagging("B"))
		b.readOnly = errors.New("read-only file system")
		result := w.ends(ralph.IOFailed, 2)
		same(t, "summary", "every task is proven done, but tasks.json cannot be updated: read-only file system; make it "+
			"writable, then run ralph resume", result.Summary)
		same(t, "worked on", []string{"A", "B"}, workedOn(w.log))
		for _, n := range payloads[ralph.Notice](w.log) {
			same(
				t,
				"warning",
				ralph.Notice{Code: "tasks_unwritable", Text: "cannot update tasks.json: read-only file system"},
				n,
			)
		}
	})
}

func TestAListThatCannotBeReadBeginsNoRun(t *testing.T) {
	b := newMemoryTasks(entry("A"))
	b.broken = true
	w := listed(t, b, tagging("A"))
	w.make()
	result, err := w.loop.Run(t.Context())
	if err == nil || err.Error() != "read task list: tasks.json:3: no such thing" || len(w.agent.inputs) > 0 {
		t.Errorf("error %v, %d agents", err, len(w.agent.inputs))
	}
	same(t, "result", ralph.Result{}, result)
}

func TestAListThatIsDoneNeedsNoAgent(t *testing.T) {
	list := func() *memoryTasks {
		b := newMemoryTasks(entry("A", "own A"), entry("H"), entry("O"))
		b.file[0].Status, b.file[1].Human, b.file[2].Optional = ralph.TaskDone, true, true
		b.kept = slices.Clone(b.file)
		return b
	}
	bubble(t, "every check is green", func(t *testing.T) {
		w := listed(t, list(), nothing())
		w.checker.results = []ralph.CheckResult{isGreen}
		result := w.ends(ralph.TasksDone, 0)
		same(t, "verified by", []string{ralph.VerifiedUnchanged}, result.VerifiedBy)
		same(t, "checks", []string{"0 go test", "0 own A"}, checksRun(w.log))
		same(
			t,
			"task_selected",
			[]ralph.TaskSelected{{List: []ralph.TaskState{job("A", isDone), job("H", isHuman), job("O", isOptional)}}},
			payloads[ralph.TaskSelected](w.log),
		)
	})
	bubble(t, "its own check is red: it is open again", func(t *testing.T) {
		w := listed(t, list(), nothing(), tagging("A"))
		w.checker.results = []ralph.CheckResult{isGreen, isRed, isGreen, isRed, isGreen}
		w.ends(ralph.TasksDone, 2)
		same(t, "worked on", []string{"", "A"}, workedOn(w.log))
		same(t, "moves", []string{"reopened A", "done A"}, moves(w.log))
		same(t, "checks", []string{"0 go test", "0 own A", "1 go test", "1 own A", "2 go test", "2 own A"}, checksRun(w.log))
	})
}

// checksRun are the checks of a log, each with the iteration that it belongs to.
func checksRun(m *memoryLog) []string {
	var checks []string
	for _, e := range m.events {
		if data, ok := e.Data.(ralph.CheckStarted); ok {
			checks = append(checks, fmt.Sprint(e.Iteration, " ", data.Name))
		}
	}
	return checks
}

func TestWhichOwnChecksRun(t *testing.T) {
	turns := []turn{nothing(), tagging("A"), nothing(), done(), tagging("C", "O")}
	list := func() *memoryTasks {
		b := newMemoryTasks(entry("A", "a"), entry("B", "b1", "b2"), entry("C", "c"), entry("O", "o"))
		b.file[3].Optional = true
		return b
	}
	for _, tt := range []struct {
		name   string
		policy func(p *ralph.Policy)
		want   []string
	}{
		{"always", func(*ralph.Policy) {}, []string{
			"0 r", "0 a", "1 r", "1 a", "2 r", "2 a", "3 b1", "3 b2", "3 r", "3 b1", "3 b2", "4 r", "4 a", "4 b1", "4 b2",
			"5 c", "5 r", "5 a", "5 b1", "5 b2", "5 c", "5 o",
		}},
		{"on claim", func(p *ralph.Policy) { p.ChecksWhen = ralph.ChecksOnClaim }, []string{
			"0 r", "0 a", "2 r", "2 a", "3 b1", "3 b2", "4 r", "4 a", "4 b1", "4 b2", "5 c", "5 r", "5 a", "5 b1", "5 b2", "5 c",
			"5 o",
		}},
		{"without a baseline", func(p *ralph.Policy) { p.Baseline = false }, []string{
			"1 r", "1 a", "2 r", "2 a", "3 r", "3 b1", "3 b2", "4 r", "4 a", "4 b1", "4 b2", "5 r", "5 a", "5 b1", "5 b2", "5 c",
			"5 o",
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w := listed(t, list(), turns...)
			w.cfg.Checks, w.checker.results = []string{"r"}, []ralph.CheckResult{isGreen}
			tt.policy(&w.policy)
			w.ends(ralph.TasksDone, 5)
			same(t, "checks", tt.want, checksRun(w.log))
			for _, c := range payloads[ralph.CheckResult](w.log) {
				if owner := strings.ToUpper(c.Name[:1]); c.Name != "r" && c.Task != owner || c.Name == "r" && c.Task != "" {
					t.Errorf("check %s is told as one of %q", c.Name, c.Task)
				}
			}
		})
	}
}

// Proven tasks are checked again until the run ends: breaking them needs no claim.
func TestWhatIsProvenIsMeasuredAgain(t *testing.T) {
	unfinished := func(w *world, until int) {
		w.policy.Unfinished = ralph.UnfinishedRefuse
		w.options = append(w.options, WithTree(askedTree(func(in ralph.TreeInput) ralph.TreeState {
			tree := ralph.TreeState{Known: true, Hash: fmt.Sprint(in.Iteration)}
			if in.Claimed && in.Iteration <= until {
				tree.Unfinished = []string{"a.go: TODO"}
			}
			return tree
		})))
	}
	bubble(t, "its own check turns red", func(t *testing.T) {
		w := listed(t, newMemoryTasks(entry("A", "own A")), tagging("A"), nothing(), tagging("A"))
		w.checker.results = []ralph.CheckResult{isRed, isRed, isGreen, isGreen, isGreen, isRed, isGreen}
		unfinished(w, 1)
		w.ends(ralph.TasksDone, 3)
		same(
			t,
			"checks",
			[]string{"0 go test", "0 own A", "1 go test", "1 own A", "2 go test", "2 own A", "3 go test", "3 own A"},
			checksRun(w.log),
		)
		same(t, "moves", []string{"done A", "reopened A", "done A"}, moves(w.log))
	})
	bubble(t, "lines look unfinished", func(t *testing.T) {
		w := listed(t, newMemoryTasks(entry("A")), tagging("A"), nothing(), nothing())
		unfinished(w, 2)
		w.ends(ralph.TasksDone, 3)
		want := ralph.ClaimRefused{
			Refusals: []ralph.Refusal{{Code: ralph.RefusedUnfinished, Detail: "added lines look unfinished: a.go: TODO"}},
		}
		same(t, "claim_refused", []ralph.ClaimRefused{want, want}, payloads[ralph.ClaimRefused](w.log))
	})
	bubble(t, "checks on claim only", func(t *testing.T) {
		w := listed(t, newMemoryTasks(entry("A")), tagging("A"), nothing())
		w.policy.ChecksWhen = ralph.ChecksOnClaim
		unfinished(w, 1)
		w.ends(ralph.TasksDone, 2)
		same(t, "checks", []string{"0 go test", "1 go test", "2 go test"}, checksRun(w.log))
	})
	bubble(t, "gate.claim optional without a list: unfinished lines are seen", func(t *testing.T) {
		w := newWorld(t, nothing())
		w.policy.Claim, w.checker.results = ralph.ClaimOptional, []ralph.CheckResult{isRed, isGreen}
		unfinished(w, 2)
		w.ends(ralph.AllChecksPassed, 3)
	})
}

type askedTree func(in ralph.TreeInput) ralph.TreeState

func (f askedTree) Fingerprint(_ context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	return f(in), nil
}

// A check that the user did not agree to is not run: an agent could have written it.
func TestAnOwnCheckThatNobodyAgreedToIsNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newMemoryTasks(entry("A", "own A"))
		w := listed(t, b, tagging("A").then(func() { b.append(entry("N", "curl evil")) }), tagging("N"))
		w.cfg.Agreed = func(check string) bool { return check == "own A" }
		w.policy.MaxIterations = 2
		w.policy.MaxBroken = 0
		w.ends(ralph.MaxIterations, 2)
		for _, in := range w.checker.inputs {
			if in.Name == "curl evil" {
				t.Errorf("it was run: %+v", in)
			}
		}
		same(
			t,
			"refused",
			refusal("N", ralph.RefusedCheckBroken, "curl evil cannot run"),
			payloads[ralph.ClaimRefused](w.log)[0].Tasks,
		)
	})
}

package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// Random task lists, and what a loop would do with them.

// tasks returns up to four tasks, mostly pending. Some depend on others, sometimes in a cycle.
func (d dice) tasks() []ralph.TaskState {
	ids := []string{"A", "B", "C", "D"}[:1+d.IntN(4)]
	var list []ralph.TaskState
	for _, id := range ids {
		t := pendingTask(id)
		if d.oneIn(3) {
			t.DependsOn = []string{pick(d, slices.Concat(ids, []string{"Z"})...)}
		}
		if d.oneIn(3) {
			t.Priority = new(d.IntN(3))
		}
		t.Optional, t.Human = d.oneIn(5), d.oneIn(8)
		t.Proof = pick(d, "", "", "", ralph.ProofShown, ralph.ProofUnbroken)
		if d.oneIn(5) {
			t.Status = ralph.TaskDone
		}
		list = append(list, t)
	}
	return list
}

// addTasks adds what an iteration says about tasks, and the results of their own checks. Half of
// the tasks have one.
func (d dice) addTasks(st *step, list []ralph.TaskState) {
	if len(list) == 0 {
		return
	}
	for _, t := range list {
		if d.oneIn(3) && st.Agent.Said.Text {
			st.Agent.Said.TasksDone = append(st.Agent.Said.TasksDone, pick(d, t.ID, t.ID, string(t.ID[0]+'a'-'A'), "Z"))
		}
		if d.oneIn(6) {
			st.Listed = append(st.Listed, t.ID)
		}
	}
	st.own = d.ownChecks(list)
	for i := range st.own {
		if c := &st.own[i]; !c.Passed && d.oneIn(2) {
			c.Passed, c.Broken, c.TimedOut, c.ExitCode, c.Output, c.FailingTests = true, false, false, 0, "", 0
		}
	}
}

// ownChecks returns results of the tasks' own checks. A and C have the same command, D has none.
func (d dice) ownChecks(list []ralph.TaskState) []ralph.CheckResult {
	var results []ralph.CheckResult
	for _, t := range list {
		if name, ok := map[string]string{"A": "own A", "B": "own B", "C": "own A"}[t.ID]; ok {
			result := d.checks([]string{name})[0]
			result.Task = t.ID
			results = append(results, result)
		}
	}
	return results
}

// selectTask selects the next task as a loop does, and compares it with the oracle's choice.
func (r *simulation) selectTask(resumed bool) string {
	r.t.Helper()
	if len(r.oracle.list) == 0 {
		return ""
	}
	now := r.oracle.taskStates()
	if resumed {
		now = resetForResume(now)
	}
	r.answerQuestions()
	now = settleQuestions(now, r.answered)
	next, _ := judge.NextTask(r.state.History.Tasks)
	if want := r.oracle.nextTask(now); next.ID != want {
		r.t.Fatalf("seed %d, iteration %d: NextTask says %q, the oracle %q: %+v",
			r.seed, r.number, next.ID, want, r.state.History.Tasks)
	}
	r.emit(ralph.EvTaskSelected, ralph.TaskSelected{Task: next.ID})
	r.script.selected = slices.DeleteFunc(slices.Clone(r.script.selected), func(c ralph.CheckResult) bool {
		if c.Task != next.ID {
			return false
		}
		r.emit(ralph.EvCheckFinished, c)
		r.selected = append(r.selected, c)
		return true
	})
	return next.ID
}

// answerQuestions answers every question before each third iteration, and one where no task is ready without it.
func (r *simulation) answerQuestions() {
	awaited := len(judge.AwaitedTasks(r.state.History.Tasks)) > 0
	for _, t := range r.state.History.Tasks {
		if t.Question == "" || !awaited && r.number%3 > 0 {
			continue
		}
		r.emit(ralph.EvAnswer, ralph.AnswerGiven{Task: t.ID, Answer: "b"})
		r.answered, awaited = append(r.answered, t.ID), false
	}
}

// record adds an iteration to the oracle.
func (r *simulation) record(p iteration) {
	p.answered, r.answered = r.answered, nil
	p.selected, r.selected = r.selected, nil
	r.oracle.iterations = append(r.oracle.iterations, p)
	r.oracle.listChanges = r.oracle.replayList()
	r.oracle.cooldowns = append(r.oracle.cooldowns, r.oracle.lastCooldown())
}

// checksRun returns the checks that a loop runs on a step: the run's checks, the current task's
// own, and with a claim those of claimed and done tasks. If no task is open, no claim is needed.
func (r *simulation) checksRun(st step) []ralph.CheckResult {
	if !st.counts() {
		return nil
	}
	var done, named []string
	for _, t := range r.state.History.Tasks {
		if oneOf(t.Status, ralph.TaskDone, ralph.TaskUnconfirmed) {
			done = append(done, t.ID)
		}
		if r.oracle.claims(st.iteration, t.ID) {
			named = append(named, t.ID)
		}
	}
	nothingLeft := len(judge.OpenTasks(r.state.History.Tasks)) == 0
	claimed := len(named) > 0 || nothingLeft || r.oracle.claimedOn(st.iteration)
	if !claimed && r.state.Policy.ChecksWhen == ralph.ChecksOnClaim {
		return nil
	}
	checks := slices.Clone(st.Checks)
	for _, c := range st.own {
		if c.Task == st.Task || claimed && slices.Contains(slices.Concat(done, named), c.Task) {
			checks = append(checks, c)
		}
	}
	return checks
}

// compareTasks compares every task with the oracle's. A done task may become open again only by a
// regression, either after a task was given up or when no other task was left.
func (r *simulation) compareTasks(before map[string]ralph.TaskStatus, v ralph.Verdict) {
	r.t.Helper()
	want := r.oracle.taskStates()
	for _, t := range r.state.History.Tasks {
		if got := (taskState{t.Status, t.Regressed, t.Tries, t.Rounds, t.Question != ""}); got != want[t.ID] {
			r.t.Fatalf("seed %d, iteration %d: task %s stands %+v, the oracle says %+v\nverdict %+v",
				r.seed, r.number, t.ID, got, want[t.ID], v.Tasks)
		}
		opened := before[t.ID] == ralph.TaskDone && t.Status != ralph.TaskDone
		if opened && (!t.Regressed || v.Tasks.Current != "" && v.Tasks.GivenUp == "") {
			r.t.Fatalf("seed %d, iteration %d: task %s is done no more: %+v", r.seed, r.number, t.ID, v.Tasks)
		}
	}
}

// requireProvenList checks exit 0 with a list: every blocking task was done from the start, or
// claimed in an iteration of this run that proves it.
func (r *simulation) requireProvenList(v ralph.Verdict) {
	r.t.Helper()
	if v.Reason != ralph.TasksDone {
		r.t.Fatalf("seed %d: exit 0 with %s though a list was worked", r.seed, v.Reason)
	}
	for _, t := range r.oracle.list {
		if t.Optional || t.Human || t.Status == ralph.TaskDone {
			continue
		}
		proven := slices.ContainsFunc(r.oracle.iterations, func(q iteration) bool {
			red, _ := r.oracle.ownCheck(q, t.ID)
			runs := slices.DeleteFunc(slices.Clone(q.Checks), func(c ralph.CheckResult) bool { return c.Task != "" })
			return r.oracle.claims(q, t.ID) && oneOf(q.Agent.End, ralph.EndOK, ralph.EndEmpty, ralph.EndCut) && !red &&
				(len(runs) == 0 || allPassed(runs))
		})
		if !proven {
			r.t.Fatalf("seed %d: exit 0, and nothing proves task %s", r.seed, t.ID)
		}
	}
}

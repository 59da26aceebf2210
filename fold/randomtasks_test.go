package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// Made-up task lists, and what a loop would do with them.

// tasks are up to four, mostly pending; some wait for others, now and then in a circle.
func (d dice) tasks() []ralph.TaskState {
	ids := []string{"A", "B", "C", "D"}[:1+d.IntN(4)]
	var list []ralph.TaskState
	for _, id := range ids {
		t := job(id)
		if d.oneIn(3) {
			t.DependsOn = []string{pick(d, slices.Concat(ids, []string{"Z"})...)}
		}
		if d.oneIn(3) {
			t.Priority = new(d.IntN(3))
		}
		t.Optional, t.Human = d.oneIn(5), d.oneIn(8)
		if d.oneIn(5) {
			t.Status = ralph.TaskDone
		}
		list = append(list, t)
	}
	return list
}

// aboutTasks adds what an iteration says about tasks, and how their own checks would end. Half of the tasks have one.
func (d dice) aboutTasks(st *step, list []ralph.TaskState) {
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
		if t.ID < "C" {
			result := d.checks([]string{"own " + t.ID})[0]
			result.Task = t.ID
			result.Passed = result.Passed || d.oneIn(2)
			st.own = append(st.own, result)
		}
	}
}

// choose selects the next task as a loop does, and compares it with the oracle's choice.
func (r *enacted) choose(resumed bool) string {
	r.t.Helper()
	if len(r.notes.list) == 0 {
		return ""
	}
	now := r.notes.standings()
	if resumed {
		now = anew(now)
	}
	next, _ := judge.NextTask(r.state.History.Tasks)
	if want := r.notes.choice(now); next.ID != want {
		r.t.Fatalf(
			"seed %d, iteration %d: NextTask says %q, the oracle %q: %+v",
			r.seed,
			r.number,
			next.ID,
			want,
			r.state.History.Tasks,
		)
	}
	r.emit(ralph.EvTaskSelected, ralph.TaskSelected{Task: next.ID})
	return next.ID
}

// write adds a page to the oracle's notebook.
func (r *enacted) write(p page) {
	r.notes.pages = append(r.notes.pages, p)
	r.notes.days = r.notes.walk()
	r.notes.beds = append(r.notes.beds, r.notes.bedtime())
}

// measured are the checks that a loop runs on a step: the run's, the current task's own, and with a claim those of what it names and of all done
// tasks. Where nothing is open, nothing has to be claimed.
func (r *enacted) measured(st step) []ralph.CheckResult {
	if !st.against() {
		return nil
	}
	var done, named []string
	for _, t := range r.state.History.Tasks {
		if t.Status == ralph.TaskDone {
			done = append(done, t.ID)
		}
		if r.notes.claims(st.page, t.ID) {
			named = append(named, t.ID)
		}
	}
	nothingLeft := len(judge.OpenTasks(r.state.History.Tasks)) == 0
	claimed := len(named) > 0 || nothingLeft || r.notes.claimedOn(st.page)
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

// mustStandAsTheOracleSays compares every task, and holds to it that nothing ceases to be done but by a regression in the place of a task that was
// given up, or where nothing else was left to work on.
func (r *enacted) mustStandAsTheOracleSays(before map[string]ralph.TaskStatus, v ralph.Verdict) {
	r.t.Helper()
	want := r.notes.standings()
	for _, t := range r.state.History.Tasks {
		if got := (standing{t.Status, t.Regressed, t.Tries, t.Rounds}); got != want[t.ID] {
			r.t.Fatalf(
				"seed %d, iteration %d: task %s stands %+v, the oracle says %+v\nverdict %+v",
				r.seed,
				r.number,
				t.ID,
				got,
				want[t.ID],
				v.Tasks,
			)
		}
		opened := before[t.ID] == ralph.TaskDone && t.Status != ralph.TaskDone
		if opened && (!t.Regressed || v.Tasks.Current != "" && v.Tasks.GivenUp == "") {
			r.t.Fatalf("seed %d, iteration %d: task %s is done no more: %+v", r.seed, r.number, t.ID, v.Tasks)
		}
	}
}

// mustHaveProvenTheList: exit 0 with a list wants every blocking task done from the start, or claimed in this run in an iteration that proves it.
func (r *enacted) mustHaveProvenTheList(v ralph.Verdict) {
	r.t.Helper()
	if v.Reason != ralph.TasksDone {
		r.t.Fatalf("seed %d: exit 0 with %s though a list was worked", r.seed, v.Reason)
	}
	for _, t := range r.notes.list {
		if t.Optional || t.Human || t.Status == ralph.TaskDone {
			continue
		}
		proven := slices.ContainsFunc(r.notes.pages, func(q page) bool {
			red, _ := ownCheck(q, t.ID)
			runs := slices.DeleteFunc(slices.Clone(q.Checks), func(c ralph.CheckResult) bool { return c.Task != "" })
			return r.notes.claims(q, t.ID) && oneOf(q.Agent.End, ralph.EndOK, ralph.EndEmpty) && !red &&
				(len(runs) == 0 || allGreen(runs))
		})
		if !proven {
			r.t.Fatalf("seed %d: exit 0, and nothing proves task %s", r.seed, t.ID)
		}
	}
}

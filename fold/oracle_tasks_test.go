package fold

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// This part of the oracle is the task list: what is claimed, what is proven, and what happens to a
// task, iteration by iteration from the initial list.

// taskState is the oracle's state of a task.
type taskState struct {
	Status        ralph.TaskStatus
	Regressed     bool
	Tries, Rounds int
	Waits         bool // for an answer
}

// listChange is what an iteration did to the list.
type listChange struct {
	after      map[string]taskState
	done       []string          // in list order
	left       []string          // to a person
	codes      map[string]string // why claims were refused because of shown work
	proof      map[string]ralph.ProofWord
	givenUp    string
	because    ralph.StopReason // why the task was given up
	retried    bool
	asks       bool           // its task waits for an answer now
	rejections map[string]int // of tasks that are not done yet, before they are reset
}

// replayList returns what each iteration did to the list.
func (o oracle) replayList() []listChange {
	now := o.initialTasks()
	var changes []listChange
	var rejections map[string]int
	memory := newShownMemory(o.baseline)
	for i, q := range o.iterations {
		if q.resumed {
			now, rejections = resetForResume(now), nil
			memory.forgetClaims()
		}
		now = settleQuestions(now, q.answered)
		memory.noteBase(q.selected)
		rejections = addRejections(rejections, q)
		d := o.changeBy(q, now, rejections, memory)
		if len(d.done) > 0 && o.policy.Shown != "" { // the base of the next claim has these repairs already
			for _, c := range q.Checks {
				if c.Task == "" && c.Passed && o.failedAtBase(q, c, memory) {
					memory.spent = append(slices.Clip(memory.spent), c.Name)
				}
			}
		}
		o.acceptTasks(i, &d, memory)
		now, rejections = d.after, addRejections(rejections, iteration{})
		for _, reset := range append(d.done, d.givenUp) {
			if reset != "" {
				delete(rejections, reset)
			}
		}
		changes = append(changes, d)
	}
	return changes
}

// settleQuestions returns the tasks after some of them got their answers.
func settleQuestions(before map[string]taskState, answered []string) map[string]taskState {
	after := map[string]taskState{}
	for id, s := range before {
		s.Waits = s.Waits && !slices.Contains(answered, id)
		after[id] = s
	}
	return after
}

// othersGoOn reports whether the last iteration ended with a question of its task, and another task is next.
func (o oracle) othersGoOn() bool {
	return o.listChanges[len(o.iterations)-1].asks && o.nextTask(o.taskStates()) != ""
}

// resetForResume makes failed tasks pending and sets all counts to zero.
func resetForResume(before map[string]taskState) map[string]taskState {
	after := map[string]taskState{}
	for id, s := range before {
		s.Tries, s.Rounds = 0, 0
		if oneOf(s.Status, ralph.TaskFailed, ralph.TaskUnconfirmed) {
			s.Status = ralph.TaskPending
		}
		after[id] = s
	}
	return after
}

func (o oracle) changeBy(
	q iteration, before map[string]taskState, rejections map[string]int, memory *shownMemory,
) listChange {
	d := listChange{after: map[string]taskState{}, rejections: rejections, codes: map[string]string{}}
	o.judgeClaims(q, before, memory, &d)
	for _, t := range o.list {
		s := before[t.ID]
		red, green := o.ownCheck(q, t.ID)
		switch {
		case s.Status == ralph.TaskDone && red:
			s.Regressed = true
		case s.Regressed && green:
			s.Regressed = false
		}
		switch {
		case slices.Contains(d.done, t.ID):
			s = taskState{Status: ralph.TaskDone, Rounds: s.Rounds}
		case slices.Contains(d.left, t.ID):
			s.Status, s.Regressed, s.Tries, s.Waits = ralph.TaskUnconfirmed, false, 0, false
		case s.Status == ralph.TaskUnconfirmed && red:
			s.Status = ralph.TaskPending
		}
		d.after[t.ID] = s
	}
	o.countTry(q, &d)
	if q.Task == "" || d.givenUp != "" {
		for id, s := range d.after {
			if s.Status == ralph.TaskDone && s.Regressed {
				s.Status = ralph.TaskPending
				d.after[id] = s
			}
		}
	}
	return d
}

// countTry counts an iteration that does not prove its task as a try. The last try gives the task
// up, unless the run waits for an answer of a person.
func (o oracle) countTry(q iteration, d *listChange) {
	s, known := d.after[q.Task]
	if !known || !q.counts() || slices.Contains(d.done, q.Task) || slices.Contains(d.left, q.Task) {
		return
	}
	s.Tries++
	asked := o.policy.OnDecide == ralph.DecideWait && q.Agent.Said.Decide != nil
	rejected := o.policy.MaxRejections > 0 && d.rejections[q.Task] >= o.policy.MaxRejections
	ended := q.Agent.TaskEnd // the agent itself gave the task up
	lastTry := o.policy.TaskTries > 0 && s.Tries >= o.policy.TaskTries
	if (rejected || ended != "" || lastTry) && !asked && !overBudget(q, q.Task) {
		d.givenUp, d.because, s.Tries = q.Task, ralph.TaskTries, 0
		if ended != "" {
			d.because = ended
		}
		if rejected {
			d.because = ralph.EvaluatorCap
		}
		if o.policy.OnTaskFailure == ralph.TaskRetry && s.Rounds < o.policy.TaskRetries {
			s.Rounds++
			d.retried = true
		} else {
			s.Status = ralph.TaskFailed
		}
	}
	blocked := oracle{policy: o.policy, iterations: []iteration{q}}.blocked()
	if asked && o.policy.Rules > 1 && s.Status == ralph.TaskPending && !blocked {
		d.asks, s.Waits = true, true
	}
	d.after[q.Task] = s
}

// ownCheck reports whether one of the task's own checks failed in an iteration, and whether all of them passed. A check
// that cannot run did neither.
func (o oracle) ownCheck(q iteration, id string) (red, green bool) {
	ran, passed := 0, 0
	for _, c := range q.Checks {
		if c.Task != id {
			continue
		}
		ran++
		if c.Passed {
			passed++
		}
		red = red || !c.Passed && (!c.Broken || o.policy.Rules == 0)
	}
	return red, ran > 0 && passed == ran
}

// claims reports whether an iteration claims a task: by a tag, in any case of letters if only one
// task matches, by a mark in the list, or by COMPLETE for the current task. An agent cannot claim a
// task for a person.
func (o oracle) claims(q iteration, id string) bool {
	if slices.ContainsFunc(o.list, func(t ralph.TaskState) bool { return t.ID == id && t.Human }) {
		return false
	}
	for _, tag := range slices.Concat(q.Agent.Said.TasksDone, q.Listed) {
		var exact, alike []string
		for _, t := range o.list {
			if t.ID == tag {
				exact = append(exact, t.ID)
			}
			if strings.EqualFold(t.ID, tag) {
				alike = append(alike, t.ID)
			}
		}
		if slices.Contains(exact, id) || len(exact) == 0 && len(alike) == 1 && alike[0] == id {
			return true
		}
	}
	return id == q.Task && id != "" && (o.claimedOn(q) || q.Agent.Said.Untestable != nil)
}

// judgeClaims judges the claims for tasks, the current one first.
func (o oracle) judgeClaims(q iteration, before map[string]taskState, memory *shownMemory, d *listChange) {
	memory.tests = nil
	for _, current := range []bool{true, false} {
		for _, t := range o.list {
			if (t.ID == q.Task) == current && before[t.ID].Status != ralph.TaskDone && o.claims(q, t.ID) {
				o.judgeClaim(q, t.ID, before, memory, d)
			}
		}
	}
	d.proof = map[string]ralph.ProofWord{}
	for id, word := range memory.proof {
		d.proof[id] = word
	}
}

func (o oracle) judgeClaim(q iteration, id string, before map[string]taskState, m *shownMemory, d *listChange) {
	if !o.passes(q, id, before) {
		return
	}
	spent := *m
	word, code := o.findShowing(q, id, &spent)
	if code == "not_shown" && o.policy.Shown == ralph.ShownWarn {
		word, code = ralph.ProvenNone, ""
	}
	var codes []string
	for _, c := range []string{o.testChange(q), code} {
		if c != "" {
			codes = append(codes, c)
		}
	}
	if rejected := o.evaluatorOn(q, id, len(codes)); rejected != "" {
		codes = append(codes, rejected)
	}
	fatal := slices.ContainsFunc(codes, func(c string) bool { return !o.settleable(id, c) })
	switch {
	case len(codes) == 0:
		*m = spent
		d.done = append(d.done, id)
		m.proof[id] = word
	case !fatal && o.leftToPerson(q, id, m):
		d.left = append(d.left, id)
		d.codes[id] = codes[0]
	default:
		d.codes[id] = codes[0]
		if aboutEvidence(codes[0]) {
			m.refused[id] = append(m.refused[id], q.Tree)
		}
	}
}

// passes reports whether nothing refuses a task but what a person or an evaluator may settle: the agent ended
// well, the run's checks and the task's own pass, and no own check of a done task fails.
func (o oracle) passes(q iteration, id string, before map[string]taskState) bool {
	ended := oneOf(q.Agent.End, ralph.EndOK, ralph.EndEmpty, ralph.EndCut)
	if !ended || len(q.Tampered) > 0 || o.cannotCompare() || q.Stale {
		return false
	}
	measured := 0
	for _, c := range q.Checks {
		if oneOf(c.Task, "", id) {
			measured++
		}
		if !c.Passed && (oneOf(c.Task, "", id) || before[c.Task].Status == ralph.TaskDone) {
			return false
		}
	}
	return measured > 0 || o.policy.AllowUnverified || o.policy.Evaluator != ""
}

// taskStates returns the states after the last iteration.
func (o oracle) taskStates() map[string]taskState {
	if len(o.iterations) > 0 {
		return o.listChanges[len(o.iterations)-1].after
	}
	return o.initialTasks()
}

func (o oracle) initialTasks() map[string]taskState {
	now := map[string]taskState{}
	for _, t := range o.list {
		now[t.ID] = taskState{Status: t.Status}
	}
	return now
}

// unfinished returns the tasks that keep a run from completing.
func (o oracle) unfinished(now map[string]taskState) []string {
	var open []string
	for _, t := range o.list {
		if s := now[t.ID]; !t.Human && !t.Optional && (s.Status != ralph.TaskDone || s.Regressed) {
			open = append(open, t.ID)
		}
	}
	return open
}

// ready reports whether a task is pending, and needs nothing that is open.
func (o oracle) ready(t ralph.TaskState, now map[string]taskState) bool {
	needed := map[string]bool{}
	for range o.list { // once for every step that a chain of dependencies can have
		for _, t := range o.list {
			if needed[t.ID] || !t.Optional && !t.Human {
				needed[t.ID] = true
				for _, id := range t.DependsOn {
					needed[id] = true
				}
			}
		}
	}
	if !needed[t.ID] || t.Human || now[t.ID].Status != ralph.TaskPending {
		return false
	}
	for _, other := range o.list {
		settled := oneOf(now[other.ID].Status, ralph.TaskDone, ralph.TaskUnconfirmed) || other.Human
		if slices.Contains(t.DependsOn, other.ID) && !settled {
			return false
		}
	}
	return true
}

// nextTask returns the task that comes next: by dependencies, then regressed tasks, then by
// priority, then in order. Tasks to retry come after the others. A task that waits for an answer does not come.
func (o oracle) nextTask(now map[string]taskState) string {
	best := -1
	for i, t := range o.list {
		if o.ready(t, now) && !now[t.ID].Waits && (best < 0 || o.comesBefore(t, o.list[best], now)) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return o.list[best].ID
}

func (o oracle) comesBefore(a, b ralph.TaskState, now map[string]taskState) bool {
	if x, y := now[a.ID].Rounds, now[b.ID].Rounds; x != y {
		return x < y
	}
	if x, y := now[a.ID].Regressed, now[b.ID].Regressed; x != y {
		return x
	}
	return a.Priority != nil && (b.Priority == nil || *a.Priority < *b.Priority)
}

// isIgnored reports whether a check is the own check of a task that is neither done nor required.
func (o oracle) isIgnored(c ralph.CheckResult) bool {
	for _, t := range o.list {
		if t.ID == c.Task {
			return (t.Optional || t.Human) && o.taskStates()[t.ID].Status != ralph.TaskDone
		}
	}
	return false
}

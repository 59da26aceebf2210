package fold

import (
	"slices"

	"github.com/ralphloop/ralph"
)

// This part of the oracle is about shown work: section 5 of the contract, "Shown", and proof in section 8.

// shownMemory is what earlier iterations leave behind for later claims.
type shownMemory struct {
	spent   []string                     // checks that showed a task, by their names
	refused map[string][]ralph.TreeState // trees of claims that a person could settle, by task
	proof   map[string]ralph.ProofWord   // of tasks that were proven in this run
	failed  map[[2]string]bool           // checks that failed at the base or when their task was selected
	tests   []string                     // new tests that showed a task in this iteration, "" without a name
}

func newShownMemory(baseline []ralph.CheckResult) *shownMemory {
	m := &shownMemory{proof: map[string]ralph.ProofWord{}, failed: map[[2]string]bool{}}
	m.forgetClaims()
	m.noteBase(baseline)
	return m
}

func (m *shownMemory) forgetClaims() {
	m.refused = map[string][]ralph.TreeState{}
}

// noteBase notes the results at the base, or when a task was first selected.
func (m *shownMemory) noteBase(checks []ralph.CheckResult) {
	for _, c := range checks {
		m.failed[[2]string{c.Task, c.Name}] = !c.Passed && !c.Broken
	}
}

// proofRule returns what a claim must prove.
func (o oracle) proofRule(id string) ralph.ProofRule {
	for _, t := range o.list {
		if t.ID == id && t.Proof != "" {
			return t.Proof
		}
	}
	return o.policy.Proof
}

func unchanged(q iteration) bool { return q.Work != nil && q.Work.Unchanged }

// findShowing returns how far the evidence of an iteration proves the goal or a task, or the refusal.
// Evidence that shows a task is spent.
func (o oracle) findShowing(q iteration, id string, m *shownMemory) (ralph.ProofWord, string) {
	switch {
	case o.policy.Shown == "":
		return "", ""
	case o.policy.Shown == ralph.ShownOff:
		o.policy.Shown = ralph.ShownRefuse
		word, code := o.findShowing(q, id, m)
		if code != "" {
			word = ralph.ProvenNone
		}
		return word, ""
	case o.proofRule(id) == ralph.ProofUnbroken && !unchanged(q):
		return ralph.ProvenUnbroken, ""
	}
	shown := ralph.ProvenShown
	if slices.ContainsFunc(q.Checks, func(c ralph.CheckResult) bool { return c.Isolation == ralph.IsolationInPlace }) {
		shown = ralph.ProvenWorkspace
	}
	if name := o.repaired(q, id, m); name != "" {
		m.spent = append(slices.Clip(m.spent), name)
		return shown, ""
	}
	if unchanged(q) {
		return "", "nothing_changed"
	}
	if o.newTests(q, id, m) {
		return shown, ""
	}
	if o.policy.Evaluator != "" { // it decides, and has a gate of its own
		return shown, ""
	}
	if o.policy.AllowUnverified && len(q.Checks) == 0 {
		return ralph.ProvenNone, ""
	}
	return "", "not_shown"
}

// repaired returns a check that failed before and passes now, or "": one of the task itself, else one of the
// run that showed no other task.
func (o oracle) repaired(q iteration, id string, m *shownMemory) string {
	for _, own := range []bool{true, false} {
		for _, c := range q.Checks {
			if !c.Passed || own != (c.Task != "") || own && c.Task != id || ranNothing(q, c) {
				continue
			}
			free := !slices.Contains(m.spent, c.Name)
			failed := m.failed[[2]string{c.Task, c.Name}]
			if own && failed || free && (failed || failedAtBase(q, c)) {
				return c.Name
			}
		}
	}
	return ""
}

func ranNothing(q iteration, c ralph.CheckResult) bool {
	return q.Work != nil && slices.Contains(q.Work.Counts, ralph.TestCount{Name: c.Name, Task: c.Task})
}

func failedAtBase(q iteration, c ralph.CheckResult) bool {
	return q.Work != nil && slices.ContainsFunc(q.Work.AtBase, func(b ralph.CheckResult) bool {
		return b.Name == c.Name && b.Task == c.Task && !b.Passed && !b.Broken
	})
}

// newTests reports whether a new test is left that shows the claim: it fails with the other files of the base
// in a check that passes now. Each new test shows one task. Two checks may run the same tests, and a test
// without a name may be any of them.
func (o oracle) newTests(q iteration, id string, m *shownMemory) bool {
	if q.Work == nil {
		return false
	}
	var names []string
	most := 0
	for _, run := range q.Work.NewTests {
		for _, c := range q.Checks {
			fits := c.Name == run.Name && c.Task == run.Task && oneOf(c.Task, "", id)
			if !fits || !c.Passed || run.Passed || ranNothing(q, c) {
				continue
			}
			for _, name := range run.Failing {
				if !slices.Contains(slices.Concat(names, m.tests), name) {
					names = append(names, name)
				}
			}
			most = max(most, run.Count, 1)
		}
	}
	nameless := 0
	for _, name := range m.tests {
		if name == "" {
			nameless++
		}
	}
	switch {
	case len(names) > nameless:
		m.tests = append(slices.Clip(m.tests), names[0])
	case len(m.tests) < most:
		m.tests = append(slices.Clip(m.tests), "")
	default:
		return false
	}
	return true
}

// settleable reports whether a person can settle a refusal of a claim for the goal or a task.
func (o oracle) settleable(id, code string) bool {
	switch code {
	case "not_shown":
		return o.policy.Shown == ralph.ShownAsk
	case "nothing_changed":
		return o.policy.Shown == ralph.ShownAsk || o.policy.Shown == ralph.ShownWarn && id != ""
	case "tests_changed", "test_aware", "tests_missing":
		return o.policy.TestChange == ralph.TestsAsk
	}
	return false
}

// leftToPerson reports whether a claim that a person could settle was made again, or says that no test can
// show it. Otherwise it is refused, which counts for the next claim.
func (o oracle) leftToPerson(q iteration, id string, m *shownMemory) bool {
	again := slices.ContainsFunc(m.refused[id], func(t ralph.TreeState) bool {
		return t.Known && q.Tree.Known && t.Head == q.Tree.Head && t.Hash == q.Tree.Hash
	})
	untestable := q.Agent.Said.Untestable != nil && id == q.Task
	return again || untestable || len(m.refused[id]) >= 2
}

// aboutEvidence reports whether a refusal says that evidence does not settle a claim.
func aboutEvidence(code string) bool {
	return oneOf(code, "not_shown", "nothing_changed", "tests_changed", "test_aware", "tests_missing")
}

// goalNotShown returns the refusal of the gate "the work is shown" for the goal. With a list, the tasks are
// shown one by one.
func (o oracle) goalNotShown() string {
	if len(o.list) > 0 || o.policy.Shown == ralph.ShownWarn {
		return ""
	}
	_, code := o.findShowing(o.now(), "", newShownMemory(o.baseline))
	return code
}

// goalIsLeftToPerson reports whether the claim for the goal is refused for nothing but what a person can
// settle, and was made again.
func (o oracle) goalIsLeftToPerson() bool {
	if len(o.list) > 0 {
		return false
	}
	memory, left := newShownMemory(o.baseline), false
	for i := len(o.iterations) - len(o.sinceResume()); i < len(o.iterations); i++ {
		then := o.upTo(i)
		codes := then.refusals()
		fatal := slices.ContainsFunc(codes, func(c string) bool { return !o.settleable("", c) })
		claims := then.claimed() && len(codes) > 0
		left = claims && !fatal && o.leftToPerson(o.iterations[i], "", memory)
		if claims && !slices.ContainsFunc(codes, func(c string) bool { return !aboutEvidence(c) }) {
			memory.refused[""] = append(memory.refused[""], o.iterations[i].Tree)
		}
	}
	return left
}

// listIsLeftToPerson reports whether a person can settle everything that is left, and the checks pass.
func (o oracle) listIsLeftToPerson(now map[string]taskState) bool {
	open := o.unfinished(now)
	other := slices.ContainsFunc(open, func(id string) bool { return now[id].Status != ralph.TaskUnconfirmed })
	return len(open) > 0 && !other && o.nextTask(now) == "" && passesCounting(o)
}

// passesCounting reports whether every check that counts passes.
func passesCounting(o oracle) bool {
	counting := slices.DeleteFunc(slices.Clone(o.now().Checks), o.isIgnored)
	return len(counting) == 0 || allPassed(counting)
}

// acceptance is a person's yes after an iteration.
type acceptance struct {
	after int
	tasks []string // none for the goal
}

// acceptTasks applies the person's yes to tasks after iteration i.
func (o oracle) acceptTasks(i int, d *listChange, m *shownMemory) {
	for _, yes := range o.accepted {
		if yes.after != i {
			continue
		}
		for _, id := range yes.tasks {
			d.after[id] = taskState{Status: ralph.TaskDone, Rounds: d.after[id].Rounds}
			d.proof[id], m.proof[id] = ralph.ProvenAccepted, ralph.ProvenAccepted
		}
	}
}

// acceptable returns what a person may accept after the last iteration: unconfirmed tasks, or "" for the goal.
func (o oracle) acceptable() []string {
	var tasks []string
	for _, t := range o.list {
		if o.taskStates()[t.ID].Status == ralph.TaskUnconfirmed {
			tasks = append(tasks, t.ID)
		}
	}
	codes := o.refusals()
	fatal := slices.ContainsFunc(codes, func(c string) bool { return !aboutEvidence(c) })
	if len(o.list) == 0 && o.claimed() && len(codes) > 0 && !fatal {
		return []string{""}
	}
	return tasks
}

// personSettledAll reports whether a person accepted what was left after the last iteration.
func (o oracle) personSettledAll(open []string) bool {
	last := len(o.accepted) - 1
	if last < 0 || o.accepted[last].after != len(o.iterations)-1 || len(open) > 0 {
		return false
	}
	return passesCounting(o) && len(o.now().Tampered) == 0 && !o.now().Stale
}

// proofWord returns how far exit 0 proves the work. For a list it is the weakest of its tasks.
func (o oracle) proofWord() ralph.ProofWord {
	if o.policy.Shown == "" {
		return ""
	}
	if len(o.list) == 0 {
		if len(o.accepted) > 0 {
			return ralph.ProvenAccepted
		}
		word, _ := o.findShowing(o.now(), "", newShownMemory(o.baseline))
		if word == "" {
			return ralph.ProvenNone
		}
		return word
	}
	weakest := -1
	words := []ralph.ProofWord{
		ralph.ProvenShown, ralph.ProvenWorkspace, ralph.ProvenAccepted, ralph.ProvenUnbroken, ralph.ProvenNone,
	}
	if len(o.iterations) > 0 {
		for id, word := range o.listChanges[len(o.iterations)-1].proof {
			if o.taskStates()[id].Status == ralph.TaskDone {
				weakest = max(weakest, slices.Index(words, word))
			}
		}
	}
	if weakest < 0 {
		return ralph.ProvenUnbroken
	}
	return words[weakest]
}

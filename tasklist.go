package ralph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// TaskState is a task as the run knows it: what the choice of the next task and the verdict need, and nothing else.
type TaskState struct {
	ID        string     `json:"id"`
	Title     string     `json:"title"`
	DependsOn []string   `json:"depends_on,omitempty"`
	Priority  *int       `json:"priority,omitempty"`
	Optional  bool       `json:"optional,omitempty"`
	Human     bool       `json:"human,omitempty"`
	Status    TaskStatus `json:"status"`
	Regressed bool       `json:"regressed,omitempty"` // it was done, and its own check turned red
	Tries     int        `json:"tries,omitempty"`     // iterations that it was worked on without being proven
	Rounds    int        `json:"rounds,omitempty"`    // how often it was given up and put behind the others
}

// Open reports whether the run cannot be complete because of this task.
func (t TaskState) Open() bool {
	return !t.Optional && !t.Human && (t.Status != TaskDone || t.Regressed)
}

// TaskVerdict is what a verdict says about the tasks.
type TaskVerdict struct {
	Current   string        `json:"current,omitempty"`
	Done      []string      `json:"done,omitempty"`      // proven by this iteration
	Refused   []TaskRefusal `json:"refused,omitempty"`   // claimed and not proven
	Regressed []string      `json:"regressed,omitempty"` // done before, own check red now
	Mended    []string      `json:"mended,omitempty"`    // regressed before, own checks green now
	GivenUp   string        `json:"given_up,omitempty"`  // used up its tries
	Rejected  bool          `json:"rejected,omitempty"`  // not its tries, but its evaluations
	Because   StopReason    `json:"because,omitempty"`   // the agent itself gave it up
	Retried   bool          `json:"retried,omitempty"`   // and is put behind the others
	Reopened  []string      `json:"reopened,omitempty"`  // regressed ones that take the given-up one's place
	AllDone   bool          `json:"all_done,omitempty"`  // no blocking task is open any more
}

// TaskRefusal says why a claim for one task was refused.
type TaskRefusal struct {
	Task   string `json:"task"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// NextTask chooses what to work on: of the tasks whose dependencies are done, one that regressed, then the most urgent, then the first. Optional
// tasks are chosen only if another one needs them, human ones never, and nobody waits for them.
func NextTask(tasks []TaskState) (TaskState, bool) {
	needed := neededTasks(tasks)
	var ready []TaskState
	for _, t := range tasks {
		if t.Status == TaskPending && needed[t.ID] && !t.Human && len(waitsFor(t, tasks)) == 0 {
			ready = append(ready, t)
		}
	}
	if len(ready) == 0 {
		return TaskState{}, false
	}
	return slices.MinFunc(ready, func(a, b TaskState) int { // of equals, the first one
		return cmp.Or(cmp.Compare(a.Rounds, b.Rounds), -compareBools(a.Regressed, b.Regressed), cmp.Compare(a.urgency(), b.urgency()))
	}), true
}

func (t TaskState) urgency() int {
	if t.Priority == nil {
		return math.MaxInt
	}
	return *t.Priority
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// neededTasks are the blocking tasks and what they depend on.
func neededTasks(tasks []TaskState) map[string]bool {
	byID := map[string]TaskState{}
	for _, t := range tasks {
		byID[t.ID] = t
	}
	needed := map[string]bool{}
	var need func(id string)
	need = func(id string) {
		if needed[id] {
			return
		}
		needed[id] = true
		for _, dependency := range byID[id].DependsOn {
			need(dependency)
		}
	}
	for _, t := range tasks {
		if !t.Optional && !t.Human {
			need(t.ID)
		}
	}
	return needed
}

// waitsFor lists the dependencies that are not done.
func waitsFor(t TaskState, tasks []TaskState) []string {
	var open []string
	for _, other := range tasks {
		if slices.Contains(t.DependsOn, other.ID) && other.Status != TaskDone && !other.Human {
			open = append(open, other.ID)
		}
	}
	return open
}

// openTasks are those that a run cannot be complete without.
func openTasks(tasks []TaskState) []string {
	var open []string
	for _, t := range tasks {
		if t.Open() {
			open = append(open, t.ID)
		}
	}
	return open
}

// judgeTasks says which claims are proven: claimed, by an agent that ended well, with every check of the run and the task's own green, and no
// done task's own check red.
func judgeTasks(p Policy, h History) TaskVerdict {
	v := TaskVerdict{Current: h.Now.Task}
	red := redTasks(h.Now.Checks)
	claimed := ClaimedTasks(p, h)
	for _, t := range h.Tasks {
		isRed, ran := red[t.ID]
		switch {
		case t.Status == TaskDone && isRed && !t.Regressed:
			v.Regressed = append(v.Regressed, t.ID)
		case t.Regressed && ran && !isRed:
			v.Mended = append(v.Mended, t.ID)
		}
	}
	for _, t := range h.Tasks {
		if t.Status == TaskDone || !slices.Contains(claimed, t.ID) {
			continue
		}
		if code, detail := refuseTask(p, h, t.ID); code != "" {
			v.Refused = append(v.Refused, TaskRefusal{t.ID, code, detail})
			continue
		}
		v.Done = append(v.Done, t.ID)
	}
	giveUp(&v, p, h)
	v.AllDone = len(h.Tasks) > 0 && len(openTasks(applyTasks(v, h.Tasks, false))) == 0
	return v
}

// redTasks tells of every task whose own checks ran whether one of them is red.
func redTasks(checks []CheckResult) map[string]bool {
	red := map[string]bool{}
	for _, c := range checks {
		if c.Task != "" {
			red[c.Task] = red[c.Task] || !c.Passed
		}
	}
	return red
}

// ClaimedTasks are the tasks that the agent says are done: by tag, in the list, or, with a claim that everything is, the one it worked on.
func ClaimedTasks(p Policy, h History) []string {
	var claimed []string
	for _, id := range slices.Concat(h.Now.Agent.Said.TasksDone, h.Now.Listed) {
		if t, ok := findTask(h.Tasks, id); ok && !t.Human { // no agent can have done what is for a person
			claimed = append(claimed, t.ID)
		}
	}
	if claims(p, h) && h.Now.Task != "" {
		claimed = append(claimed, h.Now.Task)
	}
	return claimed
}

// findTask finds a task by its id, in another case too if that is clear.
func findTask(tasks []TaskState, id string) (TaskState, bool) {
	var alike []TaskState
	for _, t := range tasks {
		if t.ID == id {
			return t, true
		}
		if strings.EqualFold(t.ID, id) {
			alike = append(alike, t)
		}
	}
	if len(alike) == 1 {
		return alike[0], true
	}
	return TaskState{}, false
}

// refuseTask says why the claim for a task does not stand; no code means that it does.
func refuseTask(p Policy, h History, id string) (code, detail string) {
	if gate := askEndedWell(p, h); gate.State == GateShut {
		return gate.Refusal, gate.Detail
	}
	var failed, broken, regressed []string
	measured := false
	for _, c := range h.Now.Checks {
		t, _ := findTask(h.Tasks, c.Task)
		ours := c.Task == "" || c.Task == id
		measured = measured || ours
		switch {
		case c.Passed:
		case !ours && t.Status != TaskDone: // another claim's own check says nothing about this one
		case !ours:
			regressed = append(regressed, fmt.Sprintf("%s, the own check of %s, which was done", c.Name, c.Task))
		case c.Hidden: // nothing else about it is the agent's business
			failed = append(failed, hiddenFailed)
		case c.Broken:
			broken = append(broken, c.Name)
		default:
			failed = append(failed, c.Name+" ("+howFailed(c)+")")
		}
	}
	failed = slices.Compact(failed)
	switch {
	case len(failed) > 0:
		return RefusedCheckFailed, strings.Join(failed, ", ") + " failed"
	case len(regressed) > 0:
		return RefusedCheckFailed, strings.Join(regressed, "; ") + ", failed"
	case len(broken) > 0:
		return RefusedCheckBroken, strings.Join(broken, ", ") + " cannot run"
	}
	for _, gate := range []Gate{askTampered(p, h), askFresh(p, h)} {
		if gate.State == GateShut {
			return gate.Refusal, gate.Detail
		}
	}
	e, asked := h.Now.evaluationOf(id)
	switch {
	case p.Evaluator != "" && !asked:
		return RefusedEvaluator, notAsked
	case p.Evaluator != "":
		return rejection(e)
	case !measured && !p.AllowUnverified:
		return RefusedNoEvidence, "neither a check of the run nor one of its own ran, so nothing proves it"
	}
	return "", ""
}

// giveUp looks whether the current task has used up its tries. What regressed meanwhile takes its place.
func giveUp(v *TaskVerdict, p Policy, h History) {
	t, ok := findTask(h.Tasks, v.Current)
	proven := slices.Contains(v.Done, v.Current)
	if v.Current == "" || !ok {
		v.Reopened = regressedTasks(applyTasks(*v, h.Tasks, false))
		return
	}
	asks := h.Now.Agent.Said.Decide != nil && p.OnDecide == DecideWait // somebody answers, and it has one more try
	tired := p.TaskTries > 0 && t.Tries+1 >= p.TaskTries
	rejected := p.MaxRejections > 0 && h.rejected(t.ID) >= p.MaxRejections
	ended := h.Now.Agent.TaskEnd
	e, _ := h.Now.evaluationOf(t.ID)
	unpaid := e.End == EndOverBudget // nobody had anything against it
	if proven || asks || unpaid || !counts(h.Now.Agent.End) || !tired && !rejected && ended == "" {
		return
	}
	v.GivenUp, v.Rejected = t.ID, rejected
	if !rejected {
		v.Because = ended
	}
	v.Retried = p.OnTaskFailure == TaskRetry && t.Rounds < p.TaskRetries
	v.Reopened = regressedTasks(applyTasks(*v, h.Tasks, false))
}

func regressedTasks(tasks []TaskState) []string {
	var regressed []string
	for _, t := range tasks {
		if t.Status == TaskDone && t.Regressed {
			regressed = append(regressed, t.ID)
		}
	}
	return regressed
}

// applyTasks gives the tasks as the verdict leaves them. counted says that the iteration was one of the N.
func applyTasks(v TaskVerdict, tasks []TaskState, counted bool) []TaskState {
	tasks = slices.Clone(tasks)
	for i := range tasks {
		t := &tasks[i]
		switch {
		case slices.Contains(v.Done, t.ID):
			t.Status, t.Regressed, t.Tries = TaskDone, false, 0
			continue
		case slices.Contains(v.Regressed, t.ID):
			t.Regressed = true
		case slices.Contains(v.Mended, t.ID):
			t.Regressed = false
		}
		if slices.Contains(v.Reopened, t.ID) {
			t.Status = TaskPending
		}
		if t.ID == v.Current && counted {
			t.Tries++
		}
		if t.ID != v.GivenUp {
			continue
		}
		t.Tries = 0
		if v.Retried {
			t.Rounds++
		} else {
			t.Status = TaskFailed
		}
	}
	return tasks
}

// Row 6: a task used up its tries, or its evaluations.
func taskRule(p Policy, h History, v Verdict) *Verdict {
	if n := h.rejected(""); p.MaxRejections > 0 && n >= p.MaxRejections {
		return stopAt(v, 6, EvaluatorCap, "the evaluator rejected the work %s", text.Times(n))
	}
	if end := h.Now.Agent.TaskEnd; end != "" && len(h.Tasks) == 0 {
		v.Hint = h.Now.Agent.Hint
		return stopAt(v, 6, end, "%s", h.Now.taskEnded(end))
	}
	if v.Tasks.GivenUp == "" || v.Tasks.Retried || p.OnTaskFailure == TaskSkip {
		return nil
	}
	if end := v.Tasks.Because; end != "" {
		v.Hint = h.Now.Agent.Hint
		return stopAt(v, 6, end, "task %s: %s", v.Tasks.GivenUp, h.Now.taskEnded(end))
	}
	if v.Tasks.Rejected {
		return stopAt(v, 6, EvaluatorCap, "the evaluator rejected task %s %s", v.Tasks.GivenUp, text.Times(h.rejected(v.Tasks.GivenUp)))
	}
	return stopAt(v, 6, TaskTries, "task %s was worked on in %s without being proven", v.Tasks.GivenUp,
		text.Count(p.TaskTries*(roundsOf(h.Tasks, v.Tasks.GivenUp)+1), "iteration"))
}

// taskEnded says why an agent gave up, perhaps having submitted cases in vain.
func (o Observation) taskEnded(end StopReason) string {
	why := string(end)
	switch {
	case end == IterCap && len(o.Cases) == 0:
		return "the worker used up its turns without a case that was accepted"
	case end == IterCap:
		why = "the worker used up its turns"
	case end == NoCase && o.Agent.AnswersCut:
		why = "the model's answers were cut at its length limit again and again"
	case end == NoCase:
		why = "the worker fell silent again and again"
	case end == EmptyResponses:
		return "the model's answers were empty again and again"
	default:
		return why
	}
	switch n := len(o.Cases); {
	case n == 0 && o.Agent.AnswersCut:
		return why + ", and no case was submitted"
	case n == 0:
		return why + " and submitted no case"
	case n == 1:
		return why + ", and its only case was not accepted"
	default:
		return fmt.Sprintf("%s, and none of its %d cases was accepted", why, n)
	}
}

func roundsOf(tasks []TaskState, id string) int {
	t, _ := findTask(tasks, id)
	return t.Rounds
}

// Row 4, before an agent starts: the list was done already, and the checks agree.
func nothingLeftRule(_ Policy, h History, v Verdict) *Verdict {
	if h.Started > 0 || len(h.Tasks) == 0 || len(openTasks(h.Tasks)) > 0 || !AllPassed(h.Baseline) {
		return nil
	}
	v.VerifiedBy = provenBy(h)
	return stopAt(v, 4, TasksDone, "every task of the list was done already, and every check is green")
}

// Row 6, between iterations: what is open cannot be worked on.
func stuckRule(_ Policy, h History, v Verdict) *Verdict {
	open := openTasks(h.Tasks)
	if _, ok := NextTask(h.Tasks); ok || len(open) == 0 {
		return nil
	}
	var failed []string
	waiting := len(open)
	for _, t := range h.Tasks {
		if t.Status != TaskFailed {
			continue
		}
		failed = append(failed, t.ID)
		if t.Open() { // an optional one that another needs is not
			waiting--
		}
	}
	if len(failed) == 0 {
		return nil
	}
	detail := fmt.Sprintf("given up: %s", strings.Join(failed, ", "))
	if waiting > 0 {
		detail += fmt.Sprintf("; %s for %s", tasksWait(waiting), them(len(failed)))
	}
	return stopAt(v, 6, TaskTries, "%s", detail)
}

func tasksWait(n int) string {
	if n == 1 {
		return "1 task waits"
	}
	return fmt.Sprintf("%d tasks wait", n)
}

func them(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func askTasks(_ Policy, h History) Gate {
	if len(h.Tasks) == 0 {
		return Gate{State: GateNoted, Detail: "no task list was worked"}
	}
	left := openTasks(h.Tasks)
	if len(left) == 0 {
		return open("every task that blocks is done")
	}
	const shown = 5
	names := strings.Join(left[:min(shown, len(left))], ", ")
	if len(left) > shown {
		names += ", …"
	}
	return shut(RefusedTasksOpen, "%s not done: %s", text.Count(len(left), "task"), names)
}

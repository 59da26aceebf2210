package fold

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// The task list of the oracle: who claimed what, what proves it, and what becomes of a task, walked page by page from the list as it was.

// standing is how a task stands.
type standing struct {
	Status        ralph.TaskStatus
	Regressed     bool
	Tries, Rounds int
}

// day is what a page did to the list.
type day struct {
	after   map[string]standing
	done    []string // in the list's order
	givenUp string
	because ralph.StopReason // with givenUp
	retried bool
	anger   map[string]int // rejections of what is not done yet, before they are forgotten
}

// walk tells the story of the list from its beginning.
func (n notebook) walk() []day {
	now := n.start()
	var days []day
	var anger map[string]int
	for _, q := range n.pages {
		if q.resumed {
			now, anger = anew(now), nil
		}
		anger = angrier(anger, q)
		d := n.day(q, now, anger)
		now, anger = d.after, angrier(anger, page{})
		for _, forgotten := range append(d.done, d.givenUp) {
			if forgotten != "" {
				delete(anger, forgotten)
			}
		}
		days = append(days, d)
	}
	return days
}

// anew: a resume makes failed tasks pending and counts from zero.
func anew(before map[string]standing) map[string]standing {
	after := map[string]standing{}
	for id, s := range before {
		s.Tries, s.Rounds = 0, 0
		if s.Status == ralph.TaskFailed {
			s.Status = ralph.TaskPending
		}
		after[id] = s
	}
	return after
}

func (n notebook) day(q page, before map[string]standing, anger map[string]int) day {
	d := day{after: map[string]standing{}, anger: anger}
	for _, t := range n.list {
		s := before[t.ID]
		red, ran := ownCheck(q, t.ID)
		switch {
		case s.Status == ralph.TaskDone && red:
			s.Regressed = true
		case s.Regressed && ran && !red:
			s.Regressed = false
		}
		if before[t.ID].Status != ralph.TaskDone && n.claims(q, t.ID) && n.proves(q, t.ID, before) {
			s = standing{Status: ralph.TaskDone, Rounds: s.Rounds}
			d.done = append(d.done, t.ID)
		}
		d.after[t.ID] = s
	}
	n.countTry(q, &d)
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

// countTry: an iteration that counts and does not prove its task is a try, and the last of them gives it up, unless a person is asked and waited for.
func (n notebook) countTry(q page, d *day) {
	s, known := d.after[q.Task]
	if !known || !q.against() || slices.Contains(d.done, q.Task) {
		return
	}
	s.Tries++
	asked := n.policy.OnDecide == ralph.DecideWait && q.Agent.Said.Decide != nil
	hated := n.policy.MaxRejections > 0 && d.anger[q.Task] >= n.policy.MaxRejections
	quits := q.Agent.TaskEnd // the agent itself has had enough
	if (hated || quits != "" || n.policy.TaskTries > 0 && s.Tries >= n.policy.TaskTries) && !asked && !unpaid(q, q.Task) {
		d.givenUp, d.because, s.Tries = q.Task, ralph.TaskTries, 0
		if quits != "" {
			d.because = quits
		}
		if hated {
			d.because = ralph.EvaluatorCap
		}
		if n.policy.OnTaskFailure == ralph.TaskRetry && s.Rounds < n.policy.TaskRetries {
			s.Rounds++
			d.retried = true
		} else {
			s.Status = ralph.TaskFailed
		}
	}
	d.after[q.Task] = s
}

// ownCheck: does one of the task's own checks stand red on the page, and was one run at all?
func ownCheck(q page, id string) (red, ran bool) {
	for _, c := range q.Checks {
		if c.Task == id {
			ran, red = true, red || !c.Passed
		}
	}
	return red, ran
}

// claims: by tag, in another case too if it is clear which is meant, by a mark in the list, or, for the one that was worked on, by COMPLETE. What is
// for a person no agent can claim.
func (n notebook) claims(q page, id string) bool {
	if slices.ContainsFunc(n.list, func(t ralph.TaskState) bool { return t.ID == id && t.Human }) {
		return false
	}
	for _, tag := range slices.Concat(q.Agent.Said.TasksDone, q.Listed) {
		var exact, alike []string
		for _, t := range n.list {
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
	return id == q.Task && n.claimedOn(q)
}

// proves: the agent ended well, the run's checks and the task's own are green, and no own check of a task that was done is red.
func (n notebook) proves(q page, id string, before map[string]standing) bool {
	if !oneOf(q.Agent.End, ralph.EndOK, ralph.EndEmpty) || !n.trusted(q, id) {
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
	return measured > 0 || n.policy.AllowUnverified || n.policy.Evaluator != ""
}

// standings are those after the last page.
func (n notebook) standings() map[string]standing {
	if len(n.pages) > 0 {
		return n.days[len(n.pages)-1].after
	}
	return n.start()
}

func (n notebook) start() map[string]standing {
	now := map[string]standing{}
	for _, t := range n.list {
		now[t.ID] = standing{Status: t.Status}
	}
	return now
}

// unfinished are the tasks that keep a run open.
func (n notebook) unfinished(now map[string]standing) []string {
	var open []string
	for _, t := range n.list {
		if s := now[t.ID]; !t.Human && !t.Optional && (s.Status != ralph.TaskDone || s.Regressed) {
			open = append(open, t.ID)
		}
	}
	return open
}

// choice is the task that comes next: dependencies, then what regressed, then priority, then order; what was put behind comes after.
func (n notebook) choice(now map[string]standing) string {
	needed := map[string]bool{}
	for range n.list { // once for every step that a chain of dependencies can have
		for _, t := range n.list {
			if needed[t.ID] || !t.Optional && !t.Human {
				needed[t.ID] = true
				for _, id := range t.DependsOn {
					needed[id] = true
				}
			}
		}
	}
	best := -1
	for i, t := range n.list {
		ready := now[t.ID].Status == ralph.TaskPending && needed[t.ID] && !t.Human
		for _, other := range n.list {
			if slices.Contains(t.DependsOn, other.ID) && now[other.ID].Status != ralph.TaskDone && !other.Human {
				ready = false
			}
		}
		if ready && (best < 0 || n.sooner(t, n.list[best], now)) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return n.list[best].ID
}

func (n notebook) sooner(a, b ralph.TaskState, now map[string]standing) bool {
	if x, y := now[a.ID].Rounds, now[b.ID].Rounds; x != y {
		return x < y
	}
	if x, y := now[a.ID].Regressed, now[b.ID].Regressed; x != y {
		return x
	}
	return a.Priority != nil && (b.Priority == nil || *a.Priority < *b.Priority)
}

// harmless: an own check of a task that neither is done nor has to be.
func (n notebook) harmless(c ralph.CheckResult) bool {
	for _, t := range n.list {
		if t.ID == c.Task {
			return (t.Optional || t.Human) && n.standings()[t.ID].Status != ralph.TaskDone
		}
	}
	return false
}

package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// ShownLog is what a run knows about shown work from earlier iterations.
type ShownLog struct {
	// SpentChecks are checks of the run whose repair showed a task. One repair does not show two tasks.
	SpentChecks []string `json:"spent_checks,omitempty"`
	// Evidence is what showed the tasks that are done.
	Evidence []ShownTask `json:"evidence,omitempty"`
	// NotShown are claims that were refused only because nothing shows the work.
	NotShown []UnshownClaim `json:"not_shown,omitempty"`
	// ForPerson says for each task that became unconfirmed why only a person can settle it.
	ForPerson []ralph.TaskRefusal `json:"for_person,omitempty"`
	// Origin is the tree before earlier runs that did not complete, nil if there is none.
	Origin *Origin `json:"origin,omitempty"`
	// Accepted is the person's yes to what the last iteration left, nil if there is none.
	Accepted *ralph.WorkAccepted `json:"work_accepted,omitempty"`
}

// UnshownClaim is a claim for the goal ("") or a task that evidence cannot settle.
type UnshownClaim struct {
	Task  string `json:"task,omitempty"`
	Tree  string `json:"tree"`
	Times int    `json:"times"`
}

// mostUnshownClaims is how often a claim may be refused as not shown, on different trees, before a
// person is asked.
const mostUnshownClaims = 3

// shownByEvaluator stands in for Policy.Shown while the evaluator's verdict is still open.
const shownByEvaluator ralph.ShownRule = "evaluator"

// ClaimedWork lists what the iteration claims: tasks that are not done, or "" for the goal.
func ClaimedWork(p ralph.Policy, h History) []string {
	if len(h.Tasks) == 0 {
		if claimsCompletion(p, h) || ChecksClaim(p, h) {
			return []string{""}
		}
		return nil
	}
	var work []string
	index, seen := indexTasks(h.Tasks), map[string]bool{}
	for _, id := range ClaimedTasks(p, h) {
		if t, _ := index.find(id); t.Status != ralph.TaskDone && !seen[id] {
			work = append(work, id)
		}
		seen[id] = true
	}
	return work
}

// MustShow reports whether the iteration makes a claim that must be shown.
func MustShow(p ralph.Policy, h History) bool {
	return showsWork(p) && len(ClaimedWork(p, h)) > 0
}

// NeedsEvidence reports whether more than passing checks must show one of the claims.
func NeedsEvidence(p ralph.Policy, h History) bool {
	return slices.ContainsFunc(ClaimedWork(p, h), func(id string) bool { return !unbrokenSuffices(p, h, id) })
}

// unbrokenSuffices reports whether passing checks are enough for a claim. Where nothing changed, nothing was done.
func unbrokenSuffices(p ralph.Policy, h History, id string) bool {
	return proofOf(p, h, id) == ralph.ProofUnbroken && !h.unchanged()
}

func (h History) unchanged() bool { return h.Now.Work != nil && h.Now.Work.Unchanged }

func showsWork(p ralph.Policy) bool { return p.Shown != "" && p.Shown != ralph.ShownOff }

// proofOf returns what a claim must prove: a task's own rule comes first.
func proofOf(p ralph.Policy, h History, id string) ralph.ProofRule {
	t, _ := FindTask(h.Tasks, id)
	return cmp.Or(t.Proof, p.Proof, ralph.ProofShown)
}

// NeedsNewTest reports whether the next claim for the goal or a task can only be shown by a new test, because
// no check that failed before is left.
func NeedsNewTest(p ralph.Policy, h History, id string) bool {
	asks := p.Shown == ralph.ShownAsk || p.Shown == ralph.ShownRefuse
	if !asks || p.Evaluator != "" || proofOf(p, h, id) == ralph.ProofUnbroken || len(h.Baseline) == 0 {
		return false
	}
	return !slices.ContainsFunc(h.Baseline, func(b ralph.CheckResult) bool {
		ours := b.Task == id || b.Task == "" && !slices.Contains(h.SpentChecks, b.Name)
		return b.FailedInTime() && ours && !PassedAtOrigin(h, b)
	})
}

// UnknownAtBase lists the passing checks of which it is not known whether they failed at the run's base.
// A task's own check first ran when the task was selected; work on an earlier task may have satisfied it by then, or
// may have broken it. One that was killed has no result.
func UnknownAtBase(p ralph.Policy, h History) []ralph.CheckResult {
	claimed := ClaimedWork(p, h)
	return slices.DeleteFunc(slices.Clone(h.Now.Checks), func(c ralph.CheckResult) bool {
		if !c.Passed || c.Task != "" && !slices.Contains(claimed, c.Task) {
			return true
		}
		return slices.ContainsFunc(h.Baseline, func(b ralph.CheckResult) bool {
			return b.Name == c.Name && b.Task == c.Task && !b.Killed && (!b.Passed && b.Task == "" || b.Tree == h.Base.ID())
		})
	})
}

// Unshown lists the claims that nothing shows so far, assuming that nothing else refuses them.
func Unshown(p ralph.Policy, h History) []string {
	var left []string
	var given allotment
	for _, id := range currentFirst(ClaimedWork(p, h), h.Now.Task) {
		if unbrokenSuffices(p, h, id) {
			continue
		}
		if _, ok := given.show(h, id); !ok {
			left = append(left, id)
		}
	}
	return left
}

// unshownTasks lists the done tasks whose work nothing shows, because the policy only warns.
func unshownTasks(h History, v ralph.TaskVerdict) []string {
	var ids []string
	for _, t := range h.Tasks {
		unshown := t.Status == ralph.TaskDone && t.Proven == ralph.ProvenNone
		for _, by := range v.Shown {
			if by.Task == t.ID {
				unshown = by.By == ralph.ShownByNothing
			}
		}
		if unshown {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

func currentFirst(ids []string, current string) []string {
	ids = slices.Clone(ids)
	slices.SortStableFunc(ids, func(a, b string) int { return -compareBools(a == current, b == current) })
	return ids
}

// ranNoTests reports whether a check is a test runner that ran no test. Its success says nothing.
func (h History) ranNoTests(c ralph.CheckResult) bool {
	return h.Now.Work != nil && slices.ContainsFunc(h.Now.Work.Counts, func(n ralph.TestCount) bool {
		return n.Name == c.Name && n.Task == c.Task && n.Tests == 0
	})
}

// checkName returns what an agent may learn of a check's name.
func checkName(c ralph.CheckResult) string {
	if c.Hidden {
		return HiddenCheckName
	}
	return c.Name
}

// judgeShown decides whether a claim for the goal or a task is shown. The code is "" if it is, or if the
// policy does not ask.
func judgeShown(p ralph.Policy, h History, id string, given *allotment) (by ralph.Showing, code, detail string) {
	if p.Shown == "" { // a log of an earlier version
		return by, "", "gate.shown is off"
	}
	if p.Shown == ralph.ShownOff { // nothing is refused, but the result says what shows the work
		p.Shown = ralph.ShownRefuse
		if by, code, _ = judgeShown(p, h, id, given); code != "" {
			by = ralph.Showing{Task: id, By: ralph.ShownByNothing}
		}
		return by, "", "gate.shown is off"
	}
	if unbrokenSuffices(p, h, id) {
		return ralph.Showing{Task: id, By: ralph.ShownUnbroken}, "", "proof: unbroken asks for no more than passing checks"
	}
	by, ok := given.show(h, id)
	switch {
	case ok && !(h.unchanged() && (by.By == ralph.ShownByEvaluator || by.By == ralph.ShownByTests)):
		return by, "", DescribeShowing(by)
	case h.unchanged():
		return ralph.Showing{}, ralph.RefusedNoChange, "no file changed" + since(h)
	case p.Shown == shownByEvaluator, p.Evaluator != "": // its own gate refuses
		return ralph.Showing{}, "", "the evaluator decides"
	case provenByTools(p, h):
		by = ralph.Showing{Task: id, By: ralph.ShownByTools, Check: weighTools(p, h.Now).Last.Verifier}
		return by, "", DescribeShowing(by)
	case len(h.Now.Checks) == 0 && p.AllowUnverified:
		return ralph.Showing{Task: id, By: ralph.ShownByNothing}, "", "no check ran; --allow-unverified lets it pass"
	}
	return ralph.Showing{}, ralph.RefusedNotShown, whyNotShown(h, id)
}

func since(h History) string {
	if h.Now.Work.Restored {
		return " if compared with the state " + beforeOrigin(h)
	}
	if h.LastProvenTree != "" {
		return " since the last task was proven"
	}
	return " in this run"
}

// whyNotShown says what is missing for the goal or a task.
func whyNotShown(h History, id string) string {
	idle := slices.DeleteFunc(slices.Clone(h.Now.Checks), func(c ralph.CheckResult) bool { return !h.ranNoTests(c) })
	if len(idle) > 0 {
		return checkName(idle[0]) + " ran no test, so it shows nothing"
	}
	if work := h.Now.Work; work != nil && len(work.NewTests)+len(work.Tests) > 0 {
		return whyTestsShowNothing(h, *work)
	}
	for _, owner := range []string{id, ""} {
		for _, c := range h.Now.Checks {
			if why := whyCheckShowsNothing(h, c); c.Task == owner && why != "" {
				return checkName(c) + why + ", and no test was added that fails without this work"
			}
		}
	}
	return "the checks passed before this work, too, and no test was added that fails without it"
}

// whyCheckShowsNothing says why a check that did not pass before does not show a claim. It returns "" if it passed.
func whyCheckShowsNothing(h History, c ralph.CheckResult) string {
	before, _ := findCheck(h.Baseline, c.Name, c.Task)
	base, ranAtBase := atRunBase(h, c)
	switch {
	case !c.Passed:
	case failsAtRunBase(h, c) && !failsAtOrigin(h, c):
		return whyOriginShowsNothing(h, c)
	case failsAtRunBase(h, c):
		return " failed before and passes now, but that already shows another task"
	case before.FailedInTime() && ranAtBase && base.Passed:
		return " passed at the start of the run, too"
	case before.TimedOut || base.TimedOut:
		return " was stopped by its time limit before, which is no failure"
	case before.Killed || base.Killed:
		return " was killed before, which is no failure"
	}
	return ""
}

// whyTestsShowNothing says why the new tests, or those of the task, do not show a claim.
func whyTestsShowNothing(h History, work ralph.WorkSeen) string {
	switch {
	case slices.ContainsFunc(work.NewTests, ralph.NewTestsRun.ShowWork):
		return "the new tests that fail without the work already show another task"
	case len(work.Tests) == 0:
		return "the tests of the task also pass without your change"
	case slices.ContainsFunc(work.NewTests, func(run ralph.NewTestsRun) bool { return run.PassedEarlier }):
		return "the new tests also pass with the other files as they were " + beforeOrigin(h) + ": " + text.List(work.Tests)
	case len(work.NewTests) > 0:
		return "the new tests also pass without your change: " + text.List(work.Tests)
	}
	return "the checks passed before, and the changed tests could not be run without your change: " +
		text.List(work.Tests)
}

// FindShowing returns why a task counts as shown, or the goal (""). It reports false if that is not recorded.
func FindShowing(shown []ralph.Showing, id string) (ralph.Showing, bool) {
	i := slices.IndexFunc(shown, func(by ralph.Showing) bool { return by.Task == id })
	if i < 0 {
		return ralph.Showing{}, false
	}
	return shown[i], true
}

// DescribeShowing says in words why a claim counts as shown.
func DescribeShowing(by ralph.Showing) string {
	switch by.By {
	case ralph.ShownByRunCheck, ralph.ShownByTaskCheck:
		return by.Check + " failed before and passes now"
	case ralph.ShownByTests:
		if len(by.Tests) > 0 {
			return fmt.Sprintf("new tests fail without the work and pass with it: %s", text.List(by.Tests))
		}
		return by.Check + " fails with the new tests and without the work, and passes now"
	case ralph.ShownByEvaluator:
		return by.Who + " accepted it"
	case ralph.ShownByPerson:
		if by.Why != "" {
			return fmt.Sprintf("%s accepted it: %s", by.Who, by.Why)
		}
		return by.Who + " accepted it"
	case ralph.ShownByTools:
		return "the agent called " + by.Check + " itself, which reports success"
	case ralph.ShownUnbroken:
		return "the checks pass before and after, which proof: unbroken calls enough"
	}
	return "nothing shows it"
}

// doubts are refusals that leave open what the checks show.
var doubts = []string{
	ralph.RefusedCheckInert, ralph.RefusedTestsMissing, ralph.RefusedEnvironment, ralph.RefusedTestsChanged,
	ralph.RefusedTestAware, ralph.RefusedDependencies,
}

// GoalShownBy says what shows the goal, even if another gate refuses the claim. It returns "" if nothing does, or if
// the checks are in doubt.
func GoalShownBy(h History, v ralph.Verdict) string {
	if slices.ContainsFunc(v.Gates, func(g ralph.Gate) bool { return slices.Contains(doubts, g.Refusal) }) {
		return ""
	}
	for _, gate := range v.Gates {
		if gate.Name == shownGate && gate.State == ralph.GateOpen && len(h.Tasks) == 0 && v.Claimed {
			return gate.Detail
		}
	}
	return ""
}

// askShown refuses a claim for the goal that nothing shows. Tasks are shown one by one.
func askShown(p ralph.Policy, h History) ralph.Gate {
	if showsWork(p) && len(h.Tasks) > 0 {
		return openGate("each task was shown when it was done")
	}
	by, code, detail := judgeShown(p, h, "", &allotment{})
	isShown := by.By != "" && by.By != ralph.ShownByNothing && by.By != ralph.ShownByTools
	switch {
	case !showsWork(p), code == "" && !isShown:
		return noteGate(detail)
	case code == "":
		return openGate(detail)
	case p.Shown == ralph.ShownWarn:
		return ralph.Gate{State: ralph.GateWarned, Detail: "nothing shows the work: " + detail}
	}
	return shutGate(code, "%s", detail)
}

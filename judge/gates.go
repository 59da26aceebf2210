package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

// GateKind is one row of the gate table.
type GateKind struct {
	Name     string
	Refusals []string
	ask      func(ralph.Policy, History) ralph.Gate
	isAsked  func(ralph.Policy) bool // nil: always
}

// GateKinds lists the gates in the order they are asked.
func GateKinds() []GateKind {
	return []GateKind{
		{"the agent ended well", []string{ralph.RefusedAgentFailed}, askEndedWell, nil},
		{"it does not contradict itself", []string{ralph.RefusedContradiction}, askContradiction, nil},
		{"no task is open", []string{ralph.RefusedTasksOpen}, askTasks, nil},
		{"checks pass", []string{ralph.RefusedCheckFailed, ralph.RefusedCheckBroken}, askChecks, nil},
		{"a check can still fail", []string{
			ralph.RefusedCheckInert, ralph.RefusedEnvironment, ralph.RefusedTestsMissing, ralph.RefusedTestsChanged,
		}, askCanaries, nil},
		{
			"nothing protected was changed",
			[]string{
				ralph.RefusedTampered, ralph.RefusedEnvironment, ralph.RefusedTestsChanged, ralph.RefusedTestAware,
				ralph.RefusedDependencies,
			},
			askTampered, nil,
		},
		{"evidence is fresh", []string{ralph.RefusedStale}, askFresh, nil},
		{"a verifier tool passed", []string{ralph.RefusedMissing, ralph.RefusedFailed, ralph.RefusedStale},
			askTools, hasVerifierTools},
		{"nothing visibly unfinished", []string{ralph.RefusedUnfinished}, askUnfinished, nil},
		{"the work is committed", []string{ralph.RefusedUncommitted}, askCommitted, hasCommittedRule},
		{"the evaluator accepts", []string{ralph.RefusedEvaluator}, askEvaluator, nil},
		{"the status gate", []string{ralph.RefusedStatusGate}, askStatus, nil},
		{"something proves it", []string{ralph.RefusedNoEvidence}, askEvidence, nil},
		{shownGate, []string{ralph.RefusedNotShown, ralph.RefusedNoChange}, askShown, nil},
	}
}

// shownGate is the name of the gate that asks what shows the work.
const shownGate = "the work is shown"

// askGates asks every gate, even after one refused, so that the agent learns everything that is
// missing at once.
func askGates(p ralph.Policy, h History) []ralph.Gate {
	gates := make([]ralph.Gate, 0, len(GateKinds()))
	for _, kind := range GateKinds() {
		if kind.isAsked != nil && !kind.isAsked(p) {
			continue
		}
		gate := kind.ask(p, h)
		gate.Name = kind.Name
		gates = append(gates, gate)
	}
	return skipIfShut(gates, h)
}

func openGate(detail string) ralph.Gate { return ralph.Gate{State: ralph.GateOpen, Detail: detail} }

func shutGate(refusal, format string, args ...any) ralph.Gate {
	return ralph.Gate{State: ralph.GateShut, Refusal: refusal, Detail: fmt.Sprintf(format, args...)}
}

func noteGate(detail string) ralph.Gate { return ralph.Gate{State: ralph.GateNoted, Detail: detail} }

// claimsCompletion reports whether the agent claims that everything is done. A claim in the status
// block counts only if the policy reads the block.
func claimsCompletion(p ralph.Policy, h History) bool {
	said := h.Now.Agent.Said
	if said.Untestable != nil && len(h.Tasks) == 0 {
		return true
	}
	byBlock := said.Complete && said.CompleteTag == ""
	return said.Complete && (!byBlock || p.Status != ralph.StatusOff)
}

func askEndedWell(_ ralph.Policy, h History) ralph.Gate {
	agent := h.Now.Agent
	if !agent.End.Failed() {
		return openGate("")
	}
	if agent.Error == "" {
		return shutGate(ralph.RefusedAgentFailed, "the agent ended with %s", agent.End)
	}
	return shutGate(ralph.RefusedAgentFailed, "%s", agent.Error)
}

func askContradiction(p ralph.Policy, h History) ralph.Gate {
	said := h.Now.Agent.Said
	// Otherwise the list was done task by task, and the block may describe only this task.
	wholly := claimsCompletion(p, h) || p.Claim == ralph.ClaimOptional
	if field := contradictingField(said.Status); field != "" && p.Status != ralph.StatusOff && wholly {
		return shutGate(ralph.RefusedContradiction, "the agent claims completion, but reports %s", field)
	}
	if len(h.Now.Checks) == 0 && said.Blocked != nil {
		return shutGate(ralph.RefusedContradiction,
			"the agent claims completion and BLOCKED, and no check can tell which is true")
	}
	if len(h.Now.Checks) == 0 && said.Decide != nil {
		return shutGate(ralph.RefusedContradiction,
			"the agent claims completion and DECIDE, and no check can tell which is true")
	}
	return openGate("")
}

// contradictingField returns the field of a status block that contradicts a claim beside it, or "".
func contradictingField(s *promise.Status) string {
	switch {
	case s == nil:
	case s.State == "BLOCKED" || s.State == "IN_PROGRESS":
		return "STATUS: " + s.State
	case !s.ExitSignal:
		return "EXIT_SIGNAL: false"
	case s.Tests == "FAILING":
		return "TESTS_STATUS: FAILING"
	}
	return ""
}

func askTasks(_ ralph.Policy, h History) ralph.Gate {
	left, plan := OpenTasks(h.Tasks), h.Now.Plan
	switch {
	case len(left) > 0:
		return shutGate(ralph.RefusedTasksOpen, "%s not done: %s", text.Count(len(left), "task"), firstNames(left, ", "))
	case plan != nil && plan.Problem != "":
		return shutGate(ralph.RefusedTasksOpen, "%s cannot be read: %s", plan.File, plan.Problem)
	case plan != nil && len(plan.Open) > 0:
		return shutGate(ralph.RefusedTasksOpen, "%s has %s: %s",
			plan.File, text.Count(len(plan.Open), "open item"), firstNames(plan.Open, "; "))
	case len(h.Tasks) > 0:
		return openGate("every required task is done")
	case plan != nil && plan.Missing:
		return noteGate("no task list, and there is no file " + plan.File)
	case plan != nil:
		return openGate(plan.File + " has no open item")
	}
	return noteGate("no task list")
}

func firstNames(names []string, separator string) string {
	const shown = 5
	text := strings.Join(names[:min(shown, len(names))], separator)
	if len(names) > shown {
		text += separator + "…"
	}
	return text
}

// countedChecks leaves out the own checks of tasks that are not done and do not have to be. An
// optional task whose claim was refused blocks nothing and proves nothing.
func countedChecks(h History) []ralph.CheckResult {
	return slices.DeleteFunc(slices.Clone(h.Now.Checks), func(c ralph.CheckResult) bool {
		t, _ := FindTask(h.Tasks, c.Task)
		return c.Task != "" && t.Status != ralph.TaskDone && !t.Open()
	})
}

func askChecks(p ralph.Policy, h History) ralph.Gate {
	checks := countedChecks(h)
	if len(checks) == 0 {
		return noteGate("no check ran")
	}
	var failed, broken []string
	for _, c := range checks {
		switch {
		case c.Hidden && c.Broken && p.Rules > 0: // the agent must learn nothing else about it
			broken = appendOnce(broken, HiddenCheckName)
		case c.Hidden && !c.Passed:
			failed = appendOnce(failed, HiddenCheckName)
		case c.Broken:
			broken = append(broken, c.Name)
		case !c.Passed:
			failed = append(failed, c.Name+" ("+c.HowFailed()+")")
		}
	}
	if len(failed) > 0 {
		return shutGate(ralph.RefusedCheckFailed, "%s failed%s", strings.Join(failed, ", "), whyNotInTree(checks))
	}
	if len(broken) > 0 {
		return shutGate(ralph.RefusedCheckBroken, "%s cannot run", strings.Join(broken, ", "))
	}
	return openGate(fmt.Sprintf("%d of %d pass on this tree", len(checks), len(checks)))
}

func appendOnce(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

func askUnfinished(p ralph.Policy, h History) ralph.Gate {
	if p.Unfinished == ralph.UnfinishedOff {
		return noteGate("gate.unfinished is off")
	}
	if !h.Now.Tree.Known || !h.Base.Known {
		return noteGate("added lines are unknown without git")
	}
	var added []string
	for _, line := range h.Now.Tree.Unfinished {
		if !slices.Contains(h.Base.Unfinished, line) {
			added = append(added, line)
		}
	}
	if len(added) == 0 {
		return openGate("")
	}
	const shown = 5
	text := strings.Join(added[:min(shown, len(added))], "; ")
	if p.Unfinished == ralph.UnfinishedWarn {
		return ralph.Gate{State: ralph.GateWarned, Detail: "added lines look unfinished: " + text}
	}
	return shutGate(ralph.RefusedUnfinished, "added lines look unfinished: %s", text)
}

func hasCommittedRule(p ralph.Policy) bool {
	return p.Committed == ralph.CommittedWarn || p.Committed == ralph.CommittedRequire
}

// askCommitted asks whether an agent that commits by itself has committed its work. What was
// uncommitted before the run is the user's.
func askCommitted(p ralph.Policy, h History) ralph.Gate {
	now := h.Now.Tree
	if now.Head == "" && h.First.Head == "" {
		return noteGate("there are no commits without git")
	}
	left, _ := Uncommitted(h.First, now)
	detail := text.CountAre(left, "changed file") + " not committed"
	switch {
	case now.Head == "":
		detail = "the repository's HEAD has no commit any more"
	case left == 0:
		return openGate("")
	}
	if p.Committed == ralph.CommittedWarn {
		return ralph.Gate{State: ralph.GateWarned, Detail: detail}
	}
	return shutGate(ralph.RefusedUncommitted, "%s; commit the work, then claim again", detail)
}

// Uncommitted counts the files that differ from HEAD and were not the same before the run. It names them unless
// there are too many.
func Uncommitted(first, now ralph.TreeState) (count int, names []string) {
	if max(first.Dirty, now.Dirty) > ralph.MaxUncommitted {
		return max(0, now.Dirty-first.Dirty), nil
	}
	for _, file := range now.Uncommitted {
		if !slices.Contains(first.Uncommitted, file) {
			_, name, _ := strings.Cut(file, " ")
			names = append(names, name)
		}
	}
	return len(names), names
}

func askStatus(p ralph.Policy, h History) ralph.Gate {
	if p.Status != ralph.StatusRequired {
		return noteGate("gate.status is " + string(p.Status))
	}
	if len(h.Now.Cases) > 0 {
		return noteGate("a case was submitted in place of a status block")
	}
	status := h.Now.Agent.Said.Status
	if status == nil {
		return shutGate(ralph.RefusedStatusGate, "no valid status block in this iteration")
	}
	if !status.ExitSignal {
		return shutGate(ralph.RefusedStatusGate, "EXIT_SIGNAL is not true")
	}
	phrases := 0
	for _, n := range h.Phrases {
		phrases += n
	}
	if phrases < p.StatusMin {
		return shutGate(ralph.RefusedStatusGate,
			"EXIT_SIGNAL is true, but only %d of %d completion phrases appear in the last five iterations%s",
			phrases, p.StatusMin, phraseNames(p))
	}
	return openGate(fmt.Sprintf("EXIT_SIGNAL is true and %d completion phrases agree", phrases))
}

// phraseNames names the phrases that the status gate counts, or the most common ones. Each is quoted,
// so that an agent that repeats the list says none of them. Old logs have no list.
func phraseNames(p ralph.Policy) string {
	if len(p.StatusPhrases) == 0 {
		return ""
	}
	const shown = 4
	names := text.Mapped(p.StatusPhrases[:min(shown, len(p.StatusPhrases))], strconv.Quote)
	if len(p.StatusPhrases) > shown {
		names = append(names, "…")
	}
	return "; such a phrase, if it is true, is " + strings.Join(names, ", ") + ", in the text or in RECOMMENDATION"
}

func askEvidence(p ralph.Policy, h History) ralph.Gate {
	if len(countedChecks(h)) > 0 {
		return openGate("a check ran")
	}
	if h.Now.acceptedBy() != "" {
		return openGate("the evaluator accepted it")
	}
	if hasVerifierTools(p) {
		return noteGate("no check ran; the verifier tools decide")
	}
	if p.Evaluator != "" && p.Rules > 0 && len(h.Tasks) == 0 && h.Now.Work != nil && h.Now.Work.Unchanged {
		return noteGate("no check ran, and the evaluator is not asked about a claim without changes")
	}
	if p.AllowUnverified {
		return noteGate("no check ran; --allow-unverified lets it pass, unverified")
	}
	return shutGate(ralph.RefusedNoEvidence, "no check ran, so nothing proves it")
}

package ralph

import (
	"fmt"
	"slices"
	"strings"
)

// GateState says whether a gate let a claim through.
type GateState string

// A gate is open, open with a warning, shut, or was not asked because its evidence does not exist in this run.
const (
	GateOpen   GateState = "open"
	GateWarned GateState = "warned"
	GateShut   GateState = "shut"
	GateNoted  GateState = "noted"
)

// Gate is one condition between a claim and exit 0, as it stood when it was asked.
type Gate struct {
	Name    string    `json:"gate"`
	State   GateState `json:"state"`
	Refusal string    `json:"refusal,omitempty"`
	Detail  string    `json:"detail,omitempty"`
}

// Refusal is a shut gate as the next prompt and the result name it.
type Refusal struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// The stable codes of refusals.
const (
	RefusedAgentFailed   = "agent_failed"
	RefusedContradiction = "contradiction"
	RefusedTasksOpen     = "tasks_open"
	RefusedCheckFailed   = "check_failed"
	RefusedCheckBroken   = "check_broken"
	RefusedCheckInert    = "check_inert"
	RefusedTestsMissing  = "tests_missing"
	RefusedTampered      = "tampered"
	RefusedTestsChanged  = "tests_changed"
	RefusedTestAware     = "test_aware"
	RefusedStale         = "stale_evidence"
	RefusedUnfinished    = "unfinished"
	RefusedEvaluator     = "evaluator_rejected"
	RefusedStatusGate    = "status_gate"
	RefusedNoEvidence    = "no_evidence"
)

// GateKind is one row of the gate table.
type GateKind struct {
	Name     string
	Refusals []string
	ask      func(Policy, History) Gate
}

// GateKinds lists the gates in the order they are asked.
func GateKinds() []GateKind {
	return []GateKind{
		{"the agent ended well", []string{RefusedAgentFailed}, askEndedWell},
		{"it does not contradict itself", []string{RefusedContradiction}, askContradiction},
		{"no task is open", []string{RefusedTasksOpen}, askTasks},
		{"checks pass", []string{RefusedCheckFailed, RefusedCheckBroken}, askChecks},
		{"a check can still fail", []string{RefusedCheckInert, RefusedTestsMissing}, askCanaries},
		{"nothing protected was changed", []string{RefusedTampered, RefusedTestsChanged, RefusedTestAware}, askTampered},
		{"evidence is fresh", []string{RefusedStale}, askFresh},
		{"nothing visibly unfinished", []string{RefusedUnfinished}, askUnfinished},
		{"the evaluator accepts", []string{RefusedEvaluator}, askEvaluator},
		{"the status gate", []string{RefusedStatusGate}, askStatus},
		{"something proves it", []string{RefusedNoEvidence}, askEvidence},
	}
}

// askGates asks every gate, also after one was shut: the agent is told everything that is missing at once.
func askGates(p Policy, h History) []Gate {
	gates := make([]Gate, 0, 11)
	for _, kind := range GateKinds() {
		gate := kind.ask(p, h)
		gate.Name = kind.Name
		gates = append(gates, gate)
	}
	return evaluatorLast(gates)
}

func refusalsOf(gates []Gate) []Refusal {
	var refusals []Refusal
	for _, g := range gates {
		if g.State == GateShut {
			refusals = append(refusals, Refusal{g.Refusal, g.Detail})
		}
	}
	return refusals
}

func open(detail string) Gate { return Gate{State: GateOpen, Detail: detail} }

func shut(refusal, format string, args ...any) Gate {
	return Gate{State: GateShut, Refusal: refusal, Detail: fmt.Sprintf(format, args...)}
}

func noted(detail string) Gate { return Gate{State: GateNoted, Detail: detail} }

func askEndedWell(_ Policy, h History) Gate {
	agent := h.Now.Agent
	if !agent.End.Failed() {
		return open("")
	}
	if agent.Error == "" {
		return shut(RefusedAgentFailed, "the agent ended with %s", agent.End)
	}
	return shut(RefusedAgentFailed, "%s", agent.Error)
}

func askContradiction(p Policy, h History) Gate {
	said := h.Now.Agent.Said
	wholly := claims(p, h) || p.Claim == ClaimOptional // otherwise the list is done, task by task, and a block may speak of this one alone
	if s := said.Status; s != nil && p.Status != StatusOff && wholly {
		switch {
		case s.State == "BLOCKED" || s.State == "IN_PROGRESS":
			return shut(RefusedContradiction, "the claim stands beside STATUS: %s", s.State)
		case !s.ExitSignal:
			return shut(RefusedContradiction, "the claim stands beside EXIT_SIGNAL: false")
		case s.Tests == "FAILING":
			return shut(RefusedContradiction, "the claim stands beside TESTS_STATUS: FAILING")
		}
	}
	if len(h.Now.Checks) == 0 && said.Blocked != nil {
		return shut(RefusedContradiction, "the claim stands beside BLOCKED, and no check can tell which is true")
	}
	if len(h.Now.Checks) == 0 && said.Decide != nil {
		return shut(RefusedContradiction, "the claim stands beside DECIDE, and no check can tell which is true")
	}
	return open("")
}

// countingChecks leaves out the own checks of tasks that neither are done nor have to be: an optional one that was claimed in vain keeps nothing
// open, and proves nothing.
func countingChecks(h History) []CheckResult {
	return slices.DeleteFunc(slices.Clone(h.Now.Checks), func(c CheckResult) bool {
		t, _ := findTask(h.Tasks, c.Task)
		return c.Task != "" && t.Status != TaskDone && !t.Open()
	})
}

func askChecks(_ Policy, h History) Gate {
	checks := countingChecks(h)
	if len(checks) == 0 {
		return noted("no check ran")
	}
	var failed, broken []string
	for _, c := range checks {
		switch {
		case c.Hidden && !c.Passed: // nothing else about it is the agent's business
			if !slices.Contains(failed, hiddenFailed) {
				failed = append(failed, hiddenFailed)
			}
		case c.Broken:
			broken = append(broken, c.Name)
		case !c.Passed:
			failed = append(failed, c.Name+" ("+howFailed(c)+")")
		}
	}
	if len(failed) > 0 {
		return shut(RefusedCheckFailed, "%s failed", strings.Join(failed, ", "))
	}
	if len(broken) > 0 {
		return shut(RefusedCheckBroken, "%s cannot run", strings.Join(broken, ", "))
	}
	return open(fmt.Sprintf("%d of %d green on this tree", len(checks), len(checks)))
}

func howFailed(c CheckResult) string {
	if c.TimedOut {
		return "timed out"
	}
	return fmt.Sprintf("exit %d", c.ExitCode)
}

func askUnfinished(p Policy, h History) Gate {
	if p.Unfinished == UnfinishedOff {
		return noted("gate.unfinished is off")
	}
	if !h.Now.Tree.Known || !h.Base.Known {
		return noted("added lines are not known without git")
	}
	var added []string
	for _, line := range h.Now.Tree.Unfinished {
		if !slices.Contains(h.Base.Unfinished, line) {
			added = append(added, line)
		}
	}
	if len(added) == 0 {
		return open("")
	}
	const shown = 5
	text := strings.Join(added[:min(shown, len(added))], "; ")
	if p.Unfinished == UnfinishedWarn {
		return Gate{State: GateWarned, Detail: "added lines look unfinished: " + text}
	}
	return shut(RefusedUnfinished, "added lines look unfinished: %s", text)
}

func askStatus(p Policy, h History) Gate {
	if p.Status != StatusRequired {
		return noted("gate.status is " + string(p.Status))
	}
	if len(h.Now.Cases) > 0 {
		return noted("a case was submitted in place of a status block")
	}
	status := h.Now.Agent.Said.Status
	if status == nil {
		return shut(RefusedStatusGate, "no valid status block in this iteration")
	}
	if !status.ExitSignal {
		return shut(RefusedStatusGate, "EXIT_SIGNAL is not true")
	}
	phrases := 0
	for _, n := range h.Phrases {
		phrases += n
	}
	if phrases < p.StatusMin {
		return shut(RefusedStatusGate, "EXIT_SIGNAL is true, but only %d of %d completion phrases stand in the last five iterations", phrases, p.StatusMin)
	}
	return open(fmt.Sprintf("EXIT_SIGNAL is true and %d completion phrases agree", phrases))
}

func askEvidence(p Policy, h History) Gate {
	if len(countingChecks(h)) > 0 {
		return open("a check ran")
	}
	if h.Now.acceptedBy() != "" {
		return open("the evaluator accepted it")
	}
	if p.AllowUnverified {
		return noted("no check ran; --allow-unverified lets it pass, unverified")
	}
	return shut(RefusedNoEvidence, "no check ran, so nothing proves it")
}

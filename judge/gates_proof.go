package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// askCanaries refuses if the table of a passing check does not hold: the check cannot fail, its environment was
// changed, or tests of the base no longer run or need added files.
func askCanaries(p ralph.Policy, h History) ralph.Gate {
	found := map[string][]string{} // why checks prove nothing, by code
	var mute, quick []string
	asked := false
	for _, c := range countedChecks(h) {
		if c.Proof == nil {
			continue
		}
		asked = true
		if code, why := proofRefusal(p, *c.Proof); code != "" {
			found[code] = append(found[code], c.Name+": "+why)
			continue
		}
		if c.Proof.Canary == ralph.CanaryNone || c.Proof.Canary == ralph.CanaryMute {
			mute = append(mute, c.Name+": "+cmp.Or(c.Proof.Detail, "no failing test could be planted"))
		}
		if c.Proof.Quick {
			quick = append(quick, c.Name)
		}
	}
	for _, code := range []string{
		ralph.RefusedCheckInert, ralph.RefusedEnvironment, ralph.RefusedTestsMissing, ralph.RefusedTestsChanged,
	} {
		switch detail := strings.Join(found[code], "; "); {
		case detail == "":
		case code == ralph.RefusedTestsChanged:
			return testsGate(p, code, detail)
		default:
			return shutGate(code, "%s", detail)
		}
	}
	if !asked {
		return noteGate(whyNoTable(p, h))
	}
	switch {
	case len(mute) > 0:
		return noteGate("unknown whether a check can fail: " + strings.Join(mute, "; "))
	case len(quick) > 0:
		return openGate("a deliberately failing test made every check fail, and no test of the base is missing; quick: " +
			"the environment was not compared, and no literals were changed")
	}
	return openGate("a deliberately failing test made every check fail, and no test of the base is missing")
}

// whyNoTable says why no check was proven.
func whyNoTable(p ralph.Policy, h History) string {
	switch {
	case !p.Canary:
		return "checks.canary is off"
	case slices.ContainsFunc(h.Now.Checks, failsUnder(p)):
		return "not tried, because a check failed"
	case slices.ContainsFunc(h.Now.Checks, cannotRun):
		return "not tried, because a check cannot run"
	}
	return "not tried in this iteration"
}

// proofRefusal returns why a check proves nothing. The code is "" if it proves something.
func proofRefusal(p ralph.Policy, proof ralph.Proof) (code, why string) {
	switch {
	case proof.Canary == ralph.CanaryGreen:
		return ralph.RefusedCheckInert, proof.Detail
	case len(proof.Environment) > 0:
		return ralph.RefusedEnvironment, describeEnvironment(proof.Environment)
	case proof.Lost > 0:
		return ralph.RefusedTestsMissing, describeLostTests(p, proof)
	case len(proof.Needs) > 0:
		return ralph.RefusedTestsChanged, "tests of the base fail without added test files: " + text.List(proof.Needs)
	}
	return "", ""
}

func describeEnvironment(different []string) string {
	return "on the files of the base, something outside of them changed since the run began: " + text.List(different) +
		"; undo what changed outside of the tree (programs, libraries, settings); if the goal is outside of the tree, " +
		"start a run with --proof quick"
}

// DescribeProof says why a check proves nothing.
func DescribeProof(p ralph.Policy, proof ralph.Proof) string {
	if _, why := proofRefusal(p, proof); why != "" {
		return why
	}
	return proof.Detail
}

func describeLostTests(p ralph.Policy, proof ralph.Proof) string {
	if len(proof.Missing) == 0 {
		return proof.Detail
	}
	hint := "; restore them"
	switch {
	case p.Rules == 0: // logs of earlier versions keep their words
		hint = " (if they were removed on purpose, start a new run: this tree is its base)"
	case p.TestChange == ralph.TestsAsk:
		hint = "; restore them, or claim again if the goal is to remove them: then a person decides"
	}
	return fmt.Sprintf("%s that ran at the base did not run: %s%s",
		text.Count(proof.Lost, "test"), text.List(proof.Missing), hint)
}

// NoBase says why nothing can be proven in a run that protects files without a snapshot of its base.
const NoBase = "there is no snapshot of the tree at the start of the run, so changes to protected files are unknown"

func askTampered(p ralph.Policy, h History) ralph.Gate {
	gate := askFiles(p, h)
	if gate.State == ralph.GateShut || len(h.Now.Dependencies) == 0 {
		return gate
	}
	return askDependencies(p, h.Now.Dependencies)
}

func askFiles(p ralph.Policy, h History) ralph.Gate {
	switch {
	case len(h.Now.Tampered) > 0:
		yours := ""
		if names := changedNames(h.Now.Tampered); p.Rules > 0 && len(names) > 0 { // earlier versions keep their words
			yours = "; if you changed them yourself, run: " + text.AcceptFiles(names)
		}
		return shutGate(ralph.RefusedTampered,
			"protected files were changed during the run: %s; restore them%s", text.List(h.Now.Tampered), yours)
	case len(p.Protects) > 0 && h.Base.Snapshot == "":
		return shutGate(ralph.RefusedTampered, "%s", NoBase+"; start a new run")
	case len(h.Now.Environment) > 0:
		return shutGate(ralph.RefusedEnvironment, "%s", describeOutside(h.Now.Environment))
	case len(h.Now.Undone) > 0:
		return testsGate(p, ralph.RefusedTestsChanged, describeUndone(h.Now.Undone))
	case h.Now.BaseTests != nil:
		return askTests(p, *h.Now.BaseTests)
	case len(p.Protects) == 0:
		return noteGate("nothing is protected in this run")
	case len(h.Now.Unseen) > 0:
		return openGate("checks ran without " + text.List(h.Now.Unseen) + ", which were added")
	}
	return openGate("")
}

// changedNames returns the names in a list of changed files. What is not a changed file has no name.
func changedNames(lines []string) []string {
	var names []string
	for _, line := range lines {
		for _, kind := range []ralph.ChangeKind{ralph.FileAdded, ralph.FileChanged, ralph.FileDeleted, ralph.FileLinked} {
			if name, ok := strings.CutSuffix(line, ralph.FileChange{Kind: kind}.String()); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// askTests judges changed tests and code that detects tests. Honest work may have both, so the policy
// decides whether they refuse the claim.
func askTests(p ralph.Policy, baseTests ralph.BaseTestsRun) ralph.Gate {
	code, detail := ralph.RefusedTestsChanged, "original tests fail, edited ones pass: "+text.List(baseTests.Files)
	switch {
	case baseTests.OldBroken() && p.Rules > 0:
		detail = "checks cannot run with the original tests, but pass with edited ones: " + text.List(baseTests.Files)
	case !baseTests.OldPassed:
	case len(baseTests.Aware) > 0:
		code = ralph.RefusedTestAware
		detail = "product code checks whether it is being tested: " + text.List(baseTests.Aware)
	default:
		return openGate("tests were changed, and the original ones pass as well: " + text.List(baseTests.Files))
	}
	return testsGate(p, code, detail)
}

// testsGate does with changed tests what the policy says.
func testsGate(p ralph.Policy, code, detail string) ralph.Gate {
	switch p.TestChange {
	case ralph.TestsRefuse, ralph.TestsAsk:
		return shutGate(code, "%s", detail)
	case ralph.TestsEvaluate:
		return noteGate(detail + "; the evaluator will see this")
	}
	return ralph.Gate{State: ralph.GateWarned, Detail: detail}
}

func askFresh(p ralph.Policy, h History) ralph.Gate {
	if h.Now.Stale && len(h.Now.Moved) > 0 {
		return shutGate(ralph.RefusedStale, "these files changed while checks ran, or since: %s; if you edit them, wait "+
			"until the checks have run; if a program writes them, end it or add them to .gitignore", text.List(h.Now.Moved))
	}
	if h.Now.Stale {
		return shutGate(ralph.RefusedStale,
			"files in the workspace changed while checks ran; if you edited them, wait until the checks have run")
	}
	if len(h.Now.Checks) == 0 && hasVerifierTools(p) {
		return noteGate("no check ran")
	}
	if h.Now.Accepted {
		return openGate("Ralph ran the checks itself, while the agent waited for them")
	}
	return openGate("Ralph ran the checks itself, after the agent had ended")
}

// notAsked is the evaluator gate's detail until askGates knows whether another gate refuses.
const notAsked = "it was not asked"

func askEvaluator(p ralph.Policy, h History) ralph.Gate {
	if p.Evaluator == "" {
		return noteGate("no evaluator is configured")
	}
	if len(h.Tasks) > 0 {
		return askTaskEvaluations(p, h)
	}
	e, ok := h.Now.evaluationOf("")
	if !ok {
		return shutGate(ralph.RefusedEvaluator, notAsked)
	}
	if code, detail := refusalOf(e); code != "" {
		return shutGate(code, "%s", detail)
	}
	return openGate(acceptanceOf(e))
}

// askTaskEvaluations checks this iteration's evaluations. Earlier tasks of the list were accepted when
// they were done.
func askTaskEvaluations(p ralph.Policy, h History) ralph.Gate {
	for _, e := range h.Now.Evaluations {
		latest, _ := h.Now.evaluationOf(e.Task)
		if code, detail := refusalOf(latest); code != "" {
			return shutGate(code, "%s: %s", e.Task, detail)
		}
	}
	if len(h.Now.Evaluations) == 0 && p.Rules > 0 {
		return noteGate("not asked in this iteration")
	}
	return openGate("each task was accepted when it was done")
}

// skipIfShut marks gates as noted that are asked last, if another gate refuses. The evaluator is asked, and
// what shows the work is looked for, only if every other gate passes, so that the missing answer is no
// reason to refuse.
func skipIfShut(gates []ralph.Gate, h History) []ralph.Gate {
	last := func(g ralph.Gate) bool {
		notShown := g.Refusal == ralph.RefusedNotShown || g.Refusal == ralph.RefusedNoChange ||
			g.Name == shownGate && g.State == ralph.GateWarned
		return g.Detail == notAsked || notShown && h.Now.Work == nil
	}
	if !slices.ContainsFunc(gates, func(g ralph.Gate) bool { return g.State == ralph.GateShut && !last(g) }) {
		return gates
	}
	for i, g := range gates {
		if last(g) {
			gates[i] = ralph.Gate{Name: g.Name, State: ralph.GateNoted, Detail: "not asked, because another gate refuses"}
		}
	}
	return gates
}

// refusalOf returns why an evaluation refuses a claim. The code is "" if it accepts.
func refusalOf(e ralph.Evaluation) (code, detail string) {
	switch {
	case e.End != ralph.EndOK:
		return ralph.RefusedEvaluator + ":unavailable", "the evaluator could not be asked: " + e.Error
	case e.Accepted:
		return "", ""
	}
	detail = e.Concern
	if e.Cached {
		detail = "nothing changed since the last rejection: " + detail
	}
	if e.NextStep != "" {
		detail += "; next: " + e.NextStep
	}
	return ralph.RefusedEvaluator + ":" + string(e.Category), detail
}

func acceptanceOf(e ralph.Evaluation) string {
	said := e.Agent + " accepted it"
	if e.Cached {
		said = e.Agent + " accepted this exact tree before"
	}
	if len(e.Evidence) == 0 {
		return said
	}
	return said + ", and points to " + text.List(e.Evidence)
}

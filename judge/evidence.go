package judge

import (
	"hash"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// ClaimsOf lists what the agent claimed, by tag, by block or in the task list.
func ClaimsOf(o Observation) []string {
	said := o.Agent.Said
	claims := []string{}
	switch {
	case said.CompleteTag != "":
		claims = append(claims, said.CompleteTag)
	case said.Complete:
		claims = append(claims, "COMPLETE")
	}
	if said.Blocked != nil {
		claims = append(claims, "BLOCKED")
	}
	if said.Decide != nil {
		claims = append(claims, "DECIDE")
	}
	for _, task := range slices.Concat(said.TasksDone, o.Listed) {
		if claim := task + ":DONE"; !slices.Contains(claims, claim) {
			claims = append(claims, claim)
		}
	}
	return claims
}

// AllPassed reports whether checks ran and all of them passed.
func AllPassed(checks []ralph.CheckResult) bool {
	for _, c := range checks {
		if !c.Passed {
			return false
		}
	}
	return len(checks) > 0
}

// CheckKey names a check among those of all tasks.
func CheckKey(c ralph.CheckResult) string { return c.Task + "\x00" + c.Name }

// CheckMarks is how each check last ended: the part of check results that progress is measured by. Output is left out, since it holds times and random
// names; so is which checks were run, since a claim is measured by more of them.
type CheckMarks map[string]bool

// With gives the marks after these results. Marks that a history was copied with are not changed.
func (m CheckMarks) With(checks []ralph.CheckResult) CheckMarks {
	same := true
	for _, c := range checks {
		before, known := m[CheckKey(c)]
		same = same && known && before == c.Passed
	}
	if same {
		return m
	}
	next := make(CheckMarks, len(m)+len(checks))
	maps.Copy(next, m)
	for _, c := range checks {
		next[CheckKey(c)] = c.Passed
	}
	return next
}

// ReplaceCheck keeps one result a check: the newest. That it flaked on this tree is not forgotten.
func ReplaceCheck(checks []ralph.CheckResult, result ralph.CheckResult) []ralph.CheckResult {
	for i, c := range checks {
		if c.Name == result.Name && c.Task == result.Task {
			if c.Flaked && c.Tree == result.Tree {
				result.Flaked, result.Attempts = true, c.Attempts+max(result.Attempts, 1)
			}
			checks = slices.Clone(checks)
			checks[i] = result
			return checks
		}
	}
	return append(checks, result)
}

// Attribute compares a result with its baseline; "" where there is none.
func Attribute(baseline []ralph.CheckResult, now ralph.CheckResult) ralph.Attribution {
	for _, before := range baseline {
		if before.Name != now.Name || before.Task != now.Task {
			continue
		}
		switch {
		case before.Passed && now.Passed:
			return ralph.CheckClean
		case before.Passed:
			return ralph.CheckRegressed
		case now.Passed:
			return ralph.CheckFixed
		}
		return ralph.CheckWasBroken
	}
	return ""
}

// ChecksFor are the checks by which a task is measured, "" being the goal: not those that are red for another claim.
func (h History) ChecksFor(id string) []ralph.CheckResult {
	return slices.DeleteFunc(slices.Clone(h.Now.Checks), func(c ralph.CheckResult) bool {
		t, _ := FindTask(h.Tasks, c.Task)
		return !c.Passed && c.Task != "" && c.Task != id && t.Status != ralph.TaskDone
	})
}

// NoteFlakes remembers on which tree a check was green, and which ones were red and green on the same.
func (h *History) NoteFlakes(c ralph.CheckResult) {
	key := CheckKey(c)
	if c.Flaked && !slices.Contains(h.Flaked, key) {
		h.Flaked = append(slices.Clip(h.Flaked), key)
	}
	if !c.Passed || c.Tree == "" || h.GreenOn[key] == c.Tree {
		return
	}
	next := maps.Clone(h.GreenOn)
	if next == nil {
		next = map[string]string{}
	}
	next[key] = c.Tree
	h.GreenOn = next
}

// PassedBefore reports whether a check was green on that very tree.
func (h History) PassedBefore(c ralph.CheckResult) bool {
	return c.Tree != "" && h.GreenOn[CheckKey(c)] == c.Tree
}

// HasFlaked reports whether a check was red and green on one tree in this run.
func (h History) HasFlaked(c ralph.CheckResult) bool { return slices.Contains(h.Flaked, CheckKey(c)) }

// FailedAtBase reports whether a check was seen red before any agent worked.
func (h History) FailedAtBase(name, task string) bool {
	return slices.ContainsFunc(h.Baseline, func(b ralph.CheckResult) bool { return b.Name == name && b.Task == task && !b.Passed })
}

// AccessOf is how a check has to be run, as its baseline showed.
func (h History) AccessOf(name, task string) ralph.Access {
	for _, before := range h.Baseline {
		if before.Name == name && before.Task == task {
			return before.NeedsAccess
		}
	}
	return ralph.AccessIsolated
}

// NeedsMoreAccess reports whether a check needed more than a view gives before any agent worked.
func (h History) NeedsMoreAccess() bool {
	return slices.ContainsFunc(h.Baseline, func(c ralph.CheckResult) bool { return c.NeedsAccess != ralph.AccessIsolated })
}

// CheckedInPlace reports whether baselines of this run were taken in the workspace itself.
func (h History) CheckedInPlace() bool {
	return slices.ContainsFunc(h.Baseline, func(c ralph.CheckResult) bool { return c.Isolation == ralph.IsolationInPlace })
}

// HiddenCheckName is all that an agent learns of a hidden check.
const HiddenCheckName = "a hidden check"

// evaluationOf is the newest verdict on a task in this iteration, "" being the goal.
func (o Observation) evaluationOf(task string) (ralph.Evaluation, bool) {
	for _, e := range slices.Backward(o.Evaluations) {
		if e.Task == task {
			return e, true
		}
	}
	return ralph.Evaluation{}, false
}

// acceptedBy is who accepted everything that was asked about in this iteration, "" if nobody did.
func (o Observation) acceptedBy() string {
	by := ""
	for _, e := range o.Evaluations {
		latest, _ := o.evaluationOf(e.Task)
		if !latest.Accepted {
			return ""
		}
		by = latest.Agent
	}
	return by
}

// ProvenBy tells checks that turned green in this run from those that already were.
func ProvenBy(h History) []string {
	if h.Now.Stale { // of other files than those that are there
		return nil
	}
	redBefore := map[string]bool{} // one that was not run before may have been green
	for _, c := range h.Baseline {
		redBefore[CheckKey(c)] = !c.Passed
	}
	checks := h.Now.Checks
	if h.Started == 0 { // nothing but the baseline was run
		checks, redBefore = h.Baseline, nil
	}
	var turned, unchanged []string
	for _, c := range checks {
		mute := c.Proof != nil && c.Proof.Canary == ralph.CanaryMute // tried, and nothing turned it red
		worthless := c.Proof != nil && (c.Proof.Canary == ralph.CanaryGreen || c.Proof.Lost > 0)
		switch {
		case !c.Passed || worthless:
		case redBefore[CheckKey(c)] && !mute:
			turned = []string{ralph.VerifiedChecks}
		default:
			unchanged = []string{ralph.VerifiedUnchanged}
		}
	}
	if len(checks) == 0 && h.Now.acceptedBy() != "" {
		return []string{ralph.VerifiedEvaluator}
	}
	return append(turned, unchanged...)
}

// FaultPrint reduces what went wrong in an iteration to a number that is equal when the fault is; 0 is no fault.
func FaultPrint(o Observation) uint64 {
	fault := fingerprint{hash: fnv.New64a()}
	if o.Agent.End.Failed() {
		fault.add(string(o.Agent.End))
		fault.add(o.Agent.Error)
	}
	for _, c := range o.Checks {
		if !c.Passed {
			fault.add(c.Name)
			fault.add(c.Output)
		}
	}
	return fault.sum()
}

// fingerprint hashes words and leaves out what differs from one run of a command to the next: figures, scratch paths
// and blanks.
type fingerprint struct {
	hash hash.Hash64
	any  bool
}

func (f *fingerprint) add(text string) {
	for word := range strings.FieldsSeq(text) {
		f.any = true
		if strings.HasPrefix(word, "/tmp/") || strings.HasPrefix(word, "/var/folders/") {
			word = "/tmp"
		}
		letters := make([]byte, 0, len(word)+1)
		for _, b := range []byte(word) {
			if b < '0' || b > '9' {
				letters = append(letters, b)
			}
		}
		f.hash.Write(append(letters, ' '))
	}
}

func (f *fingerprint) sum() uint64 {
	if !f.any {
		return 0
	}
	return max(f.hash.Sum64(), 1)
}

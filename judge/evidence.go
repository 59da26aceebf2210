package judge

import (
	"hash"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// ClaimsOf lists what the agent claimed: by tag, in the status block, or in the task list.
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
	if said.Untestable != nil {
		claims = append(claims, "UNTESTABLE")
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

// CheckKey returns a key that is unique among the checks of all tasks.
func CheckKey(c ralph.CheckResult) string { return c.Task + "\x00" + c.Name }

// CheckMarks records whether each check last passed. Progress is measured by it. It leaves out the
// output, which contains times and random names. It also leaves out which checks ran, because a claim
// runs more of them.
type CheckMarks map[string]bool

// With returns the marks after these results. It does not change m, which other histories may share.
func (m CheckMarks) With(checks []ralph.CheckResult) CheckMarks {
	same := true
	for _, c := range checks {
		before, known := m[CheckKey(c)]
		same = same && known && (before == c.Passed || c.Broken)
	}
	if same {
		return m
	}
	next := make(CheckMarks, len(m)+len(checks))
	maps.Copy(next, m)
	for _, c := range checks {
		if _, known := m[CheckKey(c)]; !c.Broken || !known { // a check that cannot run neither passed nor failed
			next[CheckKey(c)] = c.Passed
		}
	}
	return next
}

// NoteChecks records whether checks passed.
func (l *LastSeen) NoteChecks(checks []ralph.CheckResult) {
	l.Checks = l.Checks.With(l.byRules(checks))
}

// byRules returns results as the rules of the run see them. In logs of older versions, a check that cannot run
// failed.
func (l *LastSeen) byRules(checks []ralph.CheckResult) []ralph.CheckResult {
	if l.Rules > 0 {
		return checks
	}
	checks = slices.Clone(checks)
	for i := range checks {
		checks[i].Broken = false
	}
	return checks
}

// NoteFailing records how many tests fail, and reports whether fewer tests of a check fail than ever before.
func (h *History) NoteFailing(checks []ralph.CheckResult) bool {
	better := false
	for _, c := range checks {
		fewest, known := h.Fewest[CheckKey(c)]
		if c.FailingTests == 0 || known && c.FailingTests >= fewest {
			continue
		}
		better = better || known
		next := maps.Clone(h.Fewest) // other histories may share it
		if next == nil {
			next = map[string]int{}
		}
		next[CheckKey(c)] = c.FailingTests
		h.Fewest = next
	}
	return better
}

// ReplaceCheck keeps only the newest result of a check, but remembers if the check flaked on this tree.
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

// Attribute compares a result with its baseline. It returns "" if there is no baseline, or if the check could not
// run.
func Attribute(baseline []ralph.CheckResult, now ralph.CheckResult) ralph.Attribution {
	for _, before := range baseline {
		if before.Name != now.Name || before.Task != now.Task || before.Broken || now.Broken {
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

// ChecksFor returns the checks that count for a task, or for the goal if id is "". It leaves out own
// checks of other open tasks that fail.
func (h History) ChecksFor(id string) []ralph.CheckResult {
	return slices.DeleteFunc(slices.Clone(h.Now.Checks), func(c ralph.CheckResult) bool {
		t, _ := FindTask(h.Tasks, c.Task)
		return !c.Passed && c.Task != "" && c.Task != id && t.Status != ralph.TaskDone
	})
}

// NoteFlakes records the tree on which a check passed, and the checks that both passed and failed on
// one tree.
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

// PassedBefore reports whether a check passed on the same tree before.
func (h History) PassedBefore(c ralph.CheckResult) bool {
	return c.Tree != "" && h.GreenOn[CheckKey(c)] == c.Tree
}

// HasFlaked reports whether a check passed and failed on one tree in this run.
func (h History) HasFlaked(c ralph.CheckResult) bool { return slices.Contains(h.Flaked, CheckKey(c)) }

// FailedAtBase reports whether a check failed when it first ran: before any agent worked, or when its task was first
// selected.
func (h History) FailedAtBase(name, task string) bool {
	before, ran := findCheck(h.Baseline, name, task)
	return ran && before.FailedInTime()
}

// BeforeAgent returns how a check ended before any agent worked, and on which tree. The result is nil if that is not
// known: the check first ran later, could not run, or was another command, because {tests} named other files.
func (h History) BeforeAgent(name, task, command string) (ralph.TreeState, *ralph.CheckResult) {
	before, ran := findCheck(h.Baseline, name, task)
	isOther := !before.Hidden && before.Command != command
	if !ran || before.Broken || isOther || h.First.Snapshot == "" || before.Tree != h.First.ID() {
		return ralph.TreeState{}, nil
	}
	return h.First, &before
}

// AccessOf returns the access that a check needs, according to its baseline.
func (h History) AccessOf(name, task string) ralph.Access {
	for _, before := range h.Baseline {
		if before.Name == name && before.Task == task {
			return before.NeedsAccess
		}
	}
	return ralph.AccessIsolated
}

// NeedsMoreAccess reports whether the baseline of any check needed more than an isolated view.
func (h History) NeedsMoreAccess() bool {
	return slices.ContainsFunc(h.Baseline, func(c ralph.CheckResult) bool { return c.NeedsAccess != ralph.AccessIsolated })
}

// CheckedInPlace reports whether any baseline check of this run ran in the workspace itself.
func (h History) CheckedInPlace() bool {
	return slices.ContainsFunc(h.Baseline, func(c ralph.CheckResult) bool { return c.Isolation == ralph.IsolationInPlace })
}

// HiddenCheckName is all that an agent learns of a hidden check.
const HiddenCheckName = "a hidden check"

// evaluationOf returns the newest evaluation of a task in this iteration, or of the goal if task is "".
func (o Observation) evaluationOf(task string) (ralph.Evaluation, bool) {
	for _, e := range slices.Backward(o.Evaluations) {
		if e.Task == task {
			return e, true
		}
	}
	return ralph.Evaluation{}, false
}

// acceptedBy returns the evaluator that accepted everything it was asked about in this iteration, or "".
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

// ProvenBy returns what verifies the work. It distinguishes checks that failed before and pass now from
// checks that already passed.
func ProvenBy(p ralph.Policy, h History) []string {
	if h.Now.Stale { // the files have changed since
		return nil
	}
	checks := h.Now.Checks
	if h.Started == 0 { // only the baseline has run
		checks = h.Baseline
	}
	var turned, unchanged []string
	for _, c := range checks {
		mute := c.Proof != nil && c.Proof.Canary == ralph.CanaryMute // tried, and no canary made it fail
		worthless := c.Proof != nil && isWorthless(*c.Proof)
		switch {
		case !c.Passed || worthless:
		case h.Started > 0 && failedBefore(h, c) && !mute:
			turned = []string{ralph.VerifiedChecks}
		default:
			unchanged = []string{ralph.VerifiedUnchanged}
		}
	}
	if h.acceptedByPerson() {
		turned = append(turned, ralph.VerifiedPerson)
	}
	if _, ok := (&allotment{}).newTests(h, h.Now.Task); ok {
		turned = append(turned, ralph.VerifiedTests)
	}
	if len(checks) == 0 && h.Now.acceptedBy() != "" {
		return append(turned, ralph.VerifiedEvaluator)
	}
	if h.Started > 0 && provenByTools(p, h) {
		return append(turned, ralph.VerifiedTools)
	}
	return append(turned, unchanged...)
}

// isWorthless reports whether a proof shows that a check proves nothing.
func isWorthless(proof ralph.Proof) bool {
	return proof.Canary == ralph.CanaryGreen || proof.Lost > 0 || len(proof.Environment)+len(proof.Needs) > 0
}

// FaultPrint returns a fingerprint of what went wrong in an iteration. Equal faults have equal
// fingerprints; 0 means no fault.
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

// fingerprint hashes words. It ignores what differs from one run of a command to the next: digits,
// temporary paths and white space.
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

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// claimContext is what the claims of one iteration are compared with.
type claimContext struct {
	iteration Iteration
	seen      judge.Observation
	verdict   ralph.Verdict
	listed    bool             // the run has a task list
	files     *ralph.FileCount // that the iteration changed; nil if unknown
}

// claims lists everything that the agent claimed about its work, with what Ralph saw.
func claims(c claimContext) []Claim {
	var all []Claim
	add := func(holds Holds, what, seen string) {
		all = append(all, Claim{Iteration: c.iteration.Number, Claimed: clean(what), Seen: clean(seen), Holds: holds})
	}
	said := c.seen.Agent.Said
	switch {
	case said.CompleteTag != "":
		holds, seen := c.completion()
		add(holds, said.CompleteTag, seen)
	case said.Complete:
		holds, seen := c.completion()
		add(holds, "COMPLETE, by status block", seen)
	}
	for _, id := range c.claimedTasks() {
		holds, seen := c.taskDone(id)
		add(holds, id+":DONE"+c.markedNote(id), seen)
	}
	if said.Blocked != nil {
		add(HoldsUnknown, "BLOCKED: "+*said.Blocked, "nothing Ralph could check")
	}
	if said.Decide != nil {
		add(HoldsUnknown, "DECIDE: "+*said.Decide, "nothing Ralph could check")
	}
	if said.Untestable != nil {
		add(HoldsUnknown, "UNTESTABLE: "+*said.Untestable, "nothing Ralph could check")
	}
	if said.Status != nil {
		holds, seen := c.tests(said.Status.Tests)
		add(holds, "TESTS_STATUS: "+said.Status.Tests, seen)
		holds, seen = c.filesModified(said.Status.FilesModified)
		add(holds, fmt.Sprintf("FILES_MODIFIED: %d", said.Status.FilesModified), seen)
		holds, seen = c.count(said.Status.TasksCompleted)
		add(holds, fmt.Sprintf("TASKS_COMPLETED_THIS_LOOP: %d", said.Status.TasksCompleted), seen)
	}
	if said.StatusProblem != "" {
		add(HoldsNo, "a status block", "invalid: "+said.StatusProblem)
	}
	for _, word := range said.Contradictions {
		add(HoldsNo, "a contradiction", word)
	}
	return all
}

// cases lists every case of an iteration with the answer that it got.
func cases(iteration int, all []ralph.CaseRecord) []Claim {
	var claims []Claim
	for _, c := range all {
		claimed := c.Summary
		if c.Untestable != "" {
			claimed += "; no test can show it: " + c.Untestable
		}
		claim := Claim{Iteration: iteration, Case: c.Round, Claimed: clean(claimed), Seen: "accepted", Holds: HoldsYes}
		switch {
		case c.Answer == nil:
			claim.Seen, claim.Holds = "it was not judged", HoldsUnknown
		case !c.Answer.Accepted:
			claim.refuse(*c.Answer)
		}
		claims = append(claims, claim)
	}
	return claims
}

func (c *Claim) refuse(a ralph.CaseAnswered) {
	var why []string
	for _, r := range a.Refusals {
		c.Refusals, why = append(c.Refusals, clean(r.Code)), append(why, r.Code+": "+r.Detail)
	}
	for _, r := range a.Tasks {
		c.Refusals, why = append(c.Refusals, clean(r.Code)), append(why, r.Task+": "+r.Code+": "+r.Detail)
	}
	c.Seen, c.Holds = clean(strings.TrimSuffix("refused: "+strings.Join(why, "; "), ": ")), HoldsNo
}

func (c claimContext) completion() (Holds, string) {
	if c.verdict.Action == ralph.Stop && nameOf(c.verdict.Reason) == "COMPLETE" {
		if len(c.verdict.VerifiedBy) == 0 {
			return HoldsUnknown, "every gate passed, but nothing was checked"
		}
		if by, _ := judge.FindShowing(c.verdict.Shown, ""); by.By == ralph.ShownByNothing {
			return HoldsUnknown, "every gate passed, but nothing shows the work"
		}
		return HoldsYes, "every gate passed"
	}
	refused := text.Mapped(c.verdict.Refusals(), func(r ralph.Refusal) string { return r.Code + ": " + r.Detail })
	if len(refused) == 0 {
		return HoldsUnknown, "it was not judged"
	}
	return HoldsNo, "refused: " + strings.Join(refused, "; ")
}

func (c claimContext) claimedTasks() []string {
	said := c.seen.Agent.Said.TasksDone
	listed := slices.DeleteFunc(slices.Clone(c.seen.Listed), func(id string) bool { return slices.Contains(said, id) })
	return slices.Concat(said, listed)
}

// markedNote says that the agent claimed a task by marking it in the list.
func (c claimContext) markedNote(id string) string {
	if slices.Contains(c.seen.Listed, id) {
		return ", marked in the list"
	}
	return ""
}

func (c claimContext) taskDone(id string) (Holds, string) {
	if slices.Contains(c.verdict.Tasks.Done, id) {
		if by, _ := judge.FindShowing(c.verdict.Tasks.Shown, id); by.By == ralph.ShownByNothing {
			return HoldsUnknown, "done, but nothing shows it"
		}
		return HoldsYes, "proven"
	}
	for _, r := range c.verdict.Tasks.Unconfirmed {
		if r.Task == id {
			return HoldsUnknown, fmt.Sprintf("a person must decide: %s: %s", r.Code, r.Detail)
		}
	}
	for _, r := range c.verdict.Tasks.Refused {
		if r.Task == id {
			return HoldsNo, fmt.Sprintf("refused: %s: %s", r.Code, r.Detail)
		}
	}
	if !c.listed {
		return HoldsUnknown, "no task list"
	}
	return HoldsUnknown, "it was not judged"
}

// tests compares the TESTS_STATUS of a status block with the checks.
func (c claimContext) tests(word string) (Holds, string) {
	passed, failed := 0, 0
	for _, check := range c.seen.Checks {
		switch {
		case check.Passed:
			passed++
		case check.Failed():
			failed++
		}
	}
	n := len(c.seen.Checks)
	seen := fmt.Sprintf("%d of %s passed", passed, text.Count(n, "check"))
	switch {
	case n == 0:
		return HoldsUnknown, "no check was run"
	case failed == 0 && passed < n: // the others cannot run
		return HoldsUnknown, seen
	case word == "PASSING", word == "FAILING":
		return holdsIf[(word == "PASSING") == (passed == n)], seen
	}
	return HoldsUnknown, seen
}

func (c claimContext) filesModified(modified int) (Holds, string) {
	if c.files != nil {
		return holdsIf[c.files.Agrees(modified)], c.files.String()
	}
	before, after := c.iteration.TreeBefore, c.iteration.TreeAfter
	if before == "" || after == "" {
		return HoldsUnknown, "the tree is unknown"
	}
	seen, changed := "no files changed", before != after
	if changed {
		seen = "files changed"
	}
	return holdsIf[changed == (modified > 0)], seen
}

func (c claimContext) count(completed int) (Holds, string) {
	if !c.listed {
		return HoldsUnknown, "no task list"
	}
	proven := len(c.verdict.Tasks.Done)
	return holdsIf[completed == proven], text.Count(proven, "task") + " proven"
}

var holdsIf = map[bool]Holds{true: HoldsYes, false: HoldsNo}

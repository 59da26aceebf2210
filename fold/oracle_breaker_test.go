package fold

import (
	"math"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// This part of the oracle is the breaker: section 6 of the contract, iteration by iteration.

// progress compares iteration i with what was known before it: files, tasks, and the last result of
// each check. If the files are unknown, it counts as progress.
func (o oracle) progress(i int) bool {
	now, tree, green := o.iterations[i], o.base, o.passedBefore(i)
	for _, q := range o.iterations[:i] {
		if q.Tree.Known {
			tree = q.Tree
		}
	}
	known := now.Tree.Known && tree.Known
	filesChanged := now.Tree.Head != tree.Head || now.Tree.Hash != tree.Hash
	checksChanged := false
	for _, c := range now.Checks {
		before, ran := green[c.Task+" "+c.Name]
		checksChanged = checksChanged || ran && before != c.Passed && o.saysSomething(c)
	}
	return !known || filesChanged || checksChanged || o.settled(i)
}

// saysSomething reports whether a check passed or failed. In earlier versions one that cannot run failed.
func (o oracle) saysSomething(c ralph.CheckResult) bool { return !c.Broken || o.policy.Rules == 0 }

// settled reports whether iteration i proved a task or left one to a person.
func (o oracle) settled(i int) bool {
	return len(o.listChanges) > i && len(o.listChanges[i].done)+len(o.listChanges[i].left) > 0
}

// passedBefore returns whether each check passed when it last ran before iteration i.
func (o oracle) passedBefore(i int) map[string]bool {
	results := slices.Clone(o.baseline)
	for _, q := range o.iterations[:i] {
		results = slices.Concat(results, q.selected, q.Checks)
	}
	results = append(results, o.iterations[i].selected...)
	passed := map[string]bool{}
	for _, c := range results {
		if _, known := passed[c.Task+" "+c.Name]; !known || o.saysSomething(c) {
			passed[c.Task+" "+c.Name] = c.Passed
		}
	}
	return passed
}

// improved reports whether the evidence of iteration i is better than before: a check passes again, fewer tests fail,
// the error is a different one, or a task is done. Where nothing fails, before and now, changed files are enough.
func (o oracle) improved(i int) bool {
	before, now := "", o.iterations[i]
	for _, q := range o.iterations[:i] {
		if q.counts() {
			before = errorText(q)
		}
	}
	passed, broken, failing := o.passedBefore(i), false, false
	for _, c := range now.Checks {
		last, ran := passed[c.Task+" "+c.Name]
		if ran && !last && c.Passed {
			return true
		}
		broken = broken || c.Broken
	}
	for _, last := range passed {
		failing = failing || !last && len(now.Checks) == 0
	}
	switch error := errorText(now); {
	case o.fewerFail(i), o.settled(i):
		return true
	case error != "":
		return before != "" && error != before && !broken
	default:
		return !failing && (before != "" || o.progress(i))
	}
}

// fewerFail reports whether fewer tests of a check fail in iteration i than ever before.
func (o oracle) fewerFail(i int) bool {
	earlier := slices.Clone(o.baseline)
	for _, q := range o.iterations[:i] {
		earlier = append(earlier, q.selected...)
		if q.counts() {
			earlier = append(earlier, q.Checks...)
		}
	}
	earlier = append(earlier, o.iterations[i].selected...)
	for _, c := range o.iterations[i].Checks {
		before := math.MaxInt
		for _, e := range earlier {
			if e.Task == c.Task && e.Name == c.Name && e.FailingTests > 0 {
				before = min(before, e.FailingTests)
			}
		}
		if before < math.MaxInt && c.FailingTests > 0 && c.FailingTests < before {
			return true
		}
	}
	return false
}

// errorText returns the error of an iteration in a form that can be compared, or "" if nothing went
// wrong.
func errorText(q iteration) string {
	var parts []string
	if !oneOf(q.Agent.End, ralph.EndOK, ralph.EndEmpty, ralph.EndCut) {
		parts = append(parts, string(q.Agent.End)+" "+q.Agent.Error)
	}
	for _, c := range q.Checks {
		if !c.Passed {
			parts = append(parts, c.Name+" "+c.Output)
		}
	}
	return strings.Join(parts, "; ")
}

// breaker is the breaker's state, and the first iteration that counts towards its next threshold.
type breaker struct {
	state ralph.BreakerState
	from  int
}

// currentBreaker follows section 6 through all iterations: a closed breaker at a threshold goes to
// diagnose, then to open; after a cooldown or a resume it allows one try. A resume, a closing
// breaker, and an agent that replaces a failed one start the count at zero.
func (o oracle) currentBreaker() breaker {
	f := breaker{state: ralph.BreakerClosed}
	for i, q := range o.iterations {
		if i > 0 && o.handsOver(i-1) {
			f = breaker{ralph.BreakerClosed, i}
		}
		switch {
		case q.resumed && f.state != ralph.BreakerClosed:
			f = breaker{ralph.BreakerHalfOpen, i}
		case q.resumed:
			f.from = i
		case f.state == ralph.BreakerOpen: // the cooldown is over
			f.state = ralph.BreakerHalfOpen
		}
		if !q.counts() {
			continue
		}
		switch tripped := o.upTo(i).tripped(f.from); {
		case f.state != ralph.BreakerClosed && o.closes(i):
			f = breaker{ralph.BreakerClosed, i + 1}
		case f.state != ralph.BreakerClosed:
			f.state = ralph.BreakerOpen
		case tripped && o.policy.Breaker.Diagnose:
			f.state = ralph.BreakerDiagnose
		case tripped:
			f.state = ralph.BreakerOpen
		}
	}
	return f
}

// closes reports whether iteration i closes a tripped breaker. In logs of older versions, any progress does.
func (o oracle) closes(i int) bool {
	if o.policy.Rules > 0 {
		return o.improved(i)
	}
	return o.progress(i)
}

// nextBreaker returns the breaker as the next iteration finds it.
func (o oracle) nextBreaker() breaker {
	if last := len(o.iterations) - 1; o.handsOver(last) {
		return breaker{ralph.BreakerClosed, last + 1}
	}
	return o.currentBreaker()
}

// handsOver reports whether the agent of iteration i worked and failed too often, so that another
// one takes over.
func (o oracle) handsOver(i int) bool { return o.cooldowns[i].active && o.iterations[i].counts() }

func (o oracle) tripped(from int) bool {
	b, c := o.policy.Breaker, o.stalls(from)
	return b.NoProgress > 0 && c.NoProgress >= b.NoProgress ||
		b.SameError > 0 && c.SameError >= b.SameError ||
		b.PermissionDenials > 0 && c.Denials >= b.PermissionDenials ||
		b.OutputDecline > 0 && c.NoProgress > 0 && c.Declined
}

type stalls struct {
	NoProgress, SameError, Denials int
	Declined                       bool
}

// stalls returns the breaker's counts, over the iterations that count, beginning with from.
func (o oracle) stalls(from int) stalls {
	var indexes []int
	for i := len(o.iterations) - 1; i >= from; i-- {
		if o.iterations[i].counts() {
			indexes = append(indexes, i)
		}
	}
	var s stalls
	for _, i := range indexes {
		if o.progress(i) {
			break
		}
		s.NoProgress++
	}
	for _, i := range indexes {
		if errorText(o.iterations[i]) == "" || errorText(o.iterations[i]) != errorText(o.iterations[indexes[0]]) {
			break
		}
		s.SameError++
		if o.fewerFail(i) {
			break
		}
	}
	for _, i := range indexes {
		if len(o.iterations[i].Agent.Denials) == 0 || o.progress(i) {
			break
		}
		s.Denials++
	}
	if len(indexes) >= 3 {
		before, now := o.iterations[indexes[2]].Agent.OutputBytes, o.iterations[indexes[0]].Agent.OutputBytes
		s.Declined = before > 0 && (before-now)*100 >= before*int64(o.policy.Breaker.OutputDecline)
	}
	return s
}

package fold

import (
	"strings"

	"github.com/ralphloop/ralph"
)

// The breaker of the oracle: section 6 of the contract, walked page by page.

// progress compares page i with what was known before it: files, tasks, and how each check ended when it was last run. Where files are not known nobody
// can deny it.
func (n notebook) progress(i int) bool {
	now, tree := n.pages[i], n.base
	green := map[string]bool{}
	note := func(checks []ralph.CheckResult) {
		for _, c := range checks {
			green[c.Task+" "+c.Name] = c.Passed
		}
	}
	note(n.baseline)
	for _, q := range n.pages[:i] {
		if q.Tree.Known {
			tree = q.Tree
		}
		note(q.Checks)
	}
	known := now.Tree.Known && tree.Known
	filesChanged := now.Tree.Head != tree.Head || now.Tree.Hash != tree.Hash
	checksChanged := false
	for _, c := range now.Checks {
		before, ran := green[c.Task+" "+c.Name]
		checksChanged = checksChanged || ran && before != c.Passed
	}
	return !known || filesChanged || checksChanged || len(n.days) > i && len(n.days[i].done) > 0
}

// complaint is the error of a page in a form that can be compared: "" when nothing went wrong.
func complaint(q page) string {
	var parts []string
	if !oneOf(q.Agent.End, ralph.EndOK, ralph.EndEmpty) {
		parts = append(parts, string(q.Agent.End)+" "+q.Agent.Error)
	}
	for _, c := range q.Checks {
		if !c.Passed {
			parts = append(parts, c.Name+" "+c.Output)
		}
	}
	return strings.Join(parts, "; ")
}

// fuse is the breaker, and the first page that counts towards its next threshold.
type fuse struct {
	state ralph.BreakerState
	from  int
}

// fuse walks the pages and moves the fuse as section 6 tells: closed, at a threshold diagnose, then open; after a cool-down or a resume one
// probe. A resume, a closing breaker and an agent in place of one that failed count from zero.
func (n notebook) fuse() fuse {
	f := fuse{state: ralph.BreakerClosed}
	for i, q := range n.pages {
		if i > 0 && n.handsOn(i-1) {
			f = fuse{ralph.BreakerClosed, i}
		}
		switch {
		case q.resumed && f.state != ralph.BreakerClosed:
			f = fuse{ralph.BreakerHalfOpen, i}
		case q.resumed:
			f.from = i
		case f.state == ralph.BreakerOpen: // the cool-down is over
			f.state = ralph.BreakerHalfOpen
		}
		if !q.against() {
			continue
		}
		switch tripped := n.upTo(i).tripped(f.from); {
		case f.state != ralph.BreakerClosed && n.progress(i):
			f = fuse{ralph.BreakerClosed, i + 1}
		case f.state != ralph.BreakerClosed:
			f.state = ralph.BreakerOpen
		case tripped && n.policy.Breaker.Diagnose:
			f.state = ralph.BreakerDiagnose
		case tripped:
			f.state = ralph.BreakerOpen
		}
	}
	return f
}

// breaker is the fuse as the next iteration finds it.
func (n notebook) breaker() fuse {
	if last := len(n.pages) - 1; n.handsOn(last) {
		return fuse{ralph.BreakerClosed, last + 1}
	}
	return n.fuse()
}

// handsOn: an agent that worked and failed too often, so that another one begins.
func (n notebook) handsOn(i int) bool { return n.beds[i].laid && n.pages[i].against() }

func (n notebook) tripped(from int) bool {
	b, c := n.policy.Breaker, n.stalls(from)
	return b.NoProgress > 0 && c.NoProgress >= b.NoProgress ||
		b.SameError > 0 && c.SameError >= b.SameError ||
		b.PermissionDenials > 0 && c.Denials >= b.PermissionDenials ||
		b.OutputDecline > 0 && c.NoProgress > 0 && c.Declined
}

type stalls struct {
	NoProgress, SameError, Denials int
	Declined                       bool
}

// stalls counts what the breaker counts, over the pages from the given one on that count.
func (n notebook) stalls(from int) stalls {
	var indexes []int
	for i := len(n.pages) - 1; i >= from; i-- {
		if n.pages[i].against() {
			indexes = append(indexes, i)
		}
	}
	var s stalls
	for _, i := range indexes {
		if n.progress(i) {
			break
		}
		s.NoProgress++
	}
	for _, i := range indexes {
		if complaint(n.pages[i]) == "" || complaint(n.pages[i]) != complaint(n.pages[indexes[0]]) {
			break
		}
		s.SameError++
	}
	for _, i := range indexes {
		if len(n.pages[i].Agent.Denials) == 0 || n.progress(i) {
			break
		}
		s.Denials++
	}
	if len(indexes) >= 3 {
		before, now := n.pages[indexes[2]].Agent.OutputBytes, n.pages[indexes[0]].Agent.OutputBytes
		s.Declined = before > 0 && (before-now)*100 >= before*int64(n.policy.Breaker.OutputDecline)
	}
	return s
}

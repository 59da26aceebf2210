package judge_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
	"github.com/ralphloop/ralph/promise"
)

func TestWeighEvidence(t *testing.T) {
	call := func(verifier string, status ralph.EvidenceStatus) ralph.ToolEvidence {
		return ralph.ToolEvidence{Tool: "Bash", Verifier: verifier, Status: status}
	}
	staleCall := func(verifier string) ralph.ToolEvidence {
		e := call(verifier, ralph.EvidencePass)
		e.Stale = true
		return e
	}
	commands := judge.EvidenceRules{Commands: []string{"go test ./...", "go vet ./..."}}
	tools := judge.EvidenceRules{Tools: []string{"browser", "screenshot"}}
	both := judge.EvidenceRules{Commands: []string{"go test ./..."}, Tools: []string{"browser"}}
	for _, test := range []struct {
		name   string
		rules  judge.EvidenceRules
		seen   []ralph.ToolEvidence
		word   judge.EvidenceWord
		detail string
		last   int // index in seen, or -1
	}{
		{"nothing declared", judge.EvidenceRules{}, []ralph.ToolEvidence{call("ls", ralph.EvidencePass)},
			judge.EvidenceMissing, "nothing is declared as a verifier", -1},
		{"ls is no evidence", commands, []ralph.ToolEvidence{call("", ralph.EvidencePass)},
			judge.EvidenceMissing, "not run yet: go test ./..., go vet ./...", -1},
		{"one of two", commands, []ralph.ToolEvidence{call("go test ./...", ralph.EvidencePass)},
			judge.EvidenceMissing, "not run yet: go vet ./...", 0},
		{"both", commands,
			[]ralph.ToolEvidence{call("go test ./...", ralph.EvidencePass), call("go vet ./...", ralph.EvidencePass)},
			judge.EvidencePassed, "go vet ./... passed", 1},
		{"failed, then passed", both,
			[]ralph.ToolEvidence{call("go test ./...", ralph.EvidenceFail), call("go test ./...", ralph.EvidencePass)},
			judge.EvidencePassed, "go test ./... passed", 1},
		{"passed, then failed", both,
			[]ralph.ToolEvidence{call("go test ./...", ralph.EvidencePass), call("go test ./...", ralph.EvidenceFail)},
			judge.EvidenceFailed, "go test ./... failed", 1},
		{"a failure outweighs a missing call", commands, []ralph.ToolEvidence{call("go vet ./...", ralph.EvidenceFail)},
			judge.EvidenceFailed, "go vet ./... failed", 0},
		{"a failed tool outweighs passing commands", both,
			[]ralph.ToolEvidence{call("browser", ralph.EvidenceFail), call("go test ./...", ralph.EvidencePass)},
			judge.EvidenceFailed, "browser failed", 0},
		{"stale", both, []ralph.ToolEvidence{staleCall("go test ./...")},
			judge.EvidenceStale, "files changed after go test ./... passed", 0},
		{"stale, then fresh", both,
			[]ralph.ToolEvidence{staleCall("go test ./..."), call("go test ./...", ralph.EvidencePass)},
			judge.EvidencePassed, "go test ./... passed", 1},
		{"a tool by name", tools, []ralph.ToolEvidence{call("screenshot", ralph.EvidencePass)},
			judge.EvidencePassed, "screenshot passed", 0},
		{"no tool", tools, nil, judge.EvidenceMissing, "none of these tools was used: browser, screenshot", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := judge.WeighEvidence(test.rules, test.seen)
			if w.Word != test.word || w.Detail != test.detail {
				t.Errorf("got %s (%s), want %s (%s)", w.Word, w.Detail, test.word, test.detail)
			}
			switch {
			case test.last < 0 && w.Last != nil:
				t.Errorf("got evidence %+v, want none", *w.Last)
			case test.last >= 0 && w.Last != &test.seen[test.last]:
				t.Errorf("got evidence %+v, want number %d", w.Last, test.last)
			}
		})
	}
}

func TestVerifierToolsGate(t *testing.T) {
	at := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	call := func(status ralph.EvidenceStatus) []ralph.ToolEvidence {
		return []ralph.ToolEvidence{{Tool: "browser", Verifier: "browser", Status: status, Observed: at}}
	}
	passing := []ralph.CheckResult{{Name: "go test", Passed: true}}
	for _, test := range []struct {
		name     string
		evidence []ralph.ToolEvidence
		touched  time.Time
		checks   []ralph.CheckResult
		refusal  string // "" completes the run
		reason   ralph.StopReason
		proof    ralph.ProofWord
		by       []string
	}{
		{"no call", nil, time.Time{}, nil, "missing_evidence", "", "", nil},
		{"passing checks do not replace it", nil, time.Time{}, passing, "missing_evidence", "", "", nil},
		{"failed", call(ralph.EvidenceFail), time.Time{}, nil, "failed_evidence", "", "", nil},
		{"edited afterwards", call(ralph.EvidencePass), at.Add(time.Second), nil, "stale_evidence", "", "", nil},
		{"edited in the same step of the clock", call(ralph.EvidencePass), at.Add(-time.Millisecond), nil, "stale_evidence",
			"", "", nil},
		{"edited before", call(ralph.EvidencePass), at.Add(-time.Second), nil, "", ralph.VerifierPassed,
			ralph.ProvenReported, []string{ralph.VerifiedTools}},
		{"beside checks", call(ralph.EvidencePass), at.Add(-time.Second), passing, "", ralph.AllChecksPassed,
			ralph.ProvenNone, []string{ralph.VerifiedUnchanged}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := ralph.DefaultPolicy()
			p.VerifierTools, p.Shown = []string{"browser"}, ralph.ShownWarn
			h := judge.History{Judging: true, Started: 1, Now: judge.Observation{
				Number: 1, Checks: test.checks, Tree: ralph.TreeState{Known: true, Touched: test.touched},
				Agent: ralph.AgentOutcome{End: ralph.EndOK, Said: promise.Report{Complete: true, CompleteTag: "DONE"},
					Evidence: test.evidence},
				Work: &ralph.WorkSeen{},
			}}
			v := judge.Decide(p, h)
			if test.refusal != "" {
				if refusals := v.Refusals(); judge.Completed(v) || len(refusals) == 0 || refusals[0].Code != test.refusal {
					t.Errorf("got %s, %v, want it refused as %s", v.Reason, refusals, test.refusal)
				}
				return
			}
			if v.Reason != test.reason || judge.ProofOf(p, h, v) != test.proof || !slices.Equal(v.VerifiedBy, test.by) {
				t.Errorf("got %s, %s, %v: %v", v.Reason, judge.ProofOf(p, h, v), v.VerifiedBy, v.Gates)
			}
		})
	}
}

package ralph

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// site is what outlives a crash of a run with every kind of evidence: the files, and how often the evaluator was asked.
type site struct {
	files string
	asked int
}

type recordedSite struct {
	events []Event
	sites  []site
}

// liveSite runs a loop over the site, going on with what was recorded. The first tree is tampered with, of the second an evaluator thinks little, the
// third is inert, and the fourth is good; a check needs the workspace in PATH.
func liveSite(t *testing.T, past recordedSite, s *site) (*world, recordedSite, Result) {
	t.Helper()
	var mu sync.Mutex // summaries are recorded while others work
	w, e, k := examined(t)
	k.files = s.files
	write := func(files string) {
		mu.Lock()
		defer mu.Unlock()
		k.files, s.files = files, files
	}
	w.cfg.Hidden = []string{"secret"}
	w.agent.turns = []turn{func(ctx context.Context, in AgentInput) AgentOutcome {
		o := done()(ctx, in)
		if o.End == EndOK {
			write(string(min(k.files[0]+1, '9')))
		}
		return o
	}}
	e.compare = func(_, now TreeState) (Tampering, error) {
		found := Tampering{Known: true, Tests: []string{"b_test.go"}}
		if now.Hash == "1" {
			found.Tampered = []FileChange{{Name: "a_test.go", Kind: FileChanged}}
		}
		return found, nil
	}
	e.narrow = true
	e.check = func(in ViewInput, _ string) CheckResult { return greenIf(in.Kind == ViewHidden || in.Way != WayUsual) }
	e.prove = func(in ViewInput, _ string) (Proof, error) {
		if in.Now.Hash == "3" {
			return Proof{Canary: CanaryGreen, Detail: "inert"}, nil
		}
		return Proof{Canary: CanaryRed}, nil
	}
	f := w.judgedBy(accepts())
	w.policy.MaxIterations, w.policy.MaxRejections = 20, 9
	f.before = func(_ context.Context, in EvaluationInput) {
		mu.Lock()
		defer mu.Unlock()
		s.asked++
		f.verdicts = []Evaluation{accepts()}
		switch {
		case s.asked == 1:
			f.verdicts = []Evaluation{cannotBeAsked(EndProvider, "529")}
		case k.files == "2":
			f.verdicts = []Evaluation{rejects(RejectedWeakTest, "weak")}
		}
	}
	if len(past.events) > 0 {
		state := refold(t, past.events)
		w.options = append(w.options, WithState(&state))
	}
	now := recordedSite{slices.Clone(past.events), slices.Clone(past.sites)}
	w.log.onAppend = func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		now.events, now.sites = append(now.events, e), append(now.sites, *s)
	}
	return w, now, w.run(t.Context())
}

func TestResumeInTheMiddleOfEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, whole, result := liveSite(t, recordedSite{}, &site{files: "0"})
		same(t, "refusals of the uncut run", [][]string{{RefusedTampered}, {"evaluator_rejected:weak_test"}, {RefusedCheckInert}, {}}, refusedIn(result))
		for k := range cuts(whole.events) {
			past := recordedSite{whole.events[:k:k], whole.sites[:k:k]}
			s := whole.sites[k-1]
			w, again, result := liveSite(t, past, &s)
			name := fmt.Sprintf("cut after event %d, %s: ", k, past.events[k-1].Type)
			if result.StopReason != AllChecksPassed || result.ExitCode != 0 || s.files < "4" {
				t.Errorf("%sended with %s (%s) on tree %s: %v", name, result.StopReason, result.Summary, s.files, refusedIn(result))
			}
			for _, it := range result.Iterations {
				for _, c := range it.CheckResults {
					if !c.Hidden && (!c.Passed || c.Isolation != IsolationOverlay) {
						t.Errorf("%sa check that needs PATH was run without: %+v", name, c)
					}
				}
			}
			final := refold(t, again.events)
			same(t, name+"the fold", w.loop.State().Result(), final.Result())
			mustReplay(t, again.events)
			if t.Failed() {
				return
			}
		}
	})
}

func TestGreenChecksThatClaimByThemselves(t *testing.T) {
	optional := func(t *testing.T) (*world, *fakeExaminer) {
		w, e, k := examined(t)
		w.policy.Claim, w.policy.MaxIterations = ClaimOptional, 2
		w.agent.turns = []turn{nothing().then(k.becomes("1")), nothing().then(k.becomes("2"))}
		return w, e
	}
	bubble(t, "a hidden check", func(t *testing.T) {
		w, e := optional(t)
		w.cfg.Hidden = []string{"secret"}
		e.check = func(in ViewInput, _ string) CheckResult { return greenIf(in.Kind != ViewHidden || in.Now.Hash == "2") }
		w.ends(AllChecksPassed, 2)
	})
	bubble(t, "a canary", func(t *testing.T) {
		w, e := optional(t)
		e.prove = func(ViewInput, string) (Proof, error) { return Proof{Canary: CanaryGreen, Detail: "inert"}, nil }
		w.ends(MaxIterations, 2)
	})
	bubble(t, "the evaluator", func(t *testing.T) {
		w, _ := optional(t)
		f := w.judgedBy(rejects(RejectedGap, "gap"), accepts())
		w.ends(AllChecksPassed, 2)
		same(t, "asked", 2, len(f.inputs))
	})
}

// A kill in the middle of evidence says nothing about the work: a resume gathers it and judges, without another agent.
func TestAKillInTheMiddleOfEvidence(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   func(e *fakeExaminer, kill func())
	}{
		{"while files are compared", func(e *fakeExaminer, kill func()) {
			e.compare = func(TreeState, TreeState) (Tampering, error) { kill(); return Tampering{}, errLost }
		}},
		{"while a red check is run again", func(e *fakeExaminer, kill func()) {
			runs := 0
			e.check = func(ViewInput, string) CheckResult {
				if runs++; runs == 3 {
					kill()
				}
				return greenIf(runs == 1 || runs > 3)
			}
		}},
		{"while tests are weighed", func(e *fakeExaminer, kill func()) {
			e.compare = changedTests
			e.check = func(in ViewInput, _ string) CheckResult {
				if in.Kind == ViewOldTests {
					kill()
				}
				return isGreen
			}
		}},
		{"while a check is proven", func(e *fakeExaminer, kill func()) {
			e.prove = func(ViewInput, string) (Proof, error) { kill(); return Proof{Canary: CanaryGreen}, nil }
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, e, k := examined(t, done())
			e.check = func(ViewInput, string) CheckResult { return isGreen }
			ctx, kill := context.WithCancelCause(t.Context())
			tt.at(e, func() { kill(Killed{SignalHangup}) })
			w.ended(w.run(ctx), Interrupted, 1)
			e.compare, e.prove = nil, nil
			again := w.reExamined(e, k, nothing())
			same(t, "refusals", [][]string{{}}, refusedIn(again.ends(AllChecksPassed, 0)))
		})
	}
}

// What nobody agreed to, or cannot be kept, is not proven either.
func TestWhatIsNotProven(t *testing.T) {
	bubble(t, "a check that nobody agreed to", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task, w.policy.MaxIterations = "", 1
		w.cfg.Agreed = func(command string) bool { return command != "own A" }
		w.agent.turns = []turn{tagging("A").then(k.becomes("1"))}
		w.options = append(w.options, WithTasks(newBook(entry("A", "own A"))))
		w.policy.Baseline = false
		w.ends(MaxIterations, 1)
		same(t, "proven", nil, e.proved)
		same(t, "ran", []string{"claimed: go test"}, e.ran)
	})
	bubble(t, "where nothing can be kept", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		w.options = append(w.options, WithRecorder(&folderLog{memoryLog: w.log, dir: t.TempDir(), fail: func(iteration int) error {
			if iteration == 1 && len(e.ran) == 3 { // the baseline, plainly too, and the claim's
				return errDisk
			}
			return nil
		}}))
		w.ends(IOFailed, 1)
		same(t, "proven", nil, e.proved)
	})
}

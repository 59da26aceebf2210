package loop

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ralphloop/ralph"
)

// site is what survives a crash of a run with every kind of evidence: the files, and how often the
// evaluator was asked.
type site struct {
	files string
	asked int
}

type recordedSite struct {
	events []ralph.Event
	sites  []site
}

// liveSite runs a loop over the site and continues from what was recorded. The first tree is
// tampered with, the evaluator rejects the second, the third is inert, and the fourth is good. A
// check needs the workspace on PATH.
func liveSite(t *testing.T, past recordedSite, s *site) (*world, recordedSite, ralph.Result) {
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
	w.agent.turns = []turn{func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		o := done()(ctx, in)
		if o.End == ralph.EndOK {
			write(string(min(k.files[0]+1, '9')))
		}
		return o
	}}
	e.compare = func(_, now ralph.TreeState) (ralph.Tampering, error) {
		found := ralph.Tampering{Known: true, Tests: []string{"b_test.go"}}
		if now.Hash == "1" {
			found.Tampered = []ralph.FileChange{{Name: "a_test.go", Kind: ralph.FileChanged}}
		}
		return found, nil
	}
	e.stripsPath = true
	e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
		return greenIf(in.Kind == ralph.ViewHidden || in.Access != ralph.AccessIsolated)
	}
	e.prove = func(in ralph.ViewInput, _ string) (ralph.Proof, error) {
		if in.Now.Hash == "3" {
			return ralph.Proof{Canary: ralph.CanaryGreen, Detail: "inert"}, nil
		}
		return ralph.Proof{Canary: ralph.CanaryRed}, nil
	}
	f := w.judgedBy(accepts())
	w.policy.MaxIterations, w.policy.MaxRejections = 20, 9
	f.before = func(_ context.Context, in ralph.EvaluationInput) {
		mu.Lock()
		defer mu.Unlock()
		s.asked++
		f.verdicts = []ralph.Evaluation{accepts()}
		switch {
		case s.asked == 1:
			f.verdicts = []ralph.Evaluation{cannotBeAsked(ralph.EndProvider, "529")}
		case k.files == "2":
			f.verdicts = []ralph.Evaluation{rejects(ralph.RejectedWeakTest, "weak")}
		}
	}
	if len(past.events) > 0 {
		state := refold(t, past.events)
		w.options = append(w.options, WithState(&state))
	}
	now := recordedSite{slices.Clone(past.events), slices.Clone(past.sites)}
	w.log.onAppend = func(e ralph.Event) {
		mu.Lock()
		defer mu.Unlock()
		now.events, now.sites = append(now.events, e), append(now.sites, *s)
	}
	return w, now, w.run(t.Context())
}

func TestResumeInTheMiddleOfEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, whole, result := liveSite(t, recordedSite{}, &site{files: "0"})
		same(
			t,
			"refusals of the uncut run",
			[][]string{{ralph.RefusedTampered}, {"evaluator_rejected:weak_test"}, {ralph.RefusedCheckInert}, {}},
			refusedIn(result),
		)
		for k := range cuts(whole.events) {
			past := recordedSite{whole.events[:k:k], whole.sites[:k:k]}
			s := whole.sites[k-1]
			w, again, result := liveSite(t, past, &s)
			name := fmt.Sprintf("cut after event %d, %s: ", k, past.events[k-1].Type)
			if result.StopReason != ralph.AllChecksPassed || result.ExitCode != 0 || s.files < "4" {
				t.Errorf("%sended with %s (%s) on tree %s: %v", name, result.StopReason, result.Summary, s.files, refusedIn(result))
			}
			for _, it := range result.Iterations {
				for _, c := range it.CheckResults {
					if !c.Hidden && (!c.Passed || c.Isolation != ralph.IsolationOverlay) {
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
		w.policy.Claim, w.policy.MaxIterations = ralph.ClaimOptional, 2
		w.agent.turns = []turn{nothing().then(k.becomes("1")), nothing().then(k.becomes("2"))}
		return w, e
	}
	bubble(t, "a hidden check", func(t *testing.T) {
		w, e := optional(t)
		w.cfg.Hidden = []string{"secret"}
		e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
			return greenIf(in.Kind != ralph.ViewHidden || in.Now.Hash == "2")
		}
		w.ends(ralph.AllChecksPassed, 2)
	})
	bubble(t, "a canary", func(t *testing.T) {
		w, e := optional(t)
		e.prove = func(ralph.ViewInput, string) (ralph.Proof, error) {
			return ralph.Proof{Canary: ralph.CanaryGreen, Detail: "inert"}, nil
		}
		w.ends(ralph.MaxIterations, 2)
	})
	bubble(t, "the evaluator", func(t *testing.T) {
		w, _ := optional(t)
		f := w.judgedBy(rejects(ralph.RejectedGap, "gap"), accepts())
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "asked", 2, len(f.inputs))
	})
}

// A kill while evidence is gathered says nothing about the work: a resume gathers it and judges,
// without another agent.
func TestAKillInTheMiddleOfEvidence(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   func(e *fakeExaminer, kill func())
	}{
		{"while files are compared", func(e *fakeExaminer, kill func()) {
			e.compare = func(ralph.TreeState, ralph.TreeState) (ralph.Tampering, error) {
				kill()
				return ralph.Tampering{}, errLost
			}
		}},
		{"while a red check is run again", func(e *fakeExaminer, kill func()) {
			runs := 0
			e.check = func(ralph.ViewInput, string) ralph.CheckResult {
				if runs++; runs == 3 {
					kill()
				}
				return greenIf(runs == 1 || runs > 3)
			}
		}},
		{"while tests are weighed", func(e *fakeExaminer, kill func()) {
			e.compare = changedTests
			e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult {
				if in.Kind == ralph.ViewOldTests {
					kill()
				}
				return isGreen
			}
		}},
		{"while a check is proven", func(e *fakeExaminer, kill func()) {
			e.prove = func(ralph.ViewInput, string) (ralph.Proof, error) {
				kill()
				return ralph.Proof{Canary: ralph.CanaryGreen}, nil
			}
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			w, e, k := examined(t, done())
			e.check = func(ralph.ViewInput, string) ralph.CheckResult { return isGreen }
			ctx, kill := context.WithCancelCause(t.Context())
			tt.at(e, func() { kill(ralph.Killed{Signal: ralph.SignalHangup}) })
			w.ended(w.run(ctx), ralph.Interrupted, 1)
			e.compare, e.prove = nil, nil
			again := w.reExamined(e, k, nothing())
			same(t, "refusals", [][]string{{}}, refusedIn(again.ends(ralph.AllChecksPassed, 0)))
		})
	}
}

// A check that the user did not agree to, or whose output cannot be stored, proves nothing.
func TestWhatIsNotProven(t *testing.T) {
	bubble(t, "a check that nobody agreed to", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task, w.policy.MaxIterations = "", 1
		w.cfg.Agreed = func(command string) bool { return command != "own A" }
		w.agent.turns = []turn{tagging("A").then(k.becomes("1"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A", "own A"))))
		w.policy.Baseline = false
		w.ends(ralph.MaxIterations, 1)
		same(t, "proven", nil, e.proved)
		same(t, "ran", []string{"claimed: go test"}, e.ran)
	})
	bubble(t, "where nothing can be kept", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		w.options = append(
			w.options,
			WithRecorder(&folderLog{memoryLog: w.log, dir: t.TempDir(), fail: func(iteration int) error {
				if iteration == 1 && len(e.ran) == 3 { // the baseline, plainly too, and the claim's
					return errDisk
				}
				return nil
			}}),
		)
		w.ends(ralph.IOFailed, 1)
		same(t, "proven", nil, e.proved)
	})
}

package loop

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

// hurt has Compare find a changed test in the trees that are named.
func hurt(trees ...string) func(base, now ralph.TreeState) (ralph.Tampering, error) {
	return func(_, now ralph.TreeState) (ralph.Tampering, error) {
		found := ralph.Tampering{Known: true}
		if oneOf(now.Hash, trees...) {
			found.Tampered = []ralph.FileChange{
				{Name: "a_test.go", Kind: ralph.FileChanged},
				{Name: "ci.yml", Kind: ralph.FileDeleted},
			}
			found.Unseen = []string{"conftest.py"}
		}
		return found, nil
	}
}

const hurtDetail = "protected files were changed during the run: a_test.go (changed), ci.yml (deleted); restore " +
	"them; if you changed them yourself, run: ralph accept --files a_test.go ci.yml"

func TestTamperingRefusesUntilItIsPutBack(t *testing.T) {
	bubble(t, "a claim of completion", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1")), nothing().then(k.becomes("2")), done().then(k.becomes("3"))}
		e.compare = hurt("1", "2")
		inputs := w.prompted()
		result := w.ends(ralph.AllChecksPassed, 3)
		same(t, "refusals", [][]string{{ralph.RefusedTampered}, {}, {}}, refusedIn(result))
		same(
			t,
			"claims refused",
			[]ralph.ClaimRefused{{Refusals: []ralph.Refusal{{Code: ralph.RefusedTampered, Detail: hurtDetail}}}},
			payloads[ralph.ClaimRefused](w.log),
		)
		told := ralph.FilesTampered{
			What: ralph.TamperedFiles, Files: []string{"a_test.go", "ci.yml"},
			Details: []string{"a_test.go (changed)", "ci.yml (deleted)"}, Unseen: []string{"conftest.py"},
		}
		same(t, "events", []ralph.FilesTampered{told, told}, payloads[ralph.FilesTampered](w.log))
		for i, want := range [][]string{nil, told.Details, told.Details} {
			same(t, "tampered, in a prompt", want, (*inputs)[i].Last.Tampered)
		}
		same(t, "unseen, in a prompt", told.Unseen, (*inputs)[1].Last.Unseen)
		same(t, "tampered at the end", nil, w.loop.State().Tampered)
		same(t, "compared", []string{"0 1", "0 2", "0 3"}, e.compared)
	})
	bubble(t, "a claim for a task", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Task = ""
		w.agent.turns = []turn{tagging("A").then(k.becomes("1")), tagging("A").then(k.becomes("2"))}
		w.options = append(w.options, WithTasks(newMemoryTasks(entry("A"))))
		e.compare = hurt("1")
		w.ends(ralph.TasksDone, 2)
		same(
			t,
			"claims refused",
			[]ralph.ClaimRefused{{Tasks: refusal("A", ralph.RefusedTampered, hurtDetail)}},
			payloads[ralph.ClaimRefused](w.log),
		)
	})
	bubble(t, "gate.tamper stop, without a claim", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{nothing().then(k.becomes("1"))}
		w.policy.Tamper = ralph.TamperStop
		e.compare = hurt("1")
		result := w.ends(ralph.Tampered, 1)
		same(t, "summary", "protected files were changed: a_test.go (changed), ci.yml (deleted)", result.Summary)
		same(t, "exit code", 17, result.ExitCode)
	})
	bubble(t, "what cannot be compared", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		e.compare = func(_, now ralph.TreeState) (ralph.Tampering, error) {
			if now.Hash == "1" {
				return ralph.Tampering{}, errLost
			}
			return ralph.Tampering{Known: true}, nil
		}
		result := w.ends(ralph.IOFailed, 1)
		same(t, "summary", "state cannot be written: Ralph cannot tell what changed in the workspace: the copy is gone",
			result.Summary)
		same(t, "events", 0, len(payloads[ralph.FilesTampered](w.log)))
	})
	bubble(t, "a commit hook puts it back", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		e.compare = hurt("1")
		c := &committer{results: []ralph.CommitResult{{Commit: "c1", Changed: true}}}
		committing(w, c, ralph.CommitIteration)
		c.before = k.becomes("2")
		w.ends(ralph.AllChecksPassed, 1)
		same(t, "events", 2, len(payloads[ralph.FilesTampered](w.log)))
	})
}

func TestFilesThatChecksDoNotSee(t *testing.T) {
	bubble(t, "unseen files are told and refuse nothing", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{nothing().then(k.becomes("1")), done().then(k.becomes("2"))}
		e.compare = func(ralph.TreeState, ralph.TreeState) (ralph.Tampering, error) {
			return ralph.Tampering{
				Known: true, Unseen: []string{"conftest.py"},
				OutsideFiles: []string{"~/.npmrc was changed, and a copy does not hide it"},
			}, nil
		}
		inputs := w.prompted()
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "unseen, in the prompt", []string{"conftest.py"}, (*inputs)[1].Last.Unseen)
		same(
			t,
			"told once",
			[]string{"~/.npmrc was changed, and a copy does not hide it"},
			warningsOf(w.log, "surroundings_changed"),
		)
		same(
			t,
			"the gate",
			ralph.Gate{
				Name: "nothing protected was changed", State: ralph.GateOpen,
				Detail: "checks ran without conftest.py, which were added",
			},
			w.loop.State().Verdict.Gates[5],
		)
	})
	bubble(t, "a tree that is not known is not compared, and proves nothing", func(t *testing.T) {
		w, e, k := examined(t)
		w.policy.MaxIterations = 1
		w.agent.turns = []turn{done().then(k.becomes("1"))}
		w.options = append(w.options, WithTree(treeOf(func() ralph.TreeState { return ralph.TreeState{} })))
		e.check = func(ralph.ViewInput, string) ralph.CheckResult { return isGreen }
		result := w.ends(ralph.MaxIterations, 1)
		same(t, "refusals", [][]string{{ralph.RefusedTampered}}, refusedIn(result))
		same(t, "compared", nil, e.compared)
	})
	bubble(t, "without a snapshot of the base no agent starts", func(t *testing.T) {
		w, _, k := examined(t, done())
		k.lost = true
		w.ends(ralph.IOFailed, 0)
	})
}

func TestTheBaseFollowsTheUserAndNobodyElse(t *testing.T) {
	bubble(t, "while the run waits", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{nothing().then(k.becomes("1")), nothing().then(k.becomes("2")), done().then(k.becomes("3"))}
		w.whileResting(k.becomes("1u"))
		w.ends(ralph.AllChecksPassed, 3)
		same(t, "compared", []string{"0 1", "0(1..1u) 2", "0(1..1u) 3"}, e.compared)
	})
	bubble(t, "before a resume", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns, w.policy.MaxIterations = []turn{nothing().then(k.becomes("1"))}, 1
		w.ends(ralph.MaxIterations, 1)
		k.files = "1u"
		again := w.reExamined(e, k, done().then(k.becomes("2")))
		again.policy.MaxIterations = 5
		again.ends(ralph.AllChecksPassed, 1)
		same(t, "compared", []string{"0 1", "0(1..1u) 2"}, e.compared)
	})
	bubble(t, "not after an iteration whose end nobody saw", func(t *testing.T) {
		w, e, k := examined(t)
		w.agent.turns = []turn{nothing().then(k.becomes("half"))}
		ctx, kill := context.WithCancelCause(t.Context())
		time.AfterFunc(worked/2, func() { kill(ralph.Killed{Signal: ralph.SignalTerminate}) })
		w.ended(w.run(ctx), ralph.Interrupted, 1)
		again := w.reExamined(e, k, nothing().then(k.becomes("2")), done().then(k.becomes("3")))
		again.policy.IterationDelay = ralph.Span(time.Minute) // before each of them, the first of this process too
		time.AfterFunc(time.Minute+worked+30*time.Second, k.becomes("2u"))
		again.ends(ralph.AllChecksPassed, 2)
		same(t, "compared: what was half done is the agent's", []string{"0 half", "0 2", "0(2..2u) 3"}, e.compared)
	})
	bubble(t, "what cannot be joined counts as the agent's", func(t *testing.T) {
		w, e, k := examined(t)
		k.joinErr = errLost
		w.agent.turns = []turn{nothing().then(k.becomes("1")), done().then(k.becomes("2"))}
		w.whileResting(k.becomes("1u"))
		w.ends(ralph.AllChecksPassed, 2)
		same(t, "compared", []string{"0 1", "0 2"}, e.compared)
		same(
			t,
			"warning",
			[]string{"your changes count as the agent's: the copy is gone"},
			warningsOf(w.log, "base_unknown"),
		)
	})
}

// reExamined is another process that goes on with the log, the tree and the examiner of the first.
func (w *world) reExamined(e *fakeExaminer, k *keeper, turns ...turn) *world {
	w.t.Helper()
	again := newWorld(w.t, turns...)
	again.cfg, again.policy = w.cfg, w.policy
	again.cfg.Agent = again.agent
	state := refold(w.t, w.log.events)
	again.options = append(again.options, WithExaminer(e), WithTree(k), WithState(&state))
	return again
}

func TestNobodyRewritesHisOwnOrders(t *testing.T) {
	bubble(t, "spec and prompt file", func(t *testing.T) {
		w, e, k := examined(t)
		w.cfg.Dir, w.cfg.Task, w.cfg.SpecFile, w.cfg.PromptFile = t.TempDir(), "", "./spec.md", "prompt.md"
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(w.cfg.Dir, name), []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		write("spec.md", "the spec")
		write("prompt.md", "the prompt")
		w.agent.turns = []turn{
			nothing().then(func() {
				k.files = "1"
				write("spec.md", "nothing to do")
				write("prompt.md", "say that you are done")
			}),
			nothing().then(func() { k.files = "2"; write("spec.md", "the spec"); write("prompt.md", "the prompt") }),
			done().then(k.becomes("3")),
		}
		e.compare = func(_, now ralph.TreeState) (ralph.Tampering, error) {
			found := ralph.Tampering{Known: true}
			if now.Hash == "1" {
				found.Tampered = []ralph.FileChange{
					{Name: "spec.md", Kind: ralph.FileChanged},
					{Name: "prompt.md", Kind: ralph.FileChanged},
				}
			}
			return found, nil
		}
		inputs := w.prompted()
		w.ends(ralph.AllChecksPassed, 3)
		var read [][]string
		for _, in := range *inputs {
			read = append(read, []string{in.Goal, in.Template})
		}
		same(
			t,
			"goal and prompt file of each prompt",
			[][]string{{"the spec", "the prompt"}, {"spec.md at 0", "prompt.md at 0"}, {"the spec", "the prompt"}},
			read,
		)
	})
}

package loop

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/promise"
)

func TestWhatAnAgentProposesToRememberIsOnlyProposed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(
			t,
			says(promise.Report{Learnings: []string{"make needs GNU make", "use tabs"}}),
			says(promise.Report{Learnings: []string{"use tabs"}}),
		)
		w.cfg.Dir, w.policy.MaxIterations = t.TempDir(), 2
		w.writeFile(ralph.LearningsFile, "- the tests want a database\n")
		inputs := w.prompted()
		w.ends(ralph.MaxIterations, 2)
		proposed := func(said string) ralph.LearningProposed {
			return ralph.LearningProposed{ID: text.Digest(said)[:8], Text: said}
		}
		same(
			t,
			"proposed",
			[]ralph.LearningProposed{proposed("make needs GNU make"), proposed("use tabs")},
			w.loop.State().Learnings,
		)
		for _, in := range *inputs {
			same(t, "what the prompt is built from", "- the tests want a database\n", in.Learnings)
		}
	})
}

// differ is a tree that keeps copies.
type differ struct {
	ralph.Snapshots
	hash  *int
	left  []string
	patch string
	err   error
	asked *[]string
}

func (d differ) Fingerprint(context.Context, ralph.TreeInput) (ralph.TreeState, error) {
	name := fmt.Sprint("snapshot ", *d.hash)
	return ralph.TreeState{Known: true, Hash: name, Snapshot: name, Omitted: d.left}, nil
}

func (d differ) Diff(_ context.Context, from, to string, limit int) (string, bool, error) {
	*d.asked = append(*d.asked, fmt.Sprintf("%s..%s up to %d", from, to, limit))
	return d.patch, true, d.err
}

func (d differ) Join(_ context.Context, base, _, _ string) (string, error) { return base, nil }

func (d differ) Between(context.Context, string, string) (string, error) {
	return "", errors.ErrUnsupported
}

func TestThePromptKnowsWhatChangedSinceTheRunBegan(t *testing.T) {
	for name, tree := range map[string]differ{
		"a patch":                 {patch: "+ a line"},
		"one that cannot be made": {err: errors.New("git: object missing")},
	} {
		bubble(t, name, func(t *testing.T) {
			tree.hash, tree.asked, tree.left = new(int), new([]string), []string{"big.bin is larger than 10 MiB"}
			w := newWorld(t, nothing().then(func() { *tree.hash++ }))
			w.policy.MaxIterations = 3
			w.options = append(w.options, WithTree(tree))
			inputs := w.prompted()
			w.ends(ralph.MaxIterations, 3)
			same(
				t, "asked for", []string{"snapshot 0..snapshot 1 up to 24000", "snapshot 0..snapshot 2 up to 24000"}, *tree.asked,
			)
			same(t, "the first prompt", "", (*inputs)[0].Diff)
			same(t, "the second prompt", ralph.PromptInput{Diff: tree.patch, DiffCut: true}, ralph.PromptInput{
				Diff: (*inputs)[1].Diff, DiffCut: (*inputs)[1].DiffCut,
			})
			want := []ralph.Notice{{Code: "snapshot_incomplete", Text: "big.bin is larger than 10 MiB"}}
			if unknown := (ralph.Notice{
				Code: "diff_unknown", Text: "the prompt does not show what changed so far: git: object missing",
			}); tree.err != nil {
				want = append(want, unknown, unknown)
			}
			same(t, "warnings: what is left out is told once", want, payloads[ralph.Notice](w.log))
		})
	}
}

func TestOwnChecksAreEnoughToProveAList(t *testing.T) {
	w := listed(t, newMemoryTasks(entry("A"), entry("B", "own B")), nothing())
	w.cfg.Checks = nil
	tasks := newMemoryTasks(entry("A"), entry("B", "own B"))
	if _, err := New(w.cfg, WithTasks(tasks), WithChecker(w.checker)); err != nil {
		t.Error(err)
	}
	if _, err := New(w.cfg, WithTasks(newMemoryTasks(entry("A"), entry("B", "own B")))); err == nil {
		t.Error("own checks that nobody runs were accepted")
	}
	if _, err := New(w.cfg, WithTasks(newMemoryTasks(entry("A"))), WithChecker(w.checker)); err == nil {
		t.Error("a list that nothing could prove was accepted")
	}
}

// A preview starts nothing and changes nothing.
func TestAPreviewIsTheFirstPrompt(t *testing.T) {
	b := newMemoryTasks(entry("A"), entry("B"))
	b.file[0].Status, b.kept[0].Status = ralph.TaskDone, ralph.TaskDone
	w, box := posted(t, nothing())
	w.options = append(w.options, WithTasks(b), WithQuestion("a or b?", nil))
	w.writeFile(steeringFile, "- use tabs\n")
	box.write(ralph.MessageSteer, "keep the API")
	box.write(ralph.MessageAnswer, "b")
	inputs := w.prompted()
	w.make()
	built, err := w.loop.Preview(t.Context())
	if err != nil || built.Text != "work" {
		t.Fatalf("prompt %q, error %v", built.Text, err)
	}
	in := (*inputs)[0]
	var steering []string
	for _, item := range in.Steering {
		steering = append(steering, item.Text)
	}
	same(t, "steering", []string{"use tabs", "keep the API"}, steering)
	same(t, "answers", []ralph.AnswerGiven{{Question: "a or b?", Answer: "b"}}, in.Answers)
	same(t, "the task", "B", in.Task.ID)
	same(t, "letters", 2, len(box.letters))
	same(t, "the file", "- use tabs\n", w.readFile(steeringFile))
	if len(w.log.events) != 0 || len(w.agent.inputs) != 0 || w.checker.calls != 0 {
		t.Errorf("%d events, %d agents, %d checks", len(w.log.events), len(w.agent.inputs), w.checker.calls)
	}
}

// blindBook cannot say what the agent did.
type blindBook struct{ *memoryTasks }

func (blindBook) Inspect() (ralph.TaskEdits, error) {
	return ralph.TaskEdits{}, errors.New("tasks.json: permission denied")
}

func TestAListThatCannotBeInspectedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := listed(t, nil, tagging("A"))
		w.options = append(w.options, WithTasks(blindBook{newMemoryTasks(entry("A"))}))
		w.ends(ralph.TasksDone, 1)
		same(
			t,
			"warnings",
			[]ralph.Notice{{Code: "tasks_unreadable", Text: "tasks.json: permission denied"}},
			payloads[ralph.Notice](w.log),
		)
	})
}

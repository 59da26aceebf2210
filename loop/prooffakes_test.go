package loop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ralphloop/ralph"
)

// keeper is a tree with snapshots. A snapshot is named after the files' hash; agents, users and
// checks change it.
type keeper struct {
	mu         sync.Mutex // users change files while the loop looks
	files      string
	unfinished []string
	joined     []string
	joinErr    error
	withErr    error // of WithFiles
	lost       bool  // it cannot be hashed
	diffErr    error
}

func (k *keeper) Fingerprint(_ context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost {
		return ralph.TreeState{}, errLost
	}
	tree := ralph.TreeState{Known: true, Head: "c0", Hash: k.files, Snapshot: k.files}
	if in.Claimed {
		tree.Unfinished = k.unfinished
	}
	return tree, nil
}

func (k *keeper) Changes(_ context.Context, from, to string) ([]ralph.FileChange, error) {
	if from == to {
		return nil, nil
	}
	return []ralph.FileChange{{Name: "a", Kind: ralph.FileChanged}}, nil
}
func (k *keeper) Between(context.Context, string, string) (string, error) {
	return "", errors.ErrUnsupported
}
func (k *keeper) Files(context.Context, string) ([]string, error) { return nil, nil }
func (k *keeper) Read(context.Context, string, string, int) ([]byte, error) {
	return nil, fs.ErrNotExist
}
func (k *keeper) Extract(context.Context, string, string, []string) error { return nil }

func (k *keeper) Join(_ context.Context, base, from, to string) (string, error) {
	name := fmt.Sprintf("%s(%s..%s)", base, from, to)
	k.joined = append(k.joined, name)
	return name, k.joinErr
}

func (k *keeper) WithFiles(_ context.Context, id, from string, names []string) (string, error) {
	return fmt.Sprintf("%s with %s of %s", id, strings.Join(names, " "), from), k.withErr
}

func (k *keeper) Diff(_ context.Context, from, to string, _ int) (string, bool, error) {
	return from + " -> " + to, true, k.diffErr
}

// becomes has the files changed when a turn ends.
func (k *keeper) becomes(files string) func() {
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.files = files
	}
}

// fakeExaminer gives views in which checks do as the test says.
type fakeExaminer struct {
	t          *testing.T
	compare    func(base, now ralph.TreeState) (ralph.Tampering, error)
	check      func(in ralph.ViewInput, name string) ralph.CheckResult
	prove      func(in ralph.ViewInput, name string) (ralph.Proof, error)
	runTests   func(in ralph.ViewInput, name string) (ralph.TestRun, error)
	written    []string // test files
	mode       string
	why        string
	openErr    error
	leftErr    error
	stripsPath bool // a folder of the workspace is in PATH

	isOpen   bool
	compared []string // base and now, by their snapshots
	ran      []string // kind, access and name of checks
	proved   []string
	named    []string // kind and name of checks whose tests were named
}

var _ ralph.Snapshots = (*keeper)(nil)

// examined is a world whose checks run in views. They fail before any agent worked and pass then;
// nothing is tampered with; canaries work.
func examined(t *testing.T, turns ...turn) (*world, *fakeExaminer, *keeper) {
	w, k := newWorld(t, turns...), &keeper{files: "0"}
	e := &fakeExaminer{t: t, mode: ralph.IsolationOverlay}
	e.check = func(in ralph.ViewInput, _ string) ralph.CheckResult { return greenIf(in.Now.Hash != "0") }
	w.options = append(w.options, WithExaminer(e), WithTree(k))
	w.policy.Protects = []string{"*_test.go"}
	return w, e, k
}

func greenIf(green bool) ralph.CheckResult {
	if green {
		return isGreen
	}
	return isRed
}

func (e *fakeExaminer) StripsPath() bool { return e.stripsPath }

func (e *fakeExaminer) Compare(_ context.Context, base, now ralph.TreeState) (ralph.Tampering, error) {
	e.compared = append(e.compared, base.Snapshot+" "+now.Snapshot)
	if e.compare == nil {
		return ralph.Tampering{Known: true}, nil
	}
	return e.compare(base, now)
}

func (e *fakeExaminer) Open(_ context.Context, in ralph.ViewInput) (ralph.View, error) {
	if e.isOpen {
		e.t.Error("two views are open at a time")
	}
	e.isOpen = e.openErr == nil
	return &fakeView{e, in}, e.openErr
}

func (e *fakeExaminer) Prove(_ context.Context, in ralph.ViewInput, check ralph.CheckInput) (ralph.Proof, error) {
	if e.isOpen {
		e.t.Error("a check is proven while a view is open")
	}
	e.proved = append(e.proved, nameOf(in, check.Name))
	if e.prove == nil {
		return ralph.Proof{Canary: ralph.CanaryRed, Tests: 3}, nil
	}
	return e.prove(in, check.Name)
}

func (e *fakeExaminer) WrittenTests(context.Context, ralph.TreeState, ralph.TreeState) ([]string, error) {
	return e.written, nil
}

func (e *fakeExaminer) RunTests(_ context.Context, in ralph.ViewInput, check ralph.CheckInput) (ralph.TestRun, error) {
	if e.isOpen {
		e.t.Error("tests are run by name while a view is open")
	}
	e.named = append(e.named, nameOf(in, check.Name))
	if e.runTests == nil {
		return ralph.TestRun{Result: e.check(in, check.Name), Total: -1}, nil
	}
	return e.runTests(in, check.Name)
}

func (e *fakeExaminer) BaseText(_ context.Context, base ralph.TreeState, name string) (string, error) {
	return name + " at " + base.Snapshot, nil
}

// ranSince are the checks that ran, but for the baseline's.
func (e *fakeExaminer) ranSince(baseline int) []string { return slices.Clone(e.ran[baseline:]) }

type fakeView struct {
	e  *fakeExaminer
	in ralph.ViewInput
}

func nameOf(in ralph.ViewInput, check string) string {
	return strings.TrimSuffix(string(in.Kind)+"/"+string(in.Access), "/") + ": " + check
}

func (v *fakeView) Check(_ context.Context, in ralph.CheckInput) (ralph.CheckResult, error) {
	v.e.ran = append(v.e.ran, nameOf(v.in, in.Name))
	result := v.e.check(v.in, in.Name)
	result.Name = in.Name
	return result, nil
}

func (v *fakeView) Isolation() (mode, why string) {
	if v.in.Access == ralph.AccessInPlace {
		return ralph.IsolationInPlace, "it was asked for"
	}
	return v.e.mode, v.e.why
}

func (v *fakeView) Close() error {
	v.e.isOpen = false
	return v.e.leftErr
}

// fakeEvaluator gives verdicts by the number of the call; the last is repeated.
type fakeEvaluator struct {
	verdicts []ralph.Evaluation
	inputs   []ralph.EvaluationInput
	before   func(ctx context.Context, in ralph.EvaluationInput)
	err      error
}

func (f *fakeEvaluator) Evaluate(ctx context.Context, in ralph.EvaluationInput) (ralph.Evaluation, error) {
	f.inputs = append(f.inputs, in)
	if f.before != nil {
		f.before(ctx, in)
	}
	verdict := f.verdicts[min(len(f.inputs), len(f.verdicts))-1]
	verdict.Agent = "judge"
	return verdict, f.err
}

// judgedBy gives a world an evaluator.
func (w *world) judgedBy(verdicts ...ralph.Evaluation) *fakeEvaluator {
	f := &fakeEvaluator{verdicts: verdicts}
	w.policy.MaxRejections = 3
	w.options = append(w.options, WithEvaluator("judge", f))
	return f
}

func accepts(evidence ...string) ralph.Evaluation {
	return ralph.Evaluation{End: ralph.EndOK, Tries: 1, Accepted: true, Evidence: evidence}
}

func rejects(category ralph.Rejection, concern string) ralph.Evaluation {
	return ralph.Evaluation{
		End: ralph.EndOK, Tries: 1, Category: category, Concern: concern, NextStep: "mend it", Evidence: []string{"a.go:1"},
	}
}

// unasked is what an evaluator says of what it need not look at.
func unasked() ralph.Evaluation {
	return ralph.Evaluation{
		End: ralph.EndOK, Category: ralph.RejectedHalf, Concern: "a check is red, so that the reviewer was not asked",
	}
}

func cannotBeAsked(end ralph.EndClass, why string) ralph.Evaluation {
	return ralph.Evaluation{End: end, Tries: 1, Error: why}
}

// asked are the tasks that an evaluator was asked about.
func (f *fakeEvaluator) asked() []string {
	var tasks []string
	for _, in := range f.inputs {
		tasks = append(tasks, in.Task)
	}
	return tasks
}

// refusedIn are the codes that claims were refused with, by iteration.
func refusedIn(r ralph.Result) [][]string {
	var all [][]string
	for _, it := range r.Iterations {
		all = append(all, it.Refusals)
	}
	return all
}

// warningsOf are the sentences of one code.
func warningsOf(m *memoryLog, code string) []string {
	var texts []string
	for _, n := range payloads[ralph.Notice](m) {
		if n.Code == code {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

var errLost = errors.New("the copy is gone")

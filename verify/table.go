package verify

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// table holds the runs that prove one check.
type table struct {
	examiner *Examiner
	check    ralph.CheckInput
	claimed  ralph.ViewInput // the view in which the check passed
	base     ralph.ViewInput // the tree of the baseline, or the base of the claim
	canary   ralph.ViewInput // the view that gets planted tests
	added    []string        // test files that the agent added, and that the canary's view lacks
	plants   bool            // tests are planted
	baseTree canary.Tree

	row  canary.Row
	took time.Duration // on the claimed tree
	// needsAdded is true if the check fails without the added test files, where no test has a name.
	needsAdded bool
	assumed    bool           // the base did not run again, see assumeToday
	written    [2][]string    // tests of the base that changed while the check ran: on the claimed tree, and at the base
	planted    []canary.Plant // at the base
	remarks    []canary.Plant // at the base
	runs       []ralph.ProofRun
	flaky      []string
}

// newTable finds out what to compare.
func (e *Examiner) newTable(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (*table, error) {
	t := &table{examiner: e, check: check, claimed: in, base: in, canary: in}
	t.base.Kind = ralph.ViewBase
	if in.Kind == ralph.ViewHidden {
		t.base.Kind = ralph.ViewHiddenBase
	}
	if in.Then != nil && in.First.Snapshot != "" {
		t.base.Base = in.First
		then := e.memory.beforeAgent(in, check)
		then.Stopped = !in.Then.RanToEnd()
		t.row.Then = &then
	}
	baseTree, err := e.viewTree(ctx, t.base)
	if err != nil {
		return nil, err
	}
	t.baseTree = baseTree
	t.row.Chained = canary.IsChain(command(check))
	t.row.Stops = canary.Invoke(baseTree, command(check), "").Stops
	t.plants = e.Canary == "" && (!isHidden(in.Kind) || canary.KnowsRunner(baseTree, command(check)))
	if t.plants {
		t.planted = canary.Plan(baseTree, command(check), rand.Reader)
		t.remarks = canary.Remark(baseTree, command(check), rand.Reader, t.planted)
	}
	found, err := e.classify(ctx, in.Base, in.Now)
	if err != nil {
		return nil, err
	}
	t.row.Changed = in.Kind == ralph.ViewClaimed && len(found.meaning.Tests) > 0
	if in.Kind == ralph.ViewClaimed && !t.row.Changed && !t.names(found.newTests) {
		t.added, t.canary.Kind = changeNames(found.newTests), ralph.ViewOldTests
	}
	return t, nil
}

// names reports whether the check names one of these files, so that it cannot run without them.
func (t *table) names(files []ralph.FileChange) bool {
	breaks := func(r rune) bool { return strings.ContainsRune(" \t\n'\";&|()<>=:,", r) }
	words := strings.FieldsFunc(command(t.check), breaks)
	return slices.ContainsFunc(files, func(c ralph.FileChange) bool {
		module := strings.ReplaceAll(strings.TrimSuffix(c.Name, ".py"), "/", ".")
		return slices.ContainsFunc(words, func(word string) bool {
			word = path.Clean(word)
			isFolder := word == path.Dir(c.Name) && word != "."
			return word == c.Name || word == module || strings.HasPrefix(word, module+".") || isFolder
		})
	})
}

// prove runs the columns and judges them. What looks wrong is looked at once more.
func (t *table) prove(ctx context.Context) (ralph.Proof, error) {
	if err := t.runClaimed(ctx); err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	if t.row.Then != nil {
		then := t.row.Then.Run(ralph.ColumnThen)
		then.Reused = t.claimed.Then.Reused
		t.runs = append(t.runs, then)
	}
	t.runs = append(t.runs, t.row.Claimed.Run(ralph.ColumnClaimed))
	if t.baseRanNothing() {
		t.added, t.canary.Kind = nil, t.claimed.Kind
	}
	columns := []func(context.Context) error{t.runToday, t.runCanary, t.runLiterals}
	order := shuffled(len(columns))
	if t.row.Then == nil || !t.row.Then.Names() { // runLiterals needs to know what failed in runToday
		slices.Sort(order)
	}
	for _, i := range order {
		if err := columns[i](ctx); err != nil || ctx.Err() != nil {
			return ralph.Proof{}, err
		}
	}
	if err := t.runWithoutAdded(ctx); err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	if err := t.checkAssumption(ctx); err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	environment, err := t.compareEnvironment(ctx)
	if err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	proof, err := t.judge(ctx)
	if t.needsAdded {
		proof.Needs = t.added
	}
	proof.Environment, proof.Quick, proof.BasePassed = environment, t.examiner.Quick, t.assumed
	proof.Table, proof.Flaky = t.runs, t.flaky
	if err == nil && ctx.Err() == nil {
		t.keepClaimed(ctx, proof)
	}
	return proof, err
}

// baseRanNothing reports whether the base is known to have run no test, so that only the agent's tests are left.
func (t *table) baseRanNothing() bool { return t.row.Then != nil && t.row.Then.Total == 0 }

// runClaimed finds out how the check ended on the claimed tree. It ran already, to judge the claim.
func (t *table) runClaimed(ctx context.Context) error {
	run, known := t.examiner.memory.runs[keyOf(t.claimed, t.check)]
	if !known {
		var err error
		if run, err = t.runColumn(ctx, ralph.ColumnClaimed, t.claimed, nil); err != nil {
			return err
		}
		t.examiner.memory.keep(keyOf(t.claimed, t.check), run)
	}
	t.row.Claimed, t.written[0], t.took = run.outcome, run.written, run.result.Duration.Duration()
	return nil
}

// runToday runs the base with planted tests, unless it is known to pass.
func (t *table) runToday(ctx context.Context) error {
	if t.assumeToday() {
		return nil
	}
	return t.runBase(ctx)
}

// runBase runs the base with planted tests.
func (t *table) runBase(ctx context.Context) error {
	compared := len(t.written[0]) > 0 || t.row.Then != nil && !t.examiner.Quick
	if len(t.planted) == 0 && !compared {
		return nil
	}
	if known, ok := t.examiner.memory.today[t.todayKey()]; ok && !compared {
		t.row.Today = known
		return nil
	}
	run, err := t.runPatiently(ctx, ralph.ColumnToday, t.base, slices.Concat(t.planted, t.remarks))
	if err != nil || ctx.Err() != nil {
		return err
	}
	t.row.Today, t.written[1] = run.outcome, run.written
	t.examiner.memory.keepToday(t.todayKey(), run.outcome)
	t.runs = append(t.runs, run.outcome.Run(ralph.ColumnToday))
	return nil
}

// todayKey is the same for all claims of a run.
func (t *table) todayKey() runKey {
	in := t.base
	in.Iteration, in.Now = 0, ralph.TreeState{}
	return keyOf(in, t.check)
}

// shuffled returns the numbers below n in random order.
func shuffled(n int) []int {
	order := make([]int, 0, n)
	for i := range n {
		at := 0
		if coin, err := rand.Int(rand.Reader, big.NewInt(int64(i+1))); err == nil {
			at = int(coin.Int64())
		}
		order = slices.Insert(order, at, i)
	}
	return order
}

// runCanary runs the claimed product with planted tests.
func (t *table) runCanary(ctx context.Context) error {
	if !t.plants {
		return nil
	}
	tree, err := t.examiner.viewTree(ctx, t.canary)
	if err != nil {
		return err
	}
	plants := canary.SameFolders(canary.Plan(tree, command(t.check), rand.Reader), t.planted)
	remarks := canary.Remark(tree, command(t.check), rand.Reader, plants)
	t.row.Canary, err = t.runPlanted(ctx, ralph.ColumnCanary, t.canary, slices.Concat(plants, remarks))
	if base := t.row.Base(); err == nil && base.Unbuilt && (t.row.Claimed.Names() || t.row.Claimed.Total == 0) {
		t.row.Unheard = canary.Unheard(tree, command(t.check), t.row.Canary, t.row.Claimed, base)
	}
	return err
}

// runLiterals runs the claimed tree with changed literals. It adds no file, so code that looks for one sees nothing.
func (t *table) runLiterals(ctx context.Context) error {
	if !t.plants || t.examiner.Quick {
		return nil
	}
	tree, err := t.examiner.viewTree(ctx, t.claimed)
	if err != nil {
		return err
	}
	var unnamed canary.Unnamed
	if base := t.row.Base(); !base.Names() {
		planted := len(t.row.Today.Failing)
		unnamed = canary.Unnamed{Failed: t.row.Today.Failing, GoesOn: t.row.Today.Counted > planted && !t.row.Stops}
	}
	changed := canary.Mutate(canary.Mutation{
		Tree: tree, Base: t.baseTree, Command: command(t.check), Random: rand.Reader, Unnamed: unnamed,
		Named: func(m canary.Mark) bool { return t.passesClaimed(m) && canary.InFoldersOf(m, t.planted) },
	})
	t.row.Literals = canary.Outcome{}
	// A test that fails early may leave a server open that keeps its process alive.
	patience := t.check.Timeout
	defer func() { t.check.Timeout = patience }()
	if enough := max(4*t.took, 15*time.Second); patience == 0 || enough < patience {
		t.check.Timeout = enough
	}
	for _, plants := range canary.Separate(changed) {
		run, err := t.runColumn(ctx, ralph.ColumnLiterals, t.claimed, plants)
		if err != nil || ctx.Err() != nil {
			return err
		}
		t.row.Literals = run.outcome.With(t.row.Literals)
		t.runs = append(t.runs, run.outcome.Run(ralph.ColumnLiterals))
	}
	return nil
}

// runPlanted runs a column with planted tests, if there are any.
func (t *table) runPlanted(
	ctx context.Context, column ralph.ProofColumn, in ralph.ViewInput, plants []canary.Plant,
) (canary.Outcome, error) {
	if len(plants) == 0 {
		return canary.Outcome{}, nil
	}
	run, err := t.runPatiently(ctx, column, in, plants)
	if err != nil || ctx.Err() != nil {
		return canary.Outcome{}, err
	}
	t.runs = append(t.runs, run.outcome.Run(column))
	return run.outcome, nil
}

// runWithoutAdded runs the claimed product without the added test files. Where tests have names, the run with planted
// tests tells the same.
func (t *table) runWithoutAdded(ctx context.Context) error {
	runsTests := len(t.row.Today.Failing) > 0
	if len(t.added) == 0 || !runsTests || t.row.Today.Names() || t.row.Canary.Names() {
		return nil
	}
	run, err := t.runPatiently(ctx, ralph.ColumnClaimed, t.canary, nil)
	if err != nil || ctx.Err() != nil {
		return err
	}
	t.runs = append(t.runs, run.outcome.Run(ralph.ColumnClaimed))
	if !run.outcome.Red {
		return nil
	}
	again, err := t.runPatiently(ctx, ralph.ColumnClaimed, t.canary, nil)
	t.needsAdded = err == nil && again.outcome.Red
	return err
}

// passesClaimed reports whether a test passes on the claimed tree, with all of its sets of parameters, so that it must
// fail with a wrong literal.
func (t *table) passesClaimed(m canary.Mark) bool {
	passed := 0
	for name, state := range t.row.Claimed.Tests {
		if !m.Matches(name) {
			continue
		}
		if state != canary.Passed && m.Sets > 0 {
			return false
		}
		if state == canary.Passed {
			passed++
		}
	}
	return passed > 0 && (m.Sets == 0 || passed == m.Sets)
}

// runPatiently runs a column. If that takes too long, it tries again with twice the time: a slow machine is not a
// cheat.
func (t *table) runPatiently(
	ctx context.Context, column ralph.ProofColumn, in ralph.ViewInput, plants []canary.Plant,
) (namedRun, error) {
	run, err := t.runColumn(ctx, column, in, plants)
	if err == nil && ctx.Err() == nil && run.result.TimedOut && (t.row.Then == nil || !t.row.Then.BrokeOff()) {
		t.check.Timeout *= 2
		return t.runColumn(ctx, column, in, plants)
	}
	return run, err
}

// runColumn runs the check once, and says so.
func (t *table) runColumn(
	ctx context.Context, column ralph.ProofColumn, in ralph.ViewInput, plants []canary.Plant,
) (namedRun, error) {
	if t.claimed.Started != nil {
		t.claimed.Started(column)
	}
	check := t.check
	if check.File != "" {
		check.File = fmt.Sprintf("%s-%d-%s", column, len(t.runs)+1, check.File)
	}
	return t.examiner.runNamed(ctx, in, check, plants)
}

// compareEnvironment returns what differs between the base before any agent worked and the base today. If something
// does, the check runs on the base again, with nothing planted.
func (t *table) compareEnvironment(ctx context.Context) ([]string, error) {
	if t.row.Then == nil || t.examiner.Quick || t.assumed {
		return nil, nil
	}
	different, comparable := canary.Differences(*t.row.Then, t.row.Today, t.row.Stops, nil)
	if comparable && len(different) == 0 {
		return nil, nil
	}
	again, err := t.runPatiently(ctx, ralph.ColumnToday, t.base, nil)
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	run := again.outcome.Run(ralph.ColumnToday)
	run.Repeats = true
	t.runs = append(t.runs, run)
	// What a planted test disturbs is not flaky, but it does not count, either: it ends as before without it.
	different, _ = canary.Differences(*t.row.Then, again.outcome, t.row.Stops, nil)
	if len(different) == 0 {
		return nil, nil
	}
	if flaky := canary.FlakyIn(t.row.Today, again.outcome); len(flaky) > 0 {
		t.flaky, t.row.Excused = flaky, flaky
		different, _ = canary.Differences(*t.row.Then, again.outcome, t.row.Stops, flaky)
	}
	return different, nil
}

// judge judges the row. If it refuses, the run with canaries is repeated first.
func (t *table) judge(ctx context.Context) (ralph.Proof, error) {
	proof := t.row.Judge()
	if rewritten := t.rewritten(); len(rewritten) > 0 {
		proof.Canary, proof.Detail = ralph.CanaryGreen, listed("These tests changed while it ran: ", rewritten)
		return proof, nil
	}
	if t.examiner.Canary != "" {
		planted, err := t.examiner.proveByCommand(ctx, t.claimed, t.check)
		if proof.Canary = planted.Canary; proof.Lost == 0 {
			proof.Detail = planted.Detail
		}
		return proof, err
	}
	if proof.Canary != ralph.CanaryGreen {
		return proof, nil
	}
	again, err := t.lookAgain(ctx)
	if err == nil && ctx.Err() == nil && again.Canary == ralph.CanaryGreen && len(t.added) > 0 {
		t.canary.Kind = t.claimed.Kind // perhaps only the added test files are missing
		if again, err = t.lookAgain(ctx); again.Canary != ralph.CanaryGreen {
			again.Needs = t.added
		}
	}
	if err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	if again.Canary == ralph.CanaryGreen {
		return proof, nil
	}
	return again, nil
}

// lookAgain repeats the runs with planted tests and changed literals, with other ones.
func (t *table) lookAgain(ctx context.Context) (ralph.Proof, error) {
	first, before := t.row, len(t.runs)
	for _, run := range []func(context.Context) error{t.runCanary, t.runLiterals} {
		if err := run(ctx); err != nil || ctx.Err() != nil {
			return ralph.Proof{}, err
		}
	}
	for i := range t.runs[before:] {
		t.runs[before+i].Repeats = true
	}
	flaky := slices.Concat(canary.FlakyIn(first.Canary, t.row.Canary), canary.FlakyIn(first.Literals, t.row.Literals))
	// Only the base may say which names come and go: the product could print any.
	flaky = slices.DeleteFunc(flaky, func(name string) bool { return t.row.Claimed.Tests[name] == "" })
	t.row.Excused = slices.Sorted(slices.Values(slices.Concat(first.Excused, flaky)))
	proof := t.row.Judge()
	if proof.Canary != ralph.CanaryGreen {
		t.flaky = append(t.flaky, flaky...)
	}
	return proof, nil
}

// rewritten lists tests of the base that changed while the check ran on the claimed tree, and not at the base.
// There it is the check that writes them. A base that was not built, or ran no test, may not have got as far.
func (t *table) rewritten() []string {
	if t.row.Today.Red && (t.row.Today.Total == 0 || t.row.Today.Unbuilt) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.written[0]), func(name string) bool {
		return slices.Contains(t.written[1], name)
	})
}

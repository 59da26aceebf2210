package verify

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/canary"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

const (
	// canaryOutputLimit is how much output of a run with canaries is kept. It is large because
	// there can be many test names, and a missing one counts.
	canaryOutputLimit = 64 << 20
	// collectTimeout bounds the search for reports.
	collectTimeout = time.Minute
	// reportLimit and reportsLimit bound the size and the number of reports that are read.
	reportLimit, reportsLimit = 32 << 20, 2000
)

// Prove plants tests that must fail, both at the base and in the current tree, and compares how a
// check reacts to them. The result at the base is computed once per run.
func (e *Examiner) Prove(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (ralph.Proof, error) {
	if e.Snapshots == nil || in.Base.Snapshot == "" || in.Now.Snapshot == "" {
		return ralph.Proof{
			Canary: ralph.CanaryNone,
			Detail: "no snapshots of the tree are kept, so there is nothing to compare",
		}, nil
	}
	if worthless, err := e.failsApart(ctx, in, check); worthless || err != nil || ctx.Err() != nil {
		return ralph.Proof{
			Canary: ralph.CanaryNone,
			Detail: "it runs in the workspace itself and fails in a view, where a failing test could be planted",
		}, err
	}
	if e.Canary != "" {
		return e.proveByCommand(ctx, in, check)
	}
	base, err := e.baseOutcome(ctx, in, check)
	if err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	if in.BaseRed && !base.Red && len(base.Planted) > 0 {
		return ralph.Proof{
			Canary: ralph.CanaryGreen, Tests: max(0, base.Total),
			Detail: "It failed before the run, but now it passes on that same tree, even with a deliberately failing " +
				"test: something that runs it was changed.",
		}, nil
	}
	return e.proveAgainst(ctx, in, check, base)
}

// failsApart reports whether a check that runs in the workspace itself fails in a view of the same
// tree. Then a planted test could not be the reason for a failure there.
func (e *Examiner) failsApart(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (bool, error) {
	mode, _, err := e.mode(ctx, request{ViewInput: in})
	if err != nil || mode != pristine.InPlace {
		return false, err
	}
	bare, err := e.runBare(ctx, in, check)
	return bare.Red, err
}

// proveAgainst compares a check's reaction to canaries now with its reaction at the base.
func (e *Examiner) proveAgainst(
	ctx context.Context, in ralph.ViewInput, check ralph.CheckInput, base canary.Outcome,
) (ralph.Proof, error) {
	tree, plants, err := e.planCanaries(ctx, in, check)
	if err != nil {
		return ralph.Proof{}, err
	}
	if len(plants) == 0 {
		return canary.NoPlace(base), nil
	}
	now, invocation, err := e.runWithRetry(ctx, in, tree, canary.SameFolders(plants, base), check)
	if err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	found, err := e.classify(ctx, in.Base, in.Now)
	if err != nil {
		return ralph.Proof{}, err
	}
	if in.Kind == ralph.ViewClaimed && len(found.meaning.Tests) > 0 {
		// changed tests are run in their old form separately and may have new names, so only their
		// number counts
		base.Complete = false
	}
	proof := canary.Compare(base, now, invocation)
	if proof.Canary == ralph.CanaryRed && len(now.OwnFailures()) > 0 {
		if proof, err = e.tryInsideCanaries(ctx, in, check, proof, now); err != nil || ctx.Err() != nil {
			return proof, err
		}
	}
	if proof.Lost == 0 {
		return proof, nil
	}
	bare, err := e.runBare(ctx, in, check)
	if err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	return canary.Recount(proof, base, bare, invocation), nil
}

// runWithRetry repeats a canary run that broke off, with twice the time: a slow machine is not a
// cheat.
func (e *Examiner) runWithRetry(
	ctx context.Context,
	in ralph.ViewInput,
	tree canary.Tree,
	plants []canary.Plant,
	check ralph.CheckInput,
) (canary.Outcome, canary.Invocation, error) {
	now, invocation, err := e.runCanaries(ctx, in, tree, plants, check)
	if err == nil && ctx.Err() == nil && now.BrokeOff() {
		check.Timeout *= 2
		return e.runCanaries(ctx, in, tree, plants, check)
	}
	return now, invocation, err
}

// tryInsideCanaries plants canaries in existing files. It catches code that behaves honestly as
// soon as it sees a new file: some of the project's own tests failed beside the planted ones.
func (e *Examiner) tryInsideCanaries(
	ctx context.Context,
	in ralph.ViewInput,
	check ralph.CheckInput,
	proof ralph.Proof,
	now canary.Outcome,
) (ralph.Proof, error) {
	atBase := in
	atBase.Kind = ralph.ViewBase
	var seen [2]canary.Outcome
	var invocation canary.Invocation
	for i, view := range []ralph.ViewInput{atBase, in} {
		tree, err := e.viewTree(ctx, view)
		if err != nil {
			return proof, err
		}
		plants := canary.PlanInside(tree, command(check), rand.Reader)
		if len(plants) == 0 {
			return proof, nil
		}
		look := check
		look.File = fmt.Sprintf("inside-%d-%s", i+1, check.File)
		if seen[i], invocation, err = e.runCanaries(ctx, view, tree, plants, look); err != nil || ctx.Err() != nil {
			return proof, err
		}
	}
	return canary.Unmask(proof, now, seen[0], seen[1], invocation), nil
}

// baseOutcome returns the check's reaction to canaries at the base.
func (e *Examiner) baseOutcome(
	ctx context.Context, in ralph.ViewInput, check ralph.CheckInput,
) (canary.Outcome, error) {
	key := sha256.Sum256([]byte(in.Base.Snapshot + "\x00" + command(check) + "\x00" + string(in.Access)))
	file := filepath.Join(e.Proofs, fmt.Sprintf("%x.json", key[:12]))
	var known canary.Outcome
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &known) == nil {
		return known, nil
	}
	in.Kind = ralph.ViewBase
	check.File = "base-" + check.File
	tree, plants, err := e.planCanaries(ctx, in, check)
	if err != nil {
		return known, err
	}
	if len(plants) > 0 {
		known, _, err = e.runCanaries(ctx, in, tree, plants, check)
	}
	if err != nil || ctx.Err() != nil {
		return known, err
	}
	if text, err := json.Marshal(known); err == nil {
		_ = atomicfile.Swap(file, text, 0o600) // only a cache
	}
	return known, nil
}

func command(check ralph.CheckInput) string { return cmp.Or(check.Command, check.Name) }

// planCanaries chooses the tests to plant into a view.
func (e *Examiner) planCanaries(
	ctx context.Context, in ralph.ViewInput, check ralph.CheckInput,
) (canary.Tree, []canary.Plant, error) {
	tree, err := e.viewTree(ctx, in)
	if err != nil {
		return tree, nil, err
	}
	return tree, canary.Plan(tree, command(check), rand.Reader), nil
}

// runBare runs a check so that it names its tests, with nothing planted.
func (e *Examiner) runBare(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (canary.Outcome, error) {
	tree, err := e.viewTree(ctx, in)
	if err != nil {
		return canary.Outcome{}, err
	}
	check.File = "bare-" + check.File
	outcome, _, err := e.runCanaries(ctx, in, tree, nil, check)
	return outcome, err
}

// runCanaries runs a check in a view with planted tests.
func (e *Examiner) runCanaries(
	ctx context.Context,
	in ralph.ViewInput,
	tree canary.Tree,
	plants []canary.Plant,
	check ralph.CheckInput,
) (canary.Outcome, canary.Invocation, error) {
	var outcome canary.Outcome
	var invocation canary.Invocation
	err := e.withView(ctx, in, func(v *view) error {
		run, err := v.tryCanaries(ctx, tree, plants, check)
		outcome, invocation = run.outcome, run.invocation
		return err
	})
	return outcome, invocation, err
}

// withView runs a function in a new view, never in the workspace itself.
func (e *Examiner) withView(ctx context.Context, in ralph.ViewInput, do func(*view) error) error {
	v, err := e.open(ctx, request{ViewInput: in, apart: true})
	if err != nil {
		return err
	}
	err = do(v)
	return cmp.Or(err, v.Close())
}

// viewTree returns the tree that a view shows.
func (e *Examiner) viewTree(ctx context.Context, in ralph.ViewInput) (canary.Tree, error) {
	found, err := e.classify(ctx, in.Base, in.Now)
	if err != nil {
		return canary.Tree{}, err
	}
	files, err := e.Snapshots.Files(ctx, in.Now.Snapshot)
	if err != nil {
		return canary.Tree{}, err
	}
	old, absent := map[string]bool{}, map[string]bool{}
	for _, c := range e.reverted(found, in.Kind) {
		switch c.Kind {
		case ralph.FileAdded:
			absent[c.Name] = true
			continue
		case ralph.FileDeleted:
			files = append(files, c.Name)
		}
		old[c.Name] = true
	}
	files = slices.DeleteFunc(files, func(name string) bool { return absent[name] })
	slices.Sort(files)
	read := func(name string) ([]byte, error) {
		id := in.Now.Snapshot
		if old[name] {
			id = in.Base.Snapshot
		}
		const most = 1 << 20 // per file
		return e.Snapshots.Read(ctx, id, name, most)
	}
	return canary.Tree{Files: files, Read: read}, nil
}

// canaryRun is one run of a check whose tests are named, with the tests planted in it.
type canaryRun struct {
	outcome    canary.Outcome
	invocation canary.Invocation
	result     ralph.CheckResult
}

// tryCanaries plants the tests, runs the check and reads the results.
func (v *view) tryCanaries(
	ctx context.Context, tree canary.Tree, plants []canary.Plant, check ralph.CheckInput,
) (canaryRun, error) {
	planted, reports := filepath.Join(v.folder, "planted"), filepath.Join(v.folder, "reports")
	for _, folder := range []string{planted, reports} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return canaryRun{}, fmt.Errorf("plant: %w: %w", ralph.ErrIO, err)
		}
	}
	var edits []pristine.Edit
	for i, plant := range plants {
		source := filepath.Join(planted, strconv.Itoa(i))
		if err := os.WriteFile(source, []byte(plant.Text), 0o644); err != nil {
			return canaryRun{}, fmt.Errorf("plant: %w: %w", ralph.ErrIO, err)
		}
		edits = append(edits, pristine.Edit{Name: plant.Name, Source: source})
	}
	if err := v.isolated.ApplyEdits(edits); err != nil {
		return canaryRun{}, fmt.Errorf("plant: %w", err)
	}
	invocation := canary.Invoke(tree, command(check), reports)
	if check.Folder == "" || check.File == "" {
		check.Folder, check.File = v.folder, "output.txt"
	}
	result, err := v.runInvocation(ctx, invocation, check)
	if err != nil || ctx.Err() != nil {
		return canaryRun{}, err
	}
	output, err := os.Open(filepath.Join(check.Folder, check.File))
	if err != nil {
		return canaryRun{}, fmt.Errorf("read output: %w: %w", ralph.ErrIO, err)
	}
	defer output.Close()
	exit := result.ExitCode
	switch {
	case result.TimedOut, result.Broken:
		exit = -1
	case !result.Passed && exit == 0:
		exit = 1
	}
	outcome := canary.Read(invocation, plants, exit, output, v.reports(ctx, invocation, check, reports))
	return canaryRun{outcome, invocation, result}, nil
}

func (v *view) runInvocation(
	ctx context.Context, invocation canary.Invocation, check ralph.CheckInput,
) (ralph.CheckResult, error) {
	shell := v.Shell
	shell.OutputLimit = canaryOutputLimit
	shell.Env = append(slices.Clip(shell.Env), invocation.Env...)
	check.Command = invocation.Command
	if err := os.WriteFile(filepath.Join(v.folder, "reports", "begun"), nil, 0o600); err != nil {
		return ralph.CheckResult{}, fmt.Errorf("begin: %w: %w", ralph.ErrIO, err)
	}
	return shell.Check(ctx, check)
}

// collectScript copies the reports that a run wrote out of its view, which is not visible from
// outside.
const collectScript = `cd "$1" && find . -type f -path "$2" -newer "$3/begun" -exec sh -c ` +
	`'d=$1; shift; for f; do cp "$f" "$(mktemp "$d/found.XXXXXX")"; done' sh "$3" {} +`

// reports reads the reports of a run: those that it was asked to write, and those that its tools
// write by default.
func (v *view) reports(
	ctx context.Context, invocation canary.Invocation, check ralph.CheckInput, folder string,
) [][]byte {
	var files []string
	for _, report := range invocation.Reports {
		if filepath.IsAbs(report) {
			found, _ := filepath.Glob(report)
			files = append(files, found...)
			continue
		}
		argv := append(
			process.Shell(collectScript), "sh", v.isolated.Dir(), "./"+strings.ReplaceAll(report, "**/", "*"), folder,
		)
		spec := v.inView(process.Spec{Argv: argv, Dir: check.Dir, Env: v.Env, Marker: check.Marker, Timeout: collectTimeout})
		_, _ = process.Run(ctx, spec) // a missing report proves nothing
	}
	found, _ := filepath.Glob(filepath.Join(folder, "found.*"))
	files = append(files, found...)
	var texts [][]byte
	for _, file := range files[:min(len(files), reportsLimit)] {
		if text, err := readReport(file); err == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

func readReport(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, reportLimit))
}

// proveByCommand lets the user's own command plant a failing test. If the planted test does not
// make a check fail at the base either, as with a linter, the canary does not apply to that check.
func (e *Examiner) proveByCommand(
	ctx context.Context, in ralph.ViewInput, check ralph.CheckInput,
) (ralph.Proof, error) {
	proof, err := e.plantByCommand(ctx, in, check)
	if err != nil || proof.Canary != ralph.CanaryGreen {
		return proof, err
	}
	in.Kind, check.File = ralph.ViewBase, "base-"+check.File
	base, err := e.plantByCommand(ctx, in, check)
	if err == nil && base.Canary == ralph.CanaryGreen {
		proof = ralph.Proof{
			Canary: ralph.CanaryMute,
			Detail: "the failing test that checks.canary planted did not make it fail at the base either",
		}
	}
	return proof, err
}

func (e *Examiner) plantByCommand(
	ctx context.Context, in ralph.ViewInput, check ralph.CheckInput,
) (proof ralph.Proof, err error) {
	err = e.withView(ctx, in, func(v *view) (err error) {
		proof, err = v.plantByCommand(ctx, e.Canary, check)
		return err
	})
	return proof, err
}

func (v *view) plantByCommand(ctx context.Context, plant string, check ralph.CheckInput) (ralph.Proof, error) {
	planting := check
	planting.Name, planting.Command, planting.File = plant, plant, "plant-"+check.File
	planted, err := v.Check(ctx, planting)
	if err != nil {
		return ralph.Proof{}, err
	}
	if !planted.Passed {
		return ralph.Proof{
			Canary: ralph.CanaryNone,
			Detail: fmt.Sprintf("checks.canary could not plant a failing test (exit %d)", planted.ExitCode),
		}, nil
	}
	result, err := v.Check(ctx, check)
	if err != nil {
		return ralph.Proof{}, err
	}
	if result.Broken {
		return ralph.Proof{Canary: ralph.CanaryNone, Detail: "the check cannot run with the planted test"}, nil
	}
	if result.Passed {
		return ralph.Proof{
			Canary: ralph.CanaryGreen,
			Detail: "it passed despite the failing test that checks.canary planted",
		}, nil
	}
	return ralph.Proof{Canary: ralph.CanaryRed}, nil
}

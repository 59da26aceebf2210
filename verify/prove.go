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
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/canary"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

const (
	// canaryCap is how much of a run with canaries is kept: names of tests are many, and one that is missing counts.
	canaryCap = 64 << 20
	// collectTimeout bounds the search for reports.
	collectTimeout = time.Minute
	// reportLimit and reportsLimit bound what is read of reports.
	reportLimit, reportsLimit = 32 << 20, 2000
)

// Prove plants tests that must fail, at the base and on the tree as it is, and compares what a check makes of them. What it made of them at the base
// is asked once a run.
func (e *Examiner) Prove(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (ralph.Proof, error) {
	if e.Copies == nil || in.Base.Snapshot == "" || in.Now.Snapshot == "" {
		return ralph.Proof{Canary: ralph.CanaryNone, Detail: "no copies of the tree are kept, so none can be compared"}, nil
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
			Detail: "It was red before the run, and on that very tree it is green now, with a test that must fail: what runs it was changed.",
		}, nil
	}
	return e.proveAgainst(ctx, in, check, base)
}

// proveAgainst compares what a check makes of canaries now with what it made of them at the base.
func (e *Examiner) proveAgainst(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput, base canary.Outcome) (ralph.Proof, error) {
	tree, plants, err := e.plan(ctx, in, check)
	if err != nil {
		return ralph.Proof{}, err
	}
	if len(plants) == 0 {
		return canary.Nowhere(base), nil
	}
	now, invocation, err := e.runTwice(ctx, in, tree, canary.Where(plants, base), check)
	if err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	found, err := e.sort(ctx, in.Base, in.Now)
	if err != nil {
		return ralph.Proof{}, err
	}
	if in.Kind == ralph.ViewClaimed && len(found.meaning.Tests) > 0 {
		base.Complete = false // tests that were changed are weighed and may have other names now, so only their number counts
	}
	proof := canary.Compare(base, now, invocation)
	if proof.Canary == ralph.CanaryRed && len(now.Fell()) > 0 {
		if proof, err = e.lookInside(ctx, in, check, proof, now); err != nil || ctx.Err() != nil {
			return proof, err
		}
	}
	if proof.Lost == 0 {
		return proof, nil
	}
	bare, err := e.withoutCanaries(ctx, in, check)
	if err != nil || ctx.Err() != nil {
		return ralph.Proof{}, err
	}
	return canary.Recount(proof, base, bare, invocation), nil
}

// runTwice gives a run with canaries that broke off more time: a slow machine is no cheat.
func (e *Examiner) runTwice(ctx context.Context, in ralph.ViewInput, tree canary.Tree, plants []canary.Plant, check ralph.CheckInput) (canary.Outcome, canary.Invocation, error) {
	now, invocation, err := e.runWith(ctx, in, tree, plants, check)
	if err == nil && ctx.Err() == nil && now.BrokeOff() {
		check.Timeout *= 2
		return e.runWith(ctx, in, tree, plants, check)
	}
	return now, invocation, err
}

// lookInside tries canaries that are no new files, for code that behaves as soon as there is one: tests of the project's own fell beside the others.
func (e *Examiner) lookInside(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput, proof ralph.Proof, now canary.Outcome) (ralph.Proof, error) {
	atBase := in
	atBase.Kind = ralph.ViewBase
	var seen [2]canary.Outcome
	var invocation canary.Invocation
	for i, view := range []ralph.ViewInput{atBase, in} {
		tree, err := e.shown(ctx, view)
		if err != nil {
			return proof, err
		}
		plants := canary.PlanInside(tree, command(check), rand.Reader)
		if len(plants) == 0 {
			return proof, nil
		}
		look := check
		look.File = fmt.Sprintf("inside-%d-%s", i+1, check.File)
		if seen[i], invocation, err = e.runWith(ctx, view, tree, plants, look); err != nil || ctx.Err() != nil {
			return proof, err
		}
	}
	return canary.Unmask(proof, now, seen[0], seen[1], invocation), nil
}

// baseOutcome is what the check made of canaries at the base.
func (e *Examiner) baseOutcome(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (canary.Outcome, error) {
	key := sha256.Sum256([]byte(in.Base.Snapshot + "\x00" + command(check) + "\x00" + string(in.Access)))
	file := filepath.Join(e.Proofs, fmt.Sprintf("%x.json", key[:12]))
	var known canary.Outcome
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &known) == nil {
		return known, nil
	}
	in.Kind = ralph.ViewBase
	check.File = "base-" + check.File
	tree, plants, err := e.plan(ctx, in, check)
	if err != nil {
		return known, err
	}
	if len(plants) > 0 {
		known, _, err = e.runWith(ctx, in, tree, plants, check)
	}
	if err != nil || ctx.Err() != nil {
		return known, err
	}
	text, err := json.Marshal(known)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return known, fmt.Errorf("keep what is known of the base: %w: %w", ralph.ErrIO, err)
	}
	return known, nil
}

func command(check ralph.CheckInput) string { return cmp.Or(check.Command, check.Name) }

// plan chooses the tests to plant into a view.
func (e *Examiner) plan(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (canary.Tree, []canary.Plant, error) {
	tree, err := e.shown(ctx, in)
	if err != nil {
		return tree, nil, err
	}
	return tree, canary.Plan(tree, command(check), rand.Reader), nil
}

// withoutCanaries runs a check so that its tests are named, with nothing planted.
func (e *Examiner) withoutCanaries(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (canary.Outcome, error) {
	tree, err := e.shown(ctx, in)
	if err != nil {
		return canary.Outcome{}, err
	}
	check.File = "bare-" + check.File
	outcome, _, err := e.runWith(ctx, in, tree, nil, check)
	return outcome, err
}

// runWith runs a check in a view with planted tests.
func (e *Examiner) runWith(ctx context.Context, in ralph.ViewInput, tree canary.Tree, plants []canary.Plant, check ralph.CheckInput) (canary.Outcome, canary.Invocation, error) {
	var outcome canary.Outcome
	var invocation canary.Invocation
	err := e.inView(ctx, in, func(v *view) (err error) {
		outcome, invocation, err = v.tryCanaries(ctx, tree, plants, check)
		return err
	})
	return outcome, invocation, err
}

// inView does something in a view of its own.
func (e *Examiner) inView(ctx context.Context, in ralph.ViewInput, do func(*view) error) error {
	v, err := e.open(ctx, in)
	if err != nil {
		return err
	}
	err = do(v)
	return cmp.Or(err, v.Close())
}

// shown is the tree that a view shows.
func (e *Examiner) shown(ctx context.Context, in ralph.ViewInput) (canary.Tree, error) {
	found, err := e.sort(ctx, in.Base, in.Now)
	if err != nil {
		return canary.Tree{}, err
	}
	files, err := e.Copies.Files(ctx, in.Now.Snapshot)
	if err != nil {
		return canary.Tree{}, err
	}
	old, absent := map[string]bool{}, map[string]bool{}
	for _, c := range found.shownOld(in.Kind) {
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
		const most = 1 << 20 // of one file
		return e.Copies.Read(ctx, id, name, most)
	}
	return canary.Tree{Files: files, Read: read}, nil
}

// tryCanaries plants the tests, runs the check and reads what came of it.
func (v *view) tryCanaries(ctx context.Context, tree canary.Tree, plants []canary.Plant, check ralph.CheckInput) (canary.Outcome, canary.Invocation, error) {
	var none canary.Outcome
	planted, reports := filepath.Join(v.folder, "planted"), filepath.Join(v.folder, "reports")
	for _, folder := range []string{planted, reports} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return none, canary.Invocation{}, fmt.Errorf("plant: %w: %w", ralph.ErrIO, err)
		}
	}
	var edits []pristine.Edit
	for i, plant := range plants {
		source := filepath.Join(planted, strconv.Itoa(i))
		if err := os.WriteFile(source, []byte(plant.Text), 0o644); err != nil {
			return none, canary.Invocation{}, fmt.Errorf("plant: %w: %w", ralph.ErrIO, err)
		}
		edits = append(edits, pristine.Edit{Name: plant.Name, Source: source})
	}
	if err := v.made.Lay(edits); err != nil {
		return none, canary.Invocation{}, fmt.Errorf("plant: %w", err)
	}
	invocation := canary.Invoke(tree, command(check), reports)
	if check.Folder == "" || check.File == "" {
		check.Folder, check.File = v.folder, "output.txt"
	}
	result, err := v.withCanaries(ctx, invocation, check)
	if err != nil || ctx.Err() != nil {
		return none, invocation, err
	}
	output, err := os.Open(filepath.Join(check.Folder, check.File))
	if err != nil {
		return none, invocation, fmt.Errorf("read output: %w: %w", ralph.ErrIO, err)
	}
	defer output.Close()
	exit := result.ExitCode
	switch {
	case result.TimedOut:
		exit = -1
	case !result.Passed && exit == 0:
		exit = 1
	}
	return canary.Read(invocation, plants, exit, output, v.reports(ctx, invocation, check, reports)), invocation, nil
}

func (v *view) withCanaries(ctx context.Context, invocation canary.Invocation, check ralph.CheckInput) (ralph.CheckResult, error) {
	shell := v.Shell
	shell.Cap = canaryCap
	shell.Env = append(slices.Clip(shell.Env), invocation.Env...)
	check.Command = invocation.Command
	if err := os.WriteFile(filepath.Join(v.folder, "reports", "begun"), nil, 0o600); err != nil {
		return ralph.CheckResult{}, fmt.Errorf("begin: %w: %w", ralph.ErrIO, err)
	}
	return shell.Check(ctx, check)
}

// collect copies the reports that a run wrote out of its view, where nobody else can see them.
const collect = `cd "$1" && find . -type f -path "$2" -newer "$3/begun" -exec sh -c 'd=$1; shift; for f; do cp "$f" "$(mktemp "$d/found.XXXXXX")"; done' sh "$3" {} +`

// reports reads what a run left: files that it was told to write, and those that its tools write by themselves.
func (v *view) reports(ctx context.Context, invocation canary.Invocation, check ralph.CheckInput, folder string) [][]byte {
	var files []string
	for _, report := range invocation.Reports {
		if filepath.IsAbs(report) {
			found, _ := filepath.Glob(report)
			files = append(files, found...)
			continue
		}
		argv := append(process.Shell(collect), "sh", v.made.Dir(), "./"+strings.ReplaceAll(report, "**/", "*"), folder)
		spec := v.entered(process.Spec{Argv: argv, Dir: check.Dir, Env: v.Env, Marker: check.Marker, Timeout: collectTimeout})
		_, _ = process.Run(ctx, spec) // a report that is not there says nothing
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

// proveByCommand has the user's own command plant a failing test. A check that it cannot turn red at the base either, such as a linter, is not meant.
func (e *Examiner) proveByCommand(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (ralph.Proof, error) {
	proof, err := e.plantByCommand(ctx, in, check)
	if err != nil || proof.Canary != ralph.CanaryGreen {
		return proof, err
	}
	in.Kind, check.File = ralph.ViewBase, "base-"+check.File
	base, err := e.plantByCommand(ctx, in, check)
	if err == nil && base.Canary == ralph.CanaryGreen {
		proof = ralph.Proof{Canary: ralph.CanaryMute, Detail: "the failing test that checks.canary planted could not turn it red at the base either"}
	}
	return proof, err
}

func (e *Examiner) plantByCommand(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (proof ralph.Proof, err error) {
	err = e.inView(ctx, in, func(v *view) (err error) {
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
		return ralph.Proof{Canary: ralph.CanaryNone, Detail: fmt.Sprintf("checks.canary could not plant a failing test (exit %d)", planted.ExitCode)}, nil
	}
	result, err := v.Check(ctx, check)
	if err != nil {
		return ralph.Proof{}, err
	}
	if result.Passed {
		return ralph.Proof{Canary: ralph.CanaryGreen, Detail: "it stayed green with the failing test that checks.canary planted"}, nil
	}
	return ralph.Proof{Canary: ralph.CanaryRed}, nil
}

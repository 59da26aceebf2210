package verify

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
	"github.com/ralphloop/ralph/internal/proof/pristine"
)

// Prove fills the table of a check that passes on a claimed tree, and judges it.
func (e *Examiner) Prove(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (ralph.Proof, error) {
	proof, err := e.prove(ctx, in, check)
	return proof, ownFailure(err)
}

func (e *Examiner) prove(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (ralph.Proof, error) {
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
	t, err := e.newTable(ctx, in, check)
	if err != nil {
		return ralph.Proof{}, err
	}
	return t.prove(ctx)
}

// failsApart reports whether a check that runs in the workspace itself fails in a view of the same
// tree. Then a planted test could not be the reason for a failure there.
func (e *Examiner) failsApart(ctx context.Context, in ralph.ViewInput, check ralph.CheckInput) (bool, error) {
	mode, _, err := e.mode(ctx, request{ViewInput: in})
	if err != nil || mode != pristine.InPlace {
		return false, err
	}
	run, err := e.runNamed(ctx, in, check, nil)
	return run.outcome.Red, err
}

func command(check ralph.CheckInput) string { return cmp.Or(check.Command, check.Name) }

// withView runs a function in a new view, never in the workspace itself.
func (e *Examiner) withView(ctx context.Context, in ralph.ViewInput, do func(*view) error) error {
	v, err := e.open(ctx, request{ViewInput: in, apart: true})
	if err != nil {
		return err
	}
	err = do(v)
	if closed := v.Close(); err == nil && isStorageFailure(closed) {
		err = fmt.Errorf("%w: %w", ralph.ErrIO, closed)
	}
	return err // files that cannot be removed now are removed when the next run starts
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
	read := func(name string) ([]byte, error) {
		id := in.Now.Snapshot
		if old[name] {
			id = in.Base.Snapshot
		}
		const most = 1 << 20 // per file
		return e.Snapshots.Read(ctx, id, name, most)
	}
	return e.withHidden(canary.Tree{Files: files, Read: read}, in.Kind)
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
	if check.File = "base-" + check.File; isHidden(in.Kind) {
		in.Kind = ralph.ViewHiddenBase
	} else {
		in.Kind = ralph.ViewBase
	}
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
) (ralph.Proof, error) {
	return undisturbed(ctx, in, func() (proof ralph.Proof, err error) {
		err = e.withView(ctx, in, func(v *view) (err error) {
			proof, err = v.plantByCommand(ctx, e.Canary, check)
			return err
		})
		return proof, err
	})
}

func (v *view) plantByCommand(ctx context.Context, plant string, check ralph.CheckInput) (ralph.Proof, error) {
	planting := check
	planting.Name, planting.Command, planting.File = plant, plant, "plant-"+check.File
	planted, err := v.runUnplanted(ctx, planting)
	if err != nil {
		return ralph.Proof{}, err
	}
	if !planted.result.Passed {
		return ralph.Proof{
			Canary: ralph.CanaryNone,
			Detail: fmt.Sprintf("checks.canary could not plant a failing test (exit %d)", planted.result.ExitCode),
		}, nil
	}
	run, err := v.runUnplanted(ctx, check)
	result := run.result
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

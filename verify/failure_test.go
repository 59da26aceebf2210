//go:build unix

package verify_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/proof/protect"
)

// brokenFolders are snapshots whose files cannot be extracted.
type brokenFolders struct{ folders }

func (brokenFolders) Extract(context.Context, string, string, []string) error {
	return errors.New("rename answer: no space left on device")
}

// B10: a view that cannot be made because of the storage says nothing about a check, nor about the
// agent's work.
func TestBrokenStorageIsNotTheChecks(t *testing.T) {
	b := examine(t, files{"a.py": "1"}, files{"a.py": "2"}, protect.Config{}).apart(t)
	b.Isolation, b.Snapshots = pristine.Copy, brokenFolders{}
	check := ralph.CheckInput{Name: "true", Dir: b.Dir, Timeout: time.Minute}
	in := b.input(ralph.ViewBase)
	in.First, in.Then = b.base, &ralph.CheckResult{Name: "true", ExitCode: 1}
	_, opened := b.Open(t.Context(), in)
	_, proved := b.Prove(t.Context(), in, check)
	_, ran := b.RunTests(t.Context(), in, check)
	for what, err := range map[string]error{"Open": opened, "Prove": proved, "RunTests": ran} {
		if !errors.Is(err, ralph.ErrIO) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The same holds for a view that breaks after it was opened.
func TestAViewThatBreaksIsNotTheChecks(t *testing.T) {
	b := examine(t, files{"a.py": "1"}, files{"a.py": "2"}, protect.Config{}).apart(t)
	if mode, why, _ := pristine.StrongestMode(t.Context(), b.Dir, t.TempDir()); mode != pristine.Overlay {
		t.Skip(why)
	}
	b.Isolation = pristine.Overlay
	v, err := b.Open(t.Context(), b.input(ralph.ViewClaimed))
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	upper, err := filepath.Glob(filepath.Join(b.Folder, "view-*", "view", "upper"))
	if err != nil || len(upper) != 1 {
		t.Fatal(upper, err)
	}
	if err := os.RemoveAll(upper[0]); err != nil {
		t.Fatal(err)
	}
	write(t, 0o644, upper[0], "in the way")
	result, err := v.Check(t.Context(), ralph.CheckInput{Name: "true", Dir: b.Dir, Timeout: time.Minute})
	if !errors.Is(err, ralph.ErrIO) {
		t.Errorf("the check says %+v, %v", result, err)
	}
}

// A kind of view that this system does not have is the user's to change.
func TestAViewThatCannotBeMadeHereIsNoFailure(t *testing.T) {
	b := examine(t, files{"a.py": "1"}, files{"a.py": "2"}, protect.Config{}).apart(t)
	b.Isolation = "unknown"
	if _, err := b.Open(t.Context(), b.input(ralph.ViewClaimed)); err == nil || errors.Is(err, ralph.ErrIO) {
		t.Error(err)
	}
}

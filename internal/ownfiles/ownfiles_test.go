package ownfiles

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAGoalIsWrittenReplacedAndRemoved(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	for _, goal := range []string{"first", "second", "second"} {
		if err := KeepGoal(dir, goal); err != nil {
			t.Fatal(err)
		}
		if got := read(t, dir, ralph.GoalFile); got != goal+"\n\n"+ralph.GoalMark || HasForeignGoal(dir) || !Alone(dir) {
			t.Errorf("the file holds %q", got)
		}
	}
	if err := os.WriteFile(outside, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ralph.GoalFile)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, path); err != nil {
		t.Skip("links need a privilege on this system:", err)
	}
	if err := KeepGoal(dir, "third"); err != nil || read(t, filepath.Dir(outside), "outside") != "mine" {
		t.Errorf("a link was followed: %v", err)
	}
	if err := RemoveGoal(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the goal is still there: %v", err)
	}
}

func TestAGoalOfTheUserStays(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ralph.GoalFile, "mine")
	if err := RemoveGoal(dir); err != nil || !HasForeignGoal(dir) || read(t, dir, ralph.GoalFile) != "mine" {
		t.Errorf("it was touched: %v", err)
	}
}

func TestAnIgnoreFileOfAnEarlierVersionIsReplaced(t *testing.T) {
	for old, want := range replaces {
		dir := t.TempDir()
		write(t, dir, ignoreFile, old)
		if err := KeepGoal(dir, "goal"); err != nil || read(t, dir, ignoreFile) != want || !IsIgnoreFile(old) {
			t.Errorf("%q became %q, %v", old, read(t, dir, ignoreFile), err)
		}
	}
	dir := t.TempDir()
	write(t, dir, ignoreFile, "mine\n")
	if err := KeepGoal(dir, "goal"); err != nil || read(t, dir, ignoreFile) != "mine\n" {
		t.Errorf("the user's file was changed: %v", err)
	}
}

package ownfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/textfile"
)

// HasForeignGoal reports whether the workspace has a goal file that Ralph did not write.
func HasForeignGoal(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(ralph.GoalFile))); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return !isOwnGoal(dir)
}

func isOwnGoal(dir string) bool {
	text, err := textfile.ReadInside(dir, filepath.FromSlash(ralph.GoalFile))
	return err == nil && strings.HasSuffix(text, ralph.GoalMark)
}

// KeepGoal writes the goal file unless it has that goal already.
func KeepGoal(dir, goal string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("keep %s: %w", ralph.GoalFile, err)
	}
	defer root.Close()
	want := strings.TrimRight(goal, "\n") + "\n\n" + ralph.GoalMark
	if text, err := textfile.ReadInside(dir, filepath.FromSlash(ralph.GoalFile)); err == nil && text == want {
		return nil
	}
	err = Prepare(root)
	if err == nil {
		err = writeWhole(root, ralph.GoalFile, want)
	}
	if err != nil {
		return fmt.Errorf("keep %s: %w", ralph.GoalFile, err)
	}
	return nil
}

// RemoveGoal removes the goal file of an earlier run.
func RemoveGoal(dir string) error {
	if !isOwnGoal(dir) {
		return nil
	}
	return os.Remove(filepath.Join(dir, filepath.FromSlash(ralph.GoalFile)))
}

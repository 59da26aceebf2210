// Package progress keeps .ralph/progress.md: what the current run has done so far, one entry per
// iteration, for people and agents who look into the workspace. It shows only this run, and nothing
// reads it back. The truth is the run's log.
package progress

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/ownfiles"
)

// View writes the file as events arrive. Dir and State must be set.
type View struct {
	Dir   string      // the workspace
	State *fold.State // state of the run; read after an event was applied
	Warn  func(error) // called once if the file cannot be written; the run continues

	told   int   // number of iterations written
	size   int64 // size of what was written
	broken bool
}

// See updates the file.
func (v *View) See(e ralph.Event) {
	if v.broken {
		return
	}
	var err error
	switch e.Data.(type) {
	case ralph.RunStarted:
		err = v.rewrite()
	case ralph.RunResumed:
		err = v.resume()
	case ralph.VerdictReached:
		if len(v.State.Iterations) > v.told { // otherwise the verdict came between iterations
			err = v.add(v.State.Iterations[v.told:])
		}
	}
	if err != nil {
		v.broken = true
		v.Warn(fmt.Errorf("keep %s: %w", ralph.ProgressFile, err))
	}
}

// resume continues a file that an earlier process left, if it belongs to this run, so that a long
// run need not be rewritten.
func (v *View) resume() error {
	const enough = 16 << 10
	path := filepath.Join(v.Dir, filepath.FromSlash(ralph.ProgressFile))
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() { // an agent may have put a pipe there
		return v.rewrite()
	}
	file, err := os.Open(path)
	if err != nil {
		return v.rewrite()
	}
	defer file.Close()
	head, tail := make([]byte, len(v.title())), make([]byte, min(enough, info.Size()))
	_, headErr := file.ReadAt(head, 0)
	_, tailErr := file.ReadAt(tail, info.Size()-int64(len(tail)))
	at := strings.LastIndex(string(tail), "\n## Iteration ")
	if headErr != nil || tailErr != nil || string(head) != v.title() || at < 0 {
		return v.rewrite()
	}
	for i := len(v.State.Iterations) - 1; i >= 0; i-- {
		if entry := "\n" + fold.ProgressEntry(v.State.Iterations[i]); entry == string(tail[at:]) {
			v.size, v.told = info.Size(), i+1
			if v.told == len(v.State.Iterations) {
				return nil
			}
			return v.add(v.State.Iterations[v.told:])
		}
		if len(v.State.Iterations)-i > 2 { // more than a crash can lose
			break
		}
	}
	return v.rewrite()
}

func (v *View) title() string { return fmt.Sprintf("# Progress of run %s\n", v.State.Run) }

// rewrite writes the whole run again, without the entries of older runs.
func (v *View) rewrite() error {
	root, err := os.OpenRoot(v.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := ownfiles.Prepare(root); err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString(v.title())
	for _, r := range v.State.Iterations {
		text.WriteString("\n" + fold.ProgressEntry(r))
	}
	// Remove it first, so that a link is not followed.
	if err := root.Remove(ralph.ProgressFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	v.size, v.told = int64(text.Len()), len(v.State.Iterations)
	return root.WriteFile(ralph.ProgressFile, []byte(text.String()), 0o644)
}

// add appends entries if the file is unchanged. An agent may have done anything to it.
func (v *View) add(fresh []ralph.IterationResult) error {
	root, err := os.OpenRoot(v.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(ralph.ProgressFile)
	if err != nil || !info.Mode().IsRegular() || info.Size() != v.size {
		return v.rewrite()
	}
	file, err := root.OpenFile(ralph.ProgressFile, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return v.rewrite()
	}
	for _, r := range fresh {
		var n int
		n, err = file.WriteString("\n" + fold.ProgressEntry(r))
		v.size += int64(n)
		v.told++
	}
	return errors.Join(err, file.Close())
}

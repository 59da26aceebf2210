package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// tidy puts back what checks changed that ran in the workspace itself, whatever else ends: it is nobody's work, and evidence is of the tree that was
// there before. A copy is kept, since people may have written meanwhile, too.
func (l *Loop) tidy(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	before := l.treeUnderCheck()
	left, ok := l.look(ctx, ralph.TreeInput{BaseHead: l.baseHead()})
	if !ok || !left.Known || !before.Known || left.Same(before) {
		return
	}
	names, err := l.differing(ctx, before.Snapshot, left.Snapshot)
	what := "a check that ran in the workspace itself changed files of it"
	if len(names) > 0 {
		what = "a check that ran in the workspace itself changed " + text.List(names)
	}
	if err == nil && l.notPut != l.iteration+1 { // a second try could take what somebody wrote meanwhile for the check's
		kept, put := l.putBack(ctx, left, before, names)
		if put {
			if l.first("check_wrote " + strings.Join(names, "\n")) {
				l.emit(ralph.EvNotice, ralph.Notice{Code: "check_wrote", Text: what + "; that was put back" + kept})
			}
			return
		}
		l.notPut = l.iteration + 1
	}
	if l.first("check_wrote") {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "check_wrote", Text: what + ", which could not be put back"})
	}
	if !l.state.History.Judging { // whether that matters otherwise is for whoever asks for evidence
		l.takeAsItIs(ctx)
	}
}

// takeAsItIs takes the tree for what the next iteration begins with. What differs from before does not join the base, since it may be code of the
// agent that wrote it.
func (l *Loop) takeAsItIs(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if tree, ok := l.look(ctx, ralph.TreeInput{BaseHead: l.baseHead()}); ok && !tree.Same(l.state.History.Tree) {
		l.emit(ralph.EvTreeSnapshot, tree)
	}
}

// keptAtMost is how many files are put back: what is put back is kept as it was found, and a check that writes so many should write somewhere else.
const keptAtMost = 1000

// putBack makes the workspace what it was, and reports whether it is, and where the files are that were found instead.
func (l *Loop) putBack(ctx context.Context, now, before ralph.TreeState, names []string) (kept string, ok bool) {
	if !l.canPutBack(now) || !l.canPutBack(before) || len(names) > keptAtMost {
		return "", false
	}
	folder, err := l.checkFolder(len(names))
	if err == nil && folder != "" {
		l.wrote++
		folder = filepath.Join(folder, fmt.Sprintf("wrote-%02d", l.wrote))
		kept = ", and is kept in " + folder
		err = l.tree.(ralph.Copies).Extract(ctx, now.Snapshot, folder, names)
	}
	if err != nil {
		return "", false
	}
	if _, err = l.tree.(ralph.Switcher).Switch(ctx, ralph.SwitchInput{From: now.Snapshot, To: before.Snapshot, Own: func(string) bool { return false }}); err != nil {
		return "", false
	}
	after, ok := l.look(ctx, ralph.TreeInput{BaseHead: l.baseHead()})
	return kept, ok && after.Same(before)
}

func (l *Loop) canPutBack(tree ralph.TreeState) bool {
	_, switches := l.tree.(ralph.Switcher)
	_, copies := l.tree.(ralph.Copies)
	return switches && copies && tree.Snapshot != ""
}

// onlyAdded reports whether one copy holds all that is in another, as it is there. Without copies nobody can tell.
func (l *Loop) onlyAdded(ctx context.Context, from, to string) bool {
	copies, ok := l.tree.(ralph.Copies)
	if !ok || from == "" || to == "" {
		return true
	}
	changes, err := copies.Changes(ctx, from, to)
	return err == nil && !slices.ContainsFunc(changes, func(c ralph.FileChange) bool { return c.Kind != ralph.FileAdded })
}

// ranInPlace reports whether a check of this iteration ran in the workspace itself, and may have changed it.
func (l *Loop) ranInPlace() bool {
	return slices.ContainsFunc(l.state.History.Now.Checks, func(c ralph.CheckResult) bool { return c.Isolation == ralph.IsolationInPlace })
}

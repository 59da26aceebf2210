package loop

import (
	"context"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// outsideMatters reports whether there is something to record about files outside of the tree.
func outsideMatters(found ralph.Tampering, known judge.Observation) bool {
	return len(found.Environment)+len(found.Dependencies)+len(known.Environment)+len(known.Dependencies) > 0
}

// outsideDiffers reports whether files outside of the tree differ from what is recorded about them.
func outsideDiffers(found ralph.Tampering, known judge.Observation) bool {
	shown := found.Environment[:min(len(found.Environment), maxMovedFiles)]
	return !slices.Equal(shown, known.Environment) || !slices.Equal(found.Dependencies, known.Dependencies)
}

// settleIgnored records ignored files as the judgement left them, if the user may change them before the
// next agent works. The agent of a live session works on until a person clears its goal.
func (w *workspace) settleIgnored(v ralph.Verdict) {
	watcher, ok := w.examiner.(ralph.IgnoredWatcher)
	works := w.state.Started.InSession && v.Reason != ralph.Interrupted
	if !ok || v.Action == ralph.GoOn || w.storage != nil || works {
		return
	}
	if err := watcher.SettleIgnored(); err != nil {
		w.warnOnce("ignored_unknown", "ignored files that you change now count as the agent's: "+err.Error())
	}
}

// adoptIgnored makes ignored files that changed since the last judgement the user's own.
func (w *workspace) adoptIgnored() {
	watcher, ok := w.examiner.(ralph.IgnoredWatcher)
	if !ok || w.state.History.Judging || w.state.History.TreeOf != w.state.History.Started {
		return
	}
	if err := watcher.AdoptIgnored(); err != nil {
		w.warnOnce("ignored_unknown", "ignored files that you changed count as the agent's: "+err.Error())
	}
}

// leftBehind reports whether the workspace has ignored files that an earlier agent wrote. A check that passes only
// with these must not see them.
func leftBehind(ctx context.Context, w *workspace) bool {
	found, err := w.examiner.Compare(ctx, w.state.History.Base, w.treeUnderCheck())
	return err != nil || len(found.LeftOut) > 0
}

// explainFailure runs a claim's failed check once more in the workspace as the agent left it, with the ignored files
// that it added or changed. If it passes then, the work is not in the tree, and the result says so.
func (s *session) explainFailure(
	ctx context.Context, i int, c check, failed ralph.CheckResult,
) (ralph.CheckResult, bool) {
	r := s.runner
	files := r.tree.changed.LeftOut
	if failed.Passed || len(files) == 0 || s.kind != ralph.ViewClaimed || !r.state.History.Judging ||
		!judge.MayComplete(r.policy, r.state.History) {
		return failed, true
	}
	s.close() // only one view may be open
	asLeft := r.session(ralph.ViewClaimed, "as-left")
	defer asLeft.close()
	result, ok := asLeft.runOnce(ctx, i, c, ralph.AccessFolder)
	if !ok || !result.Passed {
		return failed, ok
	}
	failed.NotInTree, failed.Broken = files[:min(len(files), maxMovedFiles)], false
	failed.Output += "\n" + judge.DescribeNotInTree(failed.NotInTree)
	return failed, true
}

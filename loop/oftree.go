package loop

import (
	"context"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
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

// noticeLeftOut says at the start of a run which ignored files of an earlier one checks do not see.
func (w *workspace) noticeLeftOut(ctx context.Context) {
	watcher, ok := w.examiner.(ralph.IgnoredWatcher)
	base := w.state.History.Base
	if !ok || w.storage != nil || base.Snapshot == "" {
		return
	}
	_, files, err := watcher.IgnoredFiles(ctx, base, w.treeUnderCheck())
	if err != nil || len(files) == 0 { // a run that cannot look says so when it judges
		return
	}
	w.notice("ignored_left_out", "checks do not see ignored files that an earlier run left and did not prove: "+
		text.List(files)+"; if they are yours, write them again (touch is enough)")
}

// explainFailure runs a claim's failed check once more with the ignored files that the agent added or
// changed. If it passes then, the work is not in the tree, and the result says so.
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
	asLeft := r.session(ralph.ViewAsLeft, "as-left")
	defer asLeft.close()
	result, ok := asLeft.runOnce(ctx, i, c, r.state.History.AccessOf(c.name, c.task))
	if !ok || !result.Passed {
		return failed, ok
	}
	failed.NotInTree, failed.Broken = files[:min(len(files), maxMovedFiles)], false
	failed.Output += "\n" + judge.DescribeNotInTree(failed.NotInTree)
	return failed, true
}

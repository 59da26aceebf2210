package loop

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

// hookCaller calls the hooks of a run.
type hookCaller struct {
	*journal
	tree        *workspace
	list        *taskList
	inbox       *inbox
	hooks       []ralph.Hooks
	warnedCalls map[ralph.HookRun]bool // warnings of per-call hooks already given, with the reason
	hooksRan    bool                   // hooks ran since the last snapshot of the tree
}

// maxHookText limits how much of a hook's text is recorded, to keep log lines short.
const maxHookText = 1000

// blockedBy returns why hooks keep an iteration from starting, or "" if none does.
func blockedBy(runs []ralph.HookRun) string {
	for _, run := range runs {
		if run.Decision == ralph.HookBlocks {
			return hookText(run.Text)
		}
	}
	return ""
}

// hookText turns a hook's output into one line.
func hookText(text string) string {
	words := []rune(strings.Join(strings.Fields(text), " "))
	switch {
	case len(words) == 0:
		return "a hook blocks without giving a reason"
	case len(words) > maxHookText:
		return string(words[:maxHookText]) + " …"
	}
	return string(words)
}

// askHooks asks the hooks in order until one blocks, and records their answers. A hook that panics
// counts as a warning.
func (h *hookCaller) askHooks(hook ralph.HookName, ask func(ralph.Hooks) []ralph.HookRun) []ralph.HookRun {
	var all []ralph.HookRun
	asks := len(h.hooks) > 0 && len(fold.OpenQuestions(h.state)) > 0
	if asks { // until now it is the user's
		h.inbox.readSteering(ralph.SteeringDelivered)
	}
	for _, asked := range h.hooks {
		runs := callHookSafely(hook, func() []ralph.HookRun { return ask(asked) })
		all = append(all, runs...)
		for _, run := range runs {
			h.recordHook(run)
		}
		if blockedBy(runs) != "" {
			break
		}
	}
	if asks {
		h.inbox.readSteering(ralph.SteeringEarlier)
	}
	h.hooksRan = h.hooksRan || len(all) > 0
	return all
}

func callHookSafely(hook ralph.HookName, ask func() []ralph.HookRun) (runs []ralph.HookRun) {
	if bug := catch(func() { runs = ask() }); bug != nil {
		return []ralph.HookRun{
			{Hook: hook, By: "function", Decision: ralph.HookWarns, Text: fmt.Sprintf("it panicked: %v", bug.value)},
		}
	}
	return runs
}

func (h *hookCaller) recordHook(run ralph.HookRun) {
	who := fmt.Sprintf("%s %s", run.Hook, run.By)
	switch {
	case run.Decision == ralph.HookBlocks && run.Hook == ralph.PreIteration:
		h.warn(ralph.NoticeHookBlocks, "%s", who+" blocks: "+hookText(run.Text))
	case run.Decision == ralph.HookBlocks || run.Decision == ralph.HookWarns: // too late to block anything
		h.warn(ralph.NoticeHookWarns, "%s", who+" warns: "+hookText(run.Text))
	case run.Text != "":
		h.notice(ralph.NoticeHookSays, who+": "+hookText(run.Text))
	default:
		h.notice(ralph.NoticeHookAllows, who+" allows")
	}
}

// maxCallWarnings limits the number of warnings about per-call hooks in a run.
const maxCallWarnings = 20

// warnCallHooks warns about per-call hooks that the agent asked and that made no decision. The call
// was made anyway, and many may follow, so each hook is reported once per reason. The reason is the
// text before the first colon.
func (h *hookCaller) warnCallHooks(runs []ralph.HookRun) {
	for _, run := range runs {
		reason, _, _ := strings.Cut(run.Text, ":")
		once := ralph.HookRun{Hook: run.Hook, By: run.By, Text: reason}
		if run.Decision != ralph.HookWarns || h.warnedCalls[once] || len(h.warnedCalls) == maxCallWarnings {
			continue
		}
		if h.warnedCalls == nil {
			h.warnedCalls = map[ralph.HookRun]bool{}
		}
		h.warnedCalls[once] = true
		h.warn(
			ralph.NoticeHookWarns, "%s %s warns but does not block (shown once): %s", run.Hook, run.By, hookText(run.Text),
		)
	}
}

func (h *hookCaller) hookContext() ralph.HookContext {
	return ralph.HookContext{Run: h.id, Iteration: h.iteration, Task: h.state.History.Task, Dir: h.cfg.Dir}
}

// runPreHooks asks whether the iteration may begin. nil means yes; otherwise the verdict says why
// not. Changes that hooks made in the workspace must not count as the next agent's progress, so it
// takes a new snapshot after them. They join the base only before any agent has worked: later, a hook
// may run the agent's code.
func (h *hookCaller) runPreHooks(ctx context.Context, agent string) *ralph.Verdict {
	if len(h.hooks) == 0 {
		return nil
	}
	if h.tree.joinsEdits() && h.state.History.Started > 0 { // what changed until now is the user's
		h.tree.snapshot(ctx, ralph.TreeInput{BaseHead: h.tree.baseHead()})
	}
	next := ralph.IterationAhead{HookContext: h.hookContext(), Agent: agent}
	runs := h.askHooks(ralph.PreIteration, func(h ralph.Hooks) []ralph.HookRun { return h.BeforeIteration(ctx, next) })
	if len(runs) > 0 { // hooks took time, so a stop may have been requested
		h.list.undoHooks()
		at := h.moment(ctx)
		at.Blocked = blockedBy(runs)
		if v := h.stopsAt(at); v != nil {
			return v
		}
	}
	switch {
	case !h.hooksRan:
	case h.state.History.Started == 0:
		h.tree.snapshot(ctx, ralph.TreeInput{BaseHead: h.tree.baseHead()})
	default:
		h.tree.acceptTree(ctx)
	}
	h.hooksRan = false
	return nil
}

// runPostHooks informs hooks about a verdict. A run that is being killed has no time for hooks.
func (h *hookCaller) runPostHooks(ctx context.Context, v ralph.Verdict) {
	if len(h.hooks) == 0 || ctx.Err() != nil {
		return
	}
	now := h.state.History.Now
	judged := ralph.IterationJudged{
		HookContext: h.hookContext(),
		Agent:       now.Agent.Agent,
		End:         now.Agent.End,
		Error:       now.Agent.Error,
		Claims:      judge.ClaimsOf(now),
		Proven:      v.Tasks.Done,
		Action:      v.Action,
		Reason:      v.Reason,
	}
	judged.Task = now.Task
	for _, r := range v.Refusals() {
		judged.Refusals = append(judged.Refusals, r.Code)
	}
	h.askHooks(ralph.PostIteration, func(h ralph.Hooks) []ralph.HookRun { return h.AfterIteration(ctx, judged) })
	h.examine(ctx, v.Reason)
}

// examine looks at the list and the tree after hooks ran, because what they changed is not the user's, even if the
// run has ended and is resumed later.
func (h *hookCaller) examine(ctx context.Context, reason ralph.StopReason) {
	switch {
	case !h.hooksRan:
	case reason != "" && ralph.StatusOf(reason) == ralph.StatusCompleted:
		h.warnChangedByHooks(ctx)
	case h.state.History.Judging: // the next judgement looks at them
	default:
		h.list.undoHooks()
		if h.tree.joinsEdits() {
			h.tree.acceptTree(ctx)
		}
	}
}

// warnChangedByHooks warns if hooks changed files after the claim was proven.
func (h *hookCaller) warnChangedByHooks(ctx context.Context) {
	proven := h.state.History.Tree
	if !proven.Known {
		return
	}
	now, ok := h.tree.fingerprint(ctx, ralph.TreeInput{BaseHead: h.tree.baseHead()})
	if ok && now.Known && !now.Same(proven) {
		h.warnOnce("changed_after_proof",
			"a hook changed files after the claim was proven, so the workspace is no longer what was proven")
	}
}

// runStopHooks informs hooks about the end of the run, even after a kill. Hooks cannot change the
// outcome.
func (h *hookCaller) runStopHooks(ctx context.Context, stopped ralph.RunStopped) {
	if len(h.hooks) == 0 {
		return
	}
	if ctx.Err() != nil { // the kill was for the agent; hooks have their own timeout
		var done context.CancelFunc
		ctx, done = h.detachedContext(ctx)
		defer done()
	}
	end := ralph.RunEnd{
		HookContext: h.hookContext(),
		Status:      stopped.Status,
		Reason:      stopped.Reason,
		ExitCode:    stopped.ExitCode,
		Summary:     stopped.Detail,
	}
	h.askHooks(ralph.OnStop, func(h ralph.Hooks) []ralph.HookRun { return h.AtStop(ctx, end) })
	h.examine(ctx, stopped.Reason)
	h.sync()
}

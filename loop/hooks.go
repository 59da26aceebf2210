package loop

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// hookCaller asks the hooks of a run.
type hookCaller struct {
	*journal
	tree      *workspace
	hooks     []ralph.Hooks
	callHooks map[ralph.HookRun]bool // hooks about single calls whose warning was said, with the reason
	hooksRan  bool                   // hooks were asked since the tree was last looked at
}

// maxHookText is how much of a hook's words is recorded: a line of the log stays short.
const maxHookText = 1000

// blockedBy is why hooks keep an iteration from starting, "" if they do not.
func blockedBy(runs []ralph.HookRun) string {
	for _, run := range runs {
		if run.Decision == ralph.HookBlocks {
			return hookText(run.Text)
		}
	}
	return ""
}

// hookText makes one line of a hook's words.
func hookText(text string) string {
	words := []rune(strings.Join(strings.Fields(text), " "))
	switch {
	case len(words) == 0:
		return "a hook blocks, without a reason"
	case len(words) > maxHookText:
		return string(words[:maxHookText]) + " …"
	}
	return string(words)
}

// askHooks asks everybody until somebody blocks, and records what was said. Whoever panics has warned.
func (h *hookCaller) askHooks(hook ralph.HookName, ask func(ralph.Hooks) []ralph.HookRun) []ralph.HookRun {
	var all []ralph.HookRun
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
	case run.Decision == ralph.HookBlocks || run.Decision == ralph.HookWarns: // it comes too late to block anything
		h.warn(ralph.NoticeHookWarns, "%s", who+" warns: "+hookText(run.Text))
	case run.Text != "":
		h.notice(ralph.NoticeHookSays, who+": "+hookText(run.Text))
	default:
		h.notice(ralph.NoticeHookAllows, who+" allows")
	}
}

// maxCallWarnings is how many warnings of hooks about single calls are told in all.
const maxCallWarnings = 20

// warnCallHooks warns of hooks about single calls that an agent asked and that did not decide. The call was made all the same, and many may follow: so each
// is told of once for a reason, which is what stands before a colon in its words.
func (h *hookCaller) warnCallHooks(runs []ralph.HookRun) {
	for _, run := range runs {
		reason, _, _ := strings.Cut(run.Text, ":")
		once := ralph.HookRun{Hook: run.Hook, By: run.By, Text: reason}
		if run.Decision != ralph.HookWarns || h.callHooks[once] || len(h.callHooks) == maxCallWarnings {
			continue
		}
		if h.callHooks == nil {
			h.callHooks = map[ralph.HookRun]bool{}
		}
		h.callHooks[once] = true
		h.warn(
			ralph.NoticeHookWarns, "%s %s warns, which holds nothing up (said once): %s", run.Hook, run.By, hookText(run.Text),
		)
	}
}

func (h *hookCaller) hookContext() ralph.HookContext {
	return ralph.HookContext{Run: h.id, Iteration: h.iteration, Task: h.state.History.Task, Dir: h.cfg.Dir}
}

// runPreHooks asks whether the iteration may begin. nil is yes; otherwise the verdict says why not. What hooks changed in the workspace is not the
// next agent's doing.
func (h *hookCaller) runPreHooks(ctx context.Context, agent string) *ralph.Verdict {
	if len(h.hooks) == 0 {
		return nil
	}
	next := ralph.IterationAhead{HookContext: h.hookContext(), Agent: agent}
	runs := h.askHooks(ralph.PreIteration, func(h ralph.Hooks) []ralph.HookRun { return h.BeforeIteration(ctx, next) })
	if len(runs) > 0 { // that took time, in which anything may have been asked for
		at := h.moment(ctx)
		at.Blocked = blockedBy(runs)
		if v := h.stopsAt(at); v != nil {
			return v
		}
	}
	if h.hooksRan {
		h.hooksRan = false
		h.tree.snapshot(ctx, ralph.TreeInput{BaseHead: h.state.History.Base.Head})
	}
	return nil
}

// runPostHooks tells hooks of a verdict. A run that is being killed has no time for them.
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
		Proven:      v.Tasks.Done, Action: v.Action, Reason: v.Reason,
	}
	judged.Task = now.Task
	for _, r := range v.Refusals() {
		judged.Refusals = append(judged.Refusals, r.Code)
	}
	h.askHooks(ralph.PostIteration, func(h ralph.Hooks) []ralph.HookRun { return h.AfterIteration(ctx, judged) })
	if v.Action == ralph.Stop {
		h.warnChangedByHooks(ctx, v.Reason)
	}
}

// warnChangedByHooks warns if hooks changed what was proven before they ran.
func (h *hookCaller) warnChangedByHooks(ctx context.Context, reason ralph.StopReason) {
	proven := h.state.History.Tree
	if !h.hooksRan || ralph.StatusOf(reason) != ralph.StatusCompleted || !proven.Known {
		return
	}
	if now, ok := h.tree.fingerprint(ctx, ralph.TreeInput{BaseHead: h.tree.baseHead()}); ok && now.Known && !now.Same(proven) {
		h.warnOnce("changed_after_proof",
			"a hook changed files after the claim was proven: what is there now is not what was proven")
	}
}

// runStopHooks tells hooks of the end, also of one that a kill brought. It changes nothing about that end.
func (h *hookCaller) runStopHooks(ctx context.Context, stopped ralph.RunStopped) {
	if len(h.hooks) == 0 {
		return
	}
	if ctx.Err() != nil { // that kill was for the agent; these have their own time-out
		var done context.CancelFunc
		ctx, done = h.detached(ctx)
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
	h.warnChangedByHooks(ctx, stopped.Reason)
	h.sync()
}

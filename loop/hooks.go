package loop

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// WithHooks has somebody asked at the edges of every iteration and at the end of the run. Of several, those that were given first are asked first.
func WithHooks(h ralph.Hooks) Option { return func(l *Loop) { l.hooks = append(l.hooks, h) } }

// maxHookText is how much of a hook's words is recorded: a line of the log stays short.
const maxHookText = 1000

// blockedBy is why hooks keep an iteration from starting, "" if they do not.
func blockedBy(runs []ralph.HookRun) string {
	for _, run := range runs {
		if run.Decision == ralph.HookBlocks {
			return orSilent(run.Text)
		}
	}
	return ""
}

// orSilent makes one line of a hook's words.
func orSilent(text string) string {
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
func (l *Loop) askHooks(hook ralph.HookName, ask func(ralph.Hooks) []ralph.HookRun) []ralph.HookRun {
	var all []ralph.HookRun
	for _, h := range l.hooks {
		runs := askSafely(hook, func() []ralph.HookRun { return ask(h) })
		all = append(all, runs...)
		for _, run := range runs {
			l.tellHook(run)
		}
		if blockedBy(runs) != "" {
			break
		}
	}
	l.hooked = l.hooked || len(all) > 0
	return all
}

func askSafely(hook ralph.HookName, ask func() []ralph.HookRun) (runs []ralph.HookRun) {
	defer func() {
		if bug := recover(); bug != nil {
			runs = []ralph.HookRun{{Hook: hook, By: "function", Decision: ralph.HookWarns, Text: fmt.Sprintf("it panicked: %v", bug)}}
		}
	}()
	return ask()
}

func (l *Loop) tellHook(run ralph.HookRun) {
	who := fmt.Sprintf("%s %s", run.Hook, run.By)
	switch {
	case run.Decision == ralph.HookBlocks && run.Hook == ralph.PreIteration:
		l.emit(ralph.EvWarning, ralph.Notice{Code: ralph.NoticeHookBlocks, Text: who + " blocks: " + orSilent(run.Text)})
	case run.Decision == ralph.HookBlocks || run.Decision == ralph.HookWarns: // it comes too late to block anything
		l.emit(ralph.EvWarning, ralph.Notice{Code: ralph.NoticeHookWarns, Text: who + " warns: " + orSilent(run.Text)})
	case run.Text != "":
		l.emit(ralph.EvNotice, ralph.Notice{Code: ralph.NoticeHookSays, Text: who + ": " + orSilent(run.Text)})
	default:
		l.emit(ralph.EvNotice, ralph.Notice{Code: ralph.NoticeHookAllows, Text: who + " allows"})
	}
}

// maxCallWarnings is how many warnings of hooks about single calls are told in all.
const maxCallWarnings = 20

// tellCallHooks warns of hooks about single calls that an agent asked and that did not decide. The call was made all the same, and many may follow: so each
// is told of once for a reason, which is what stands before a colon in its words.
func (l *Loop) tellCallHooks(runs []ralph.HookRun) {
	for _, run := range runs {
		reason, _, _ := strings.Cut(run.Text, ":")
		once := ralph.HookRun{Hook: run.Hook, By: run.By, Text: reason}
		if run.Decision != ralph.HookWarns || l.callHooks[once] || len(l.callHooks) == maxCallWarnings {
			continue
		}
		if l.callHooks == nil {
			l.callHooks = map[ralph.HookRun]bool{}
		}
		l.callHooks[once] = true
		l.emit(ralph.EvWarning, ralph.Notice{Code: ralph.NoticeHookWarns, Text: fmt.Sprintf("%s %s warns, which holds nothing up (said once): %s", run.Hook, run.By, orSilent(run.Text))})
	}
}

// nextWorker is the name of the agent that would work now.
func (l *Loop) nextWorker() string {
	next, _, _ := l.state.History.NextAgent(l.policy, l.elapsed())
	return l.agents[min(next, len(l.agents)-1)].Name
}

func (l *Loop) hookPlace() ralph.HookPlace {
	return ralph.HookPlace{Run: l.id, Iteration: l.iteration, Task: l.state.History.Task, Dir: l.cfg.Dir}
}

// hookBefore asks whether the iteration may begin. nil is yes; otherwise the verdict says why not. What hooks changed in the workspace is not the
// next agent's doing.
func (l *Loop) hookBefore(ctx context.Context, agent string) *ralph.Verdict {
	if len(l.hooks) == 0 {
		return nil
	}
	next := ralph.IterationAhead{HookPlace: l.hookPlace(), Agent: agent}
	runs := l.askHooks(ralph.PreIteration, func(h ralph.Hooks) []ralph.HookRun { return h.BeforeIteration(ctx, next) })
	if len(runs) > 0 { // that took time, in which anything may have been asked for
		at := l.moment(ctx)
		at.Blocked = blockedBy(runs)
		if v := l.stopsAt(at); v != nil {
			return v
		}
	}
	if l.hooked {
		l.hooked = false
		l.snapshot(ctx, ralph.TreeInput{BaseHead: l.state.History.Base.Head})
	}
	return nil
}

// stopsAt gives the verdict if the next iteration is not to begin.
func (l *Loop) stopsAt(at ralph.Moment) *ralph.Verdict {
	v := judge.Decide(l.policy, l.state.History.Judge(at))
	if v.Action != ralph.Stop {
		return nil
	}
	l.iteration = l.state.History.Started // the next one never began
	l.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	return &v
}

// hookAfter tells hooks of a verdict. A run that is being killed has no time for them.
func (l *Loop) hookAfter(ctx context.Context, v ralph.Verdict) {
	if len(l.hooks) == 0 || ctx.Err() != nil {
		return
	}
	now := l.state.History.Now
	judged := ralph.IterationJudged{
		HookPlace: l.hookPlace(), Agent: now.Agent.Agent, End: now.Agent.End, Error: now.Agent.Error, Claims: judge.ClaimsOf(now),
		Proven: v.Tasks.Done, Action: v.Action, Reason: v.Reason,
	}
	judged.Task = now.Task
	for _, r := range v.Refusals() {
		judged.Refusals = append(judged.Refusals, r.Code)
	}
	l.askHooks(ralph.PostIteration, func(h ralph.Hooks) []ralph.HookRun { return h.AfterIteration(ctx, judged) })
	if v.Action == ralph.Stop {
		l.tellTouched(ctx, v.Reason)
	}
}

// tellTouched warns if hooks changed what was proven before they ran.
func (l *Loop) tellTouched(ctx context.Context, reason ralph.StopReason) {
	proven := l.state.History.Tree
	if !l.hooked || ralph.StatusOf(reason) != ralph.StatusCompleted || !proven.Known {
		return
	}
	if now, ok := l.look(ctx, ralph.TreeInput{BaseHead: l.baseHead()}); ok && now.Known && !now.Same(proven) {
		l.tellOnce("changed_after_proof", "a hook changed files after the claim was proven: what is there now is not what was proven")
	}
}

// hookStop tells hooks of the end, also of one that a kill brought. It changes nothing about that end.
func (l *Loop) hookStop(ctx context.Context, stopped ralph.RunStopped) {
	if len(l.hooks) == 0 {
		return
	}
	if ctx.Err() != nil { // that kill was for the agent; these have their own time-out
		ctx = context.WithoutCancel(ctx)
	}
	end := ralph.RunEnd{HookPlace: l.hookPlace(), Status: stopped.Status, Reason: stopped.Reason, ExitCode: stopped.ExitCode, Summary: stopped.Detail}
	l.askHooks(ralph.OnStop, func(h ralph.Hooks) []ralph.HookRun { return h.AtStop(ctx, end) })
	l.tellTouched(ctx, stopped.Reason)
	l.sync()
}

package ralph

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Hooks are asked before an iteration begins, after it was judged, and when the run has its result. They are called one at a time, on the loop's own
// goroutine, and block it. What they give is who was asked, in order; if one of them blocks, nobody behind it was.
//
// A block counts before an iteration only: the run ends with Blocked, and the hook's words are why. A done ctx means: end now and say what is known.
type Hooks interface {
	BeforeIteration(ctx context.Context, next IterationAhead) []HookRun
	AfterIteration(ctx context.Context, judged IterationJudged) []HookRun
	AtStop(ctx context.Context, end RunEnd) []HookRun
}

// WithHooks has somebody asked at the edges of every iteration and at the end of the run. Of several, those that were given first are asked first.
func WithHooks(h Hooks) Option { return func(l *Loop) { l.hooks = append(l.hooks, h) } }

// HookPlace says where a run stands when a hook is asked.
type HookPlace struct {
	Run       string `json:"run"`
	Iteration int    `json:"iteration"`
	Task      string `json:"task,omitempty"`
	Dir       string `json:"dir"` // the workspace
}

// IterationAhead is an iteration that is about to begin.
type IterationAhead struct {
	HookPlace
	Agent string `json:"agent,omitempty"`
}

// IterationJudged is an iteration with its verdict. The fields have the names of the result object.
type IterationJudged struct {
	HookPlace
	Agent    string     `json:"agent,omitempty"`
	End      EndClass   `json:"end"` // of the agent
	Error    string     `json:"error,omitempty"`
	Claims   []string   `json:"claims,omitempty"`
	Refusals []string   `json:"refusals,omitempty"`
	Proven   []string   `json:"tasks_done,omitempty"`
	Action   Action     `json:"action"`
	Reason   StopReason `json:"stop_reason,omitempty"`
}

// RunEnd is how a run ended. The fields have the names of the result object.
type RunEnd struct {
	HookPlace
	Status   Status     `json:"status"`
	Reason   StopReason `json:"stop_reason"`
	ExitCode int        `json:"exit_code"`
	Summary  string     `json:"summary"`
}

// HookDecision is what one hook says.
type HookDecision string

// The decisions of a hook.
const (
	HookAllows HookDecision = "allow"
	HookWarns  HookDecision = "warn"
	HookBlocks HookDecision = "block"
)

// HookName is a moment at which hooks are asked.
type HookName string

// The hooks that the loop asks.
const (
	PreIteration  HookName = "pre_iteration"
	PostIteration HookName = "post_iteration"
	OnStop        HookName = "on_stop"
)

// HookRun is one hook that was asked.
type HookRun struct {
	Hook     HookName      `json:"hook"`
	By       string        `json:"by"` // the command, or which function
	Decision HookDecision  `json:"decision"`
	Text     string        `json:"text,omitempty"`
	Duration time.Duration `json:"-"`
}

// HookFuncs makes hooks of functions; nil ones are not asked. An error of Before keeps the iteration from starting, one of the others is a warning.
type HookFuncs struct {
	Before func(ctx context.Context, next IterationAhead) error
	After  func(ctx context.Context, judged IterationJudged) error
	Stop   func(ctx context.Context, end RunEnd) error
}

// BeforeIteration implements Hooks.
func (f HookFuncs) BeforeIteration(ctx context.Context, next IterationAhead) []HookRun {
	return askFunc(ctx, PreIteration, f.Before, next)
}

// AfterIteration implements Hooks.
func (f HookFuncs) AfterIteration(ctx context.Context, judged IterationJudged) []HookRun {
	return askFunc(ctx, PostIteration, f.After, judged)
}

// AtStop implements Hooks.
func (f HookFuncs) AtStop(ctx context.Context, end RunEnd) []HookRun {
	return askFunc(ctx, OnStop, f.Stop, end)
}

func askFunc[T any](ctx context.Context, hook HookName, ask func(context.Context, T) error, event T) []HookRun {
	if ask == nil {
		return nil
	}
	run, begun := HookRun{Hook: hook, By: "function", Decision: HookAllows}, time.Now()
	if err := ask(ctx, event); err != nil {
		run.Decision, run.Text = HookBlocks, err.Error()
	}
	run.Duration = time.Since(begun)
	return []HookRun{run}
}

// Codes of what is recorded about a hook: it had nothing to say, it said something, it warns, it blocks.
const (
	NoticeHookAllows = "hook_allows"
	NoticeHookSays   = "hook_says"
	NoticeHookWarns  = "hook_warns"
	NoticeHookBlocks = "hook_blocks"
)

// maxHookText is how much of a hook's words is recorded: a line of the log stays short.
const maxHookText = 1000

// blockedBy is why hooks keep an iteration from starting, "" if they do not.
func blockedBy(runs []HookRun) string {
	for _, run := range runs {
		if run.Decision == HookBlocks {
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

// Row 5, between iterations: a hook of the user's needs him.
func hookRule(_ Policy, h History, v Verdict) *Verdict {
	if h.Moment.Blocked == "" {
		return nil
	}
	return stopAt(v, 5, Blocked, "%s", h.Moment.Blocked)
}

// askHooks asks everybody until somebody blocks, and records what was said. Whoever panics has warned.
func (l *Loop) askHooks(hook HookName, ask func(Hooks) []HookRun) []HookRun {
	var all []HookRun
	for _, h := range l.hooks {
		runs := askSafely(hook, func() []HookRun { return ask(h) })
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

func askSafely(hook HookName, ask func() []HookRun) (runs []HookRun) {
	defer func() {
		if bug := recover(); bug != nil {
			runs = []HookRun{{Hook: hook, By: "function", Decision: HookWarns, Text: fmt.Sprintf("it panicked: %v", bug)}}
		}
	}()
	return ask()
}

func (l *Loop) tellHook(run HookRun) {
	who := fmt.Sprintf("%s %s", run.Hook, run.By)
	switch {
	case run.Decision == HookBlocks && run.Hook == PreIteration:
		l.emit(EvWarning, Notice{NoticeHookBlocks, who + " blocks: " + orSilent(run.Text)})
	case run.Decision == HookBlocks || run.Decision == HookWarns: // it comes too late to block anything
		l.emit(EvWarning, Notice{NoticeHookWarns, who + " warns: " + orSilent(run.Text)})
	case run.Text != "":
		l.emit(EvNotice, Notice{NoticeHookSays, who + ": " + orSilent(run.Text)})
	default:
		l.emit(EvNotice, Notice{NoticeHookAllows, who + " allows"})
	}
}

// maxCallWarnings is how many warnings of hooks about single calls are told in all.
const maxCallWarnings = 20

// tellCallHooks warns of hooks about single calls that an agent asked and that did not decide. The call was made all the same, and many may follow: so each
// is told of once for a reason, which is what stands before a colon in its words.
func (l *Loop) tellCallHooks(runs []HookRun) {
	for _, run := range runs {
		reason, _, _ := strings.Cut(run.Text, ":")
		once := HookRun{Hook: run.Hook, By: run.By, Text: reason}
		if run.Decision != HookWarns || l.callHooks[once] || len(l.callHooks) == maxCallWarnings {
			continue
		}
		if l.callHooks == nil {
			l.callHooks = map[HookRun]bool{}
		}
		l.callHooks[once] = true
		l.emit(EvWarning, Notice{NoticeHookWarns, fmt.Sprintf("%s %s warns, which holds nothing up (said once): %s", run.Hook, run.By, orSilent(run.Text))})
	}
}

// nextWorker is the name of the agent that would work now.
func (l *Loop) nextWorker() string {
	next, _, _ := l.state.History.nextAgent(l.policy, l.elapsed())
	return l.agents[min(next, len(l.agents)-1)].Name
}

func (l *Loop) hookPlace() HookPlace {
	return HookPlace{Run: l.id, Iteration: l.iteration, Task: l.state.History.Task, Dir: l.cfg.Dir}
}

// hookBefore asks whether the iteration may begin. nil is yes; otherwise the verdict says why not. What hooks changed in the workspace is not the
// next agent's doing.
func (l *Loop) hookBefore(ctx context.Context) *Verdict {
	if len(l.hooks) == 0 {
		return nil
	}
	next := IterationAhead{HookPlace: l.hookPlace(), Agent: l.nextWorker()}
	runs := l.askHooks(PreIteration, func(h Hooks) []HookRun { return h.BeforeIteration(ctx, next) })
	if len(runs) > 0 { // that took time, in which anything may have been asked for
		at := l.moment(ctx)
		at.Blocked = blockedBy(runs)
		if v := l.stopsAt(at); v != nil {
			return v
		}
	}
	if l.hooked {
		l.hooked = false
		l.snapshot(ctx, TreeInput{BaseHead: l.state.History.Base.Head})
	}
	return nil
}

// stopsAt gives the verdict if the next iteration is not to begin.
func (l *Loop) stopsAt(at Moment) *Verdict {
	v := Decide(l.policy, l.state.History.Judge(at))
	if v.Action != Stop {
		return nil
	}
	l.iteration = l.state.History.Started // the next one never began
	l.emit(EvVerdict, VerdictReached{at, v})
	return &v
}

// hookAfter tells hooks of a verdict. A run that is being killed has no time for them.
func (l *Loop) hookAfter(ctx context.Context, v Verdict) {
	if len(l.hooks) == 0 || ctx.Err() != nil {
		return
	}
	now := l.state.History.Now
	judged := IterationJudged{
		HookPlace: l.hookPlace(), Agent: now.Agent.Agent, End: now.Agent.End, Error: now.Agent.Error, Claims: claimsOf(now),
		Proven: v.Tasks.Done, Action: v.Action, Reason: v.Reason,
	}
	judged.Task = now.Task
	for _, r := range v.Refusals() {
		judged.Refusals = append(judged.Refusals, r.Code)
	}
	l.askHooks(PostIteration, func(h Hooks) []HookRun { return h.AfterIteration(ctx, judged) })
	if v.Action == Stop {
		l.tellTouched(ctx, v.Reason)
	}
}

// tellTouched warns if hooks changed what was proven before they ran.
func (l *Loop) tellTouched(ctx context.Context, reason StopReason) {
	proven := l.state.History.tree
	if !l.hooked || StatusOf(reason) != StatusCompleted || !proven.Known {
		return
	}
	if now, ok := l.look(ctx, TreeInput{BaseHead: l.baseHead()}); ok && now.Known && !now.same(proven) {
		l.tellOnce("changed_after_proof", "a hook changed files after the claim was proven: what is there now is not what was proven")
	}
}

// hookStop tells hooks of the end, also of one that a kill brought. It changes nothing about that end.
func (l *Loop) hookStop(ctx context.Context, stopped RunStopped) {
	if len(l.hooks) == 0 {
		return
	}
	if ctx.Err() != nil { // that kill was for the agent; these have their own time-out
		ctx = context.WithoutCancel(ctx)
	}
	end := RunEnd{HookPlace: l.hookPlace(), Status: stopped.Status, Reason: stopped.Reason, ExitCode: stopped.ExitCode, Summary: stopped.Detail}
	l.askHooks(OnStop, func(h Hooks) []HookRun { return h.AtStop(ctx, end) })
	l.tellTouched(ctx, stopped.Reason)
	l.sync()
}

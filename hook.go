package ralph

import (
	"context"
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

// HookContext says where a run stands when a hook is asked.
type HookContext struct {
	Run       string `json:"run"`
	Iteration int    `json:"iteration"`
	Task      string `json:"task,omitempty"`
	Dir       string `json:"dir"` // the workspace
}

// IterationAhead is an iteration that is about to begin.
type IterationAhead struct {
	HookContext
	Agent string `json:"agent,omitempty"`
}

// IterationJudged is an iteration with its verdict. The fields have the names of the result object.
type IterationJudged struct {
	HookContext
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
	HookContext
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
	return callHook(ctx, PreIteration, f.Before, next)
}

// AfterIteration implements Hooks.
func (f HookFuncs) AfterIteration(ctx context.Context, judged IterationJudged) []HookRun {
	return callHook(ctx, PostIteration, f.After, judged)
}

// AtStop implements Hooks.
func (f HookFuncs) AtStop(ctx context.Context, end RunEnd) []HookRun {
	return callHook(ctx, OnStop, f.Stop, end)
}

func callHook[T any](ctx context.Context, hook HookName, ask func(context.Context, T) error, event T) []HookRun {
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

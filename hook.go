package ralph

import (
	"context"
	"time"
)

// Hooks run before an iteration begins, after it is judged, and at the end of the run. The loop calls
// them one at a time on its own goroutine and waits for them. Each method returns the hooks that ran,
// in order. Hooks after one that blocks do not run.
//
// A hook can block only before an iteration. The run then ends with Blocked and the hook's text as the
// reason. When ctx is done, a method must stop and return what is known.
type Hooks interface {
	BeforeIteration(ctx context.Context, next IterationAhead) []HookRun
	AfterIteration(ctx context.Context, judged IterationJudged) []HookRun
	AtStop(ctx context.Context, end RunEnd) []HookRun
}

// HookContext identifies the run, the iteration and the task for a hook.
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

// IterationJudged is an iteration with its verdict. Its JSON keys are those of the result object.
type IterationJudged struct {
	HookContext
	Agent    string     `json:"agent,omitempty"`
	End      EndClass   `json:"end"` // how the agent ended
	Error    string     `json:"error,omitempty"`
	Claims   []string   `json:"claims,omitempty"`
	Refusals []string   `json:"refusals,omitempty"`
	Proven   []string   `json:"tasks_done,omitempty"`
	Action   Action     `json:"action"`
	Reason   StopReason `json:"stop_reason,omitempty"`
}

// RunEnd describes how a run ended. Its JSON keys are those of the result object.
type RunEnd struct {
	HookContext
	Status   Status     `json:"status"`
	Reason   StopReason `json:"stop_reason"`
	ExitCode int        `json:"exit_code"`
	Summary  string     `json:"summary"`
}

// HookDecision is the decision of one hook.
type HookDecision string

// The decisions of a hook.
const (
	HookAllows HookDecision = "allow"
	HookWarns  HookDecision = "warn"
	HookBlocks HookDecision = "block"
)

// HookName names the point in a run at which a hook runs.
type HookName string

// The hooks that the loop runs.
const (
	PreIteration  HookName = "pre_iteration"
	PostIteration HookName = "post_iteration"
	OnStop        HookName = "on_stop"
)

// HookRun is one run of a hook.
type HookRun struct {
	Hook     HookName      `json:"hook"`
	By       string        `json:"by"` // the command, or "function"
	Decision HookDecision  `json:"decision"`
	Text     string        `json:"text,omitempty"`
	Duration time.Duration `json:"-"`
}

// HookFuncs turns functions into Hooks. Nil functions are skipped. An error from Before keeps the
// iteration from starting. An error from After or Stop is a warning.
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

// The codes of notices and warnings about hooks.
const (
	NoticeHookAllows = "hook_allows" // it allowed the step and printed nothing
	NoticeHookSays   = "hook_says"   // it allowed the step and printed something
	NoticeHookWarns  = "hook_warns"
	NoticeHookBlocks = "hook_blocks"
)

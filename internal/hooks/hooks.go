package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/secrets"
)

// Name is a point at which hooks are asked.
type Name = ralph.HookName

// The hooks.
const (
	PreTool       Name = "pre_tool"          // before a tool call; blocking it prevents the call
	PostEdit      Name = "post_edit"         // after a tool changed files; the text goes to the model
	PreIteration       = ralph.PreIteration  // before an iteration; blocking it ends the run
	PostIteration      = ralph.PostIteration // after an iteration was judged
	OnStop             = ralph.OnStop        // when a run ends
)

// Where is the context in which a hook is asked. Commands run in its folder.
type Where = ralph.HookContext

// ToolCall is the event of pre_tool.
type ToolCall struct {
	Where
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"` // as the model wrote it; it may not be valid for the tool
	// Undetermined says why the built-in rules cannot tell what a shell command does, if they cannot.
	Undetermined string `json:"undetermined,omitempty"`
}

// Edit is the event of post_edit.
type Edit struct {
	Where
	Tool  string   `json:"tool"`
	Files []string `json:"files"` // relative to the workspace, with slashes
}

// Decision is the decision of one hook.
type Decision = ralph.HookDecision

// The decisions.
const (
	Allow = ralph.HookAllows
	Warn  = ralph.HookWarns
	Block = ralph.HookBlocks
)

// Answer is a hook's decision and its reason. The zero value allows.
type Answer struct {
	Decision Decision
	Text     string
}

// Hooks holds the hooks for one kind of event.
type Hooks[Event any] struct {
	Functions []func(context.Context, Event) Answer
	Commands  []string
}

// DefaultTimeout is the default timeout of a command.
const DefaultTimeout = 10 * time.Second

// Set holds all hooks of a run. The worker asks those about tools and edits; the loop, for which a
// Set is ralph.Hooks, asks the others. The zero value has only the built-in rules. Several
// goroutines may use it at once.
type Set struct {
	PreTool       Hooks[ToolCall]
	PostEdit      Hooks[Edit]
	PreIteration  Hooks[ralph.IterationAhead]
	PostIteration Hooks[ralph.IterationJudged]
	OnStop        Hooks[ralph.RunEnd]

	Env []string // the whole environment of commands
	// Mask masks secrets in what commands are told and in what they say; nil masks nothing.
	Mask *secrets.Masker
	// ToolEnv is the whole environment of the shell commands that pre_tool is asked about; default:
	// unknown.
	ToolEnv []string
	// Strict makes the built-in rules refuse what they cannot determine.
	Strict bool
	// Home is the user's home folder, which the built-in rules protect; default: HOME of Env.
	Home string
	// Marker is put into the environment of commands; see process.Spec.
	Marker string
	// Timeout is the timeout of each command; default: DefaultTimeout; negative means none.
	Timeout time.Duration
	// Grace is the time between TERM and KILL after the timeout; default: process.DefaultGrace;
	// negative means none.
	Grace time.Duration
	// Enter may change how a command is started, for a sandbox.
	Enter func(*process.Spec)
}

var _ ralph.Hooks = (*Set)(nil)

// Run is one hook that was asked. By is "built-in", "function 1", or the command.
type Run = ralph.HookRun

// Verdict combines the answers of all hooks for one event.
type Verdict struct {
	Blocked  bool
	Text     string   // why it was blocked
	Warnings []string // each with the name of the hook
	Runs     []Run    // in the order in which they were asked
}

// BeforeTool asks pre_tool. It returns when all hooks have answered. If ctx is done, commands count
// as warnings.
func (s *Set) BeforeTool(ctx context.Context, call ToolCall) Verdict {
	return ask(ctx, s, moment[ToolCall]{name: PreTool, hooks: s.PreTool, event: call, where: call.Where, builtIn: s.deny})
}

// AfterEdit asks post_edit.
func (s *Set) AfterEdit(ctx context.Context, edit Edit) Verdict {
	return ask(ctx, s, moment[Edit]{name: PostEdit, hooks: s.PostEdit, event: edit, where: edit.Where})
}

// BeforeIteration asks pre_iteration.
func (s *Set) BeforeIteration(ctx context.Context, next ralph.IterationAhead) []Run {
	return ask(ctx, s, moment[ralph.IterationAhead]{
		name:  PreIteration,
		hooks: s.PreIteration,
		event: next,
		where: next.HookContext,
	}).Runs
}

// AfterIteration asks post_iteration.
func (s *Set) AfterIteration(ctx context.Context, judged ralph.IterationJudged) []Run {
	return ask(ctx, s, moment[ralph.IterationJudged]{
		name:  PostIteration,
		hooks: s.PostIteration,
		event: judged,
		where: judged.HookContext,
	}).Runs
}

// AtStop asks on_stop.
func (s *Set) AtStop(ctx context.Context, end ralph.RunEnd) []Run {
	return ask(ctx, s, moment[ralph.RunEnd]{name: OnStop, hooks: s.OnStop, event: end, where: end.HookContext}).Runs
}

// moment is one occasion to ask hooks.
type moment[Event any] struct {
	name    Name
	hooks   Hooks[Event]
	event   Event
	where   Where
	builtIn func(context.Context, *Event) Answer // may add to the event what others are told
}

// ask asks the hooks in order until one blocks.
func ask[Event any](ctx context.Context, s *Set, m moment[Event]) Verdict {
	var v Verdict
	if m.builtIn != nil && v.askOne(m.name, "built-in", func() Answer { return m.builtIn(ctx, &m.event) }) {
		return v
	}
	for i, function := range m.hooks.Functions {
		if v.askOne(m.name, fmt.Sprintf("function %d", i+1), func() Answer { return function(ctx, m.event) }) {
			return v
		}
	}
	for _, command := range m.hooks.Commands {
		if v.askOne(m.name, command, func() Answer { return s.run(ctx, command, m.where.Dir, message(m.name, m.event)) }) {
			return v
		}
	}
	return v
}

// askOne asks one hook and reports whether it blocks.
func (v *Verdict) askOne(hook Name, by string, answer func() Answer) bool {
	began := time.Now()
	a := answer()
	a.Decision = cmp.Or(a.Decision, Allow)
	v.Runs = append(v.Runs, Run{Hook: hook, By: by, Decision: a.Decision, Text: a.Text, Duration: time.Since(began)})
	switch a.Decision {
	case Block:
		v.Blocked, v.Text = true, a.Text
	case Warn:
		v.Warnings = append(v.Warnings, fmt.Sprintf("%s %s: %s", hook, by, a.Text))
	}
	return a.Decision == Block
}

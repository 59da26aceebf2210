package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
)

// Name is one of the moments at which hooks are asked.
type Name = ralph.HookName

// The hooks.
const (
	PreTool       Name = "pre_tool"          // before a tool call; who blocks it keeps it from being made
	PostEdit      Name = "post_edit"         // after files were changed by a tool; what is said goes to the model
	PreIteration       = ralph.PreIteration  // before an iteration; who blocks it ends the run
	PostIteration      = ralph.PostIteration // after an iteration was judged
	OnStop             = ralph.OnStop        // when a run ends
)

// Where says where things stand when a hook is asked. Commands are run in its folder.
type Where = ralph.HookContext

// ToolCall is what pre_tool is told.
type ToolCall struct {
	Where
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"` // as the model wrote it, which need not be what the tool takes
}

// Edit is what post_edit is told.
type Edit struct {
	Where
	Tool  string   `json:"tool"`
	Files []string `json:"files"` // below the workspace, with slashes
}

// Decision is what one hook says.
type Decision = ralph.HookDecision

// The decisions.
const (
	Allow = ralph.HookAllows
	Warn  = ralph.HookWarns
	Block = ralph.HookBlocks
)

// Answer is what one hook says, and why. The zero value allows.
type Answer struct {
	Decision Decision
	Text     string
}

// Hooks are those of one moment.
type Hooks[Event any] struct {
	Functions []func(context.Context, Event) Answer
	Commands  []string
}

// DefaultTimeout is how long a command may take.
const DefaultTimeout = 10 * time.Second

// Set is all hooks of a run: the worker asks those about tools and edits, the loop, for which a set is ralph.Hooks, the others. The zero value has the
// built-in rules and nothing else. It may be used by several goroutines at once.
type Set struct {
	PreTool       Hooks[ToolCall]
	PostEdit      Hooks[Edit]
	PreIteration  Hooks[ralph.IterationAhead]
	PostIteration Hooks[ralph.IterationJudged]
	OnStop        Hooks[ralph.RunEnd]

	Env     []string            // the whole environment of commands
	Home    string              // the user's home folder, which the built-in rules protect; "" is HOME of Env
	Marker  string              // is put into their environment; see process.Spec
	Timeout time.Duration       // of each command; 0 is DefaultTimeout, less than 0 none
	Grace   time.Duration       // between TERM and KILL after it; 0 is process.DefaultGrace, less than 0 none
	Enter   func(*process.Spec) // may change how a command is started, for a sandbox
}

var _ ralph.Hooks = (*Set)(nil)

// Run is one hook that was asked.
// By is "built-in", "function 1", or the command.
type Run = ralph.HookRun

// Verdict is what all hooks of a moment say together.
type Verdict struct {
	Blocked  bool
	Text     string   // why
	Warnings []string // each with the name of who warns
	Runs     []Run    // in the order in which they were asked
}

// BeforeTool asks pre_tool. It blocks until all who are asked have answered; commands of a done ctx count as warnings.
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

// deny is the built-in rule for commands. Input that is not understood is left to the tool, which refuses it.
func (s *Set) deny(_ context.Context, call ToolCall) Answer {
	var input struct {
		Command string `json:"command"`
	}
	if call.Tool != "bash" || json.Unmarshal(call.Input, &input) != nil {
		return Answer{}
	}
	if why := Deny(input.Command, filepath.ToSlash(call.Dir), filepath.ToSlash(s.home())); why != "" {
		return Answer{Decision: Block, Text: why}
	}
	return Answer{}
}

func (s *Set) home() string {
	home := s.Home
	for _, entry := range s.Env {
		if value, ok := strings.CutPrefix(entry, "HOME="); ok && s.Home == "" {
			home = value
		}
	}
	return home
}

// moment is one occasion to ask hooks.
type moment[Event any] struct {
	name    Name
	hooks   Hooks[Event]
	event   Event
	where   Where
	builtIn func(context.Context, Event) Answer
}

// ask asks until somebody blocks.
func ask[Event any](ctx context.Context, s *Set, m moment[Event]) Verdict {
	var v Verdict
	if m.builtIn != nil && v.heard(m.name, "built-in", func() Answer { return m.builtIn(ctx, m.event) }) {
		return v
	}
	for i, function := range m.hooks.Functions {
		if v.heard(m.name, fmt.Sprintf("function %d", i+1), func() Answer { return function(ctx, m.event) }) {
			return v
		}
	}
	for _, command := range m.hooks.Commands {
		if v.heard(m.name, command, func() Answer { return s.run(ctx, command, m.where.Dir, message(m.name, m.event)) }) {
			return v
		}
	}
	return v
}

// heard asks one hook and reports whether it blocks.
func (v *Verdict) heard(hook Name, by string, answer func() Answer) bool {
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

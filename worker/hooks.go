package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/hooks"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

const (
	// maxDenials is how many calls that a hook blocked are told of.
	maxDenials = 16
	// maxHookWarnings is how many warnings of hooks are kept until the next turn.
	maxHookWarnings = 64
)

// hookSet is the hooks of one conversation.
func (t *talk) hookSet() *hooks.Set {
	set := hooks.Set{Env: t.o.Env, Enter: t.o.Enter, Grace: t.o.Grace}
	if t.o.Hooks != nil {
		set = *t.o.Hooks
	}
	set.Marker = cmp.Or(set.Marker, t.in.Marker)
	return &set
}

func (t *talk) where() hooks.Where {
	return hooks.Where{Run: t.o.Run, Iteration: t.in.Iteration, Task: t.in.Task, Dir: t.in.Dir}
}

// mayCall asks the hooks about a call. blocked is its result if it must not be made, remarks are what to add to the result otherwise.
func (t *talk) mayCall(ctx context.Context, c model.Call) (blocked *tools.Output, remarks string) {
	v := t.hooks.BeforeTool(ctx, hooks.ToolCall{Where: t.where(), Tool: c.Name, Input: c.Input})
	t.noteHooks(ctx, v)
	if !v.Blocked {
		return nil, asRemarks(v.Warnings)
	}
	if t.denied++; t.denied <= maxDenials {
		t.denials = append(t.denials, strings.TrimSuffix(c.Name+": "+detailOf(c.Input), ": "))
	}
	output := tools.Failf("this call is blocked: %s", v.Text)
	return &output, ""
}

// allDenials are the first of them, and how many more there were.
func (t *talk) allDenials() []string {
	if more := t.denied - maxDenials; more > 0 {
		return append(slices.Clip(t.denials), fmt.Sprintf("and %d more", more))
	}
	return t.denials
}

// edited asks the hooks about files that a call changed, and gives what they say.
func (t *talk) edited(ctx context.Context, c model.Call, files []string) string {
	v := t.hooks.AfterEdit(ctx, hooks.Edit{Where: t.where(), Tool: c.Name, Files: files})
	t.noteHooks(ctx, v)
	said := v.Warnings
	if v.Blocked {
		said = append(said, string(hooks.PostEdit)+": "+v.Text)
	}
	return asRemarks(said)
}

// noteHooks keeps what the user has to know of: the model alone would be told that a guard does not work. One that was cut with the iteration works.
func (t *talk) noteHooks(ctx context.Context, v hooks.Verdict) {
	for _, run := range v.Runs {
		if run.Decision == hooks.Warn && ctx.Err() == nil && len(t.hookWarnings) < maxHookWarnings {
			t.hookWarnings = append(t.hookWarnings, run)
		}
	}
}

func asRemarks(said []string) string {
	var b strings.Builder
	for _, s := range said {
		b.WriteString("\n\n[" + s + "]")
	}
	return b.String()
}

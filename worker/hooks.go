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
	// maxDenials limits how many blocked calls are listed.
	maxDenials = 16
	// maxHookWarnings limits how many hook warnings are kept until the next turn.
	maxHookWarnings = 64
)

// hookSet returns the hooks of one conversation.
func (t *conversation) hookSet() *hooks.Set {
	set := hooks.Set{Env: t.o.Env, Enter: t.o.Enter, Grace: t.o.Grace}
	if t.o.Hooks != nil {
		set = *t.o.Hooks
	}
	set.Marker = cmp.Or(set.Marker, t.in.Marker)
	set.ToolEnv = t.o.Env
	return &set
}

func (t *conversation) where() hooks.Where {
	return hooks.Where{Run: t.o.Run, Iteration: t.in.Iteration, Task: t.in.Task, Dir: t.in.Dir}
}

// mayCall asks the hooks about a call. blocked is its result if it must not be made; otherwise
// remarks are added to the result.
func (t *conversation) mayCall(ctx context.Context, c model.Call) (blocked *tools.Output, remarks string) {
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

// allDenials returns the first denials and the number of further ones.
func (t *conversation) allDenials() []string {
	if more := t.denied - maxDenials; more > 0 {
		return append(slices.Clip(t.denials), fmt.Sprintf("and %d more", more))
	}
	return t.denials
}

// runEditHooks asks the hooks about files that a call changed, and returns their remarks.
func (t *conversation) runEditHooks(ctx context.Context, c model.Call, files []string) string {
	v := t.hooks.AfterEdit(ctx, hooks.Edit{Where: t.where(), Tool: c.Name, Files: files})
	t.noteHooks(ctx, v)
	said := v.Warnings
	if v.Blocked {
		said = append(said, string(hooks.PostEdit)+": "+v.Text)
	}
	return asRemarks(said)
}

// noteHooks keeps warnings for the user: otherwise only the model would learn that a guard does not
// work. A hook that was cut off with the iteration is not reported.
func (t *conversation) noteHooks(ctx context.Context, v hooks.Verdict) {
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

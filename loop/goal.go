package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/internal/textfile"
)

// goal is what the run works on.
type goal struct {
	*journal
	tree                   *workspace
	goal                   goalText
	lastPlaceholderWarning string // what was said about placeholders of the prompt file
}

// goalText is what the run works on, as it was last read.
type goalText struct{ text, template string }

// readGoal reads the goal's files anew. A file that became unreadable leaves the text as it was.
func (g *goal) readGoal(ctx context.Context) error {
	fresh := goalText{text: g.cfg.Task}
	var err error
	if g.cfg.SpecFile != "" {
		if fresh.text, err = g.readProtected(ctx, g.cfg.SpecFile); err != nil {
			return fmt.Errorf("read spec: %w", err)
		}
	}
	if g.cfg.PromptFile != "" {
		if fresh.template, err = g.readProtected(ctx, g.cfg.PromptFile); err != nil {
			return fmt.Errorf("read prompt: %w", err)
		}
	}
	g.goal = fresh
	return nil
}

// readProtected reads a file of the harness's own. One that the agent before has changed is read as it was: nobody rewrites his own orders.
func (g *goal) readProtected(ctx context.Context, name string) (string, error) {
	inside := name
	if filepath.IsAbs(name) {
		inside, _ = filepath.Rel(g.cfg.Dir, name)
	}
	if text, ok := g.tree.baseText(ctx, filepath.ToSlash(filepath.Clean(inside))); ok {
		return text, nil
	}
	return textfile.Read(g.cfg.Dir, name)
}

// learnings are what people accepted. What an agent wrote there itself is none: nothing promotes itself.
func (g *goal) learnings(ctx context.Context) string {
	if text, ok := g.tree.baseText(ctx, ralph.LearningsFile); ok {
		return text
	}
	if slices.Contains(g.state.Tampered, ralph.LearningsFile) ||
		slices.Contains(g.state.History.Now.Unseen, ralph.LearningsFile) {
		return ""
	}
	text, err := textfile.ReadInside(g.cfg.Dir, ralph.LearningsFile)
	if err != nil {
		return ""
	}
	return text
}

// warnPlaceholders says, once as long as it is the same, what looks like a placeholder in the prompt file and is none.
func (g *goal) warnPlaceholders() {
	unknown, more := prompt.Unknown(g.goal.template), ""
	if len(unknown) > unknownShown {
		unknown, more = unknown[:unknownShown], ", …"
	}
	text := ""
	if len(unknown) > 0 {
		text = fmt.Sprintf("no placeholder, and left as it is in %s: %s%s; placeholders are %s",
			g.cfg.PromptFile, strings.Join(unknown, ", "), more, strings.Join(prompt.Placeholders(), " "))
	}
	if text != "" && text != g.lastPlaceholderWarning {
		g.warn("unknown_placeholder", "%s", text)
	}
	g.lastPlaceholderWarning = text
}

const unknownShown = 5

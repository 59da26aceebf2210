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

// goal reads what the run works on.
type goal struct {
	*journal
	tree                   *workspace
	goal                   goalText
	lastPlaceholderWarning string // the last warning about placeholders of the prompt file
}

// goalText is what the run works on, as last read.
type goalText struct{ text, template string }

// readGoal reads the goal's files again. If a file became unreadable, the text stays as it was.
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

// readProtected reads a file of the harness. If the previous agent changed it, readProtected
// returns the original text: an agent must not rewrite its own instructions.
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

// learnings returns the learnings that people accepted. It ignores what an agent wrote into the
// file itself: an agent must not promote its own learnings.
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

// warnPlaceholders warns about text in the prompt file that looks like a placeholder but is not
// one. It does not repeat the same warning.
func (g *goal) warnPlaceholders() {
	unknown, more := prompt.Unknown(g.goal.template), ""
	if len(unknown) > maxUnknownShown {
		unknown, more = unknown[:maxUnknownShown], ", …"
	}
	text := ""
	if len(unknown) > 0 {
		text = fmt.Sprintf("unknown placeholders in %s, left unchanged: %s%s; known placeholders: %s",
			g.cfg.PromptFile, strings.Join(unknown, ", "), more, strings.Join(prompt.Placeholders(), " "))
	}
	if text != "" && text != g.lastPlaceholderWarning {
		g.warn("unknown_placeholder", "%s", text)
	}
	g.lastPlaceholderWarning = text
}

const maxUnknownShown = 5

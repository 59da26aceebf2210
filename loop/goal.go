package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/ownfiles"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/internal/textfile"
)

// goal reads what the run works on.
type goal struct {
	*journal
	tree                   *workspace
	goal                   goalText
	files                  map[string]string // see inside
	lastPlaceholderWarning string            // the last warning about placeholders of the prompt file
}

// goalText is what the run works on, as last read, and the files in the workspace that have all of
// it, or "".
type goalText struct {
	text, file             string
	template, templateFile string
	kept                   bool // the run itself writes file
	changed                bool // since it was last read
}

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
	fresh.file, fresh.templateFile = g.inside(g.cfg.SpecFile), g.inside(g.cfg.PromptFile)
	if fresh.file == "" && prompt.TooLong(fresh.text) {
		fresh.file, fresh.kept = ralph.GoalFile, true
	}
	fresh.changed = g.goal.text != fresh.text
	g.goal = fresh
	return nil
}

// keepGoal writes a goal that is too long for a prompt into the workspace, unless a file there has
// it already.
func (g *goal) keepGoal() {
	var err error
	switch {
	case g.goal.kept:
		err = ownfiles.KeepGoal(g.cfg.Dir, g.goal.text)
	case g.goal.file != ralph.GoalFile:
		err = ownfiles.RemoveGoal(g.cfg.Dir)
	}
	if err != nil {
		g.goal.file = ""
		g.warn("goal_file", "%v", err)
	}
}

// readProtected reads a file of the harness. If the previous agent changed it, readProtected
// returns the original text: an agent must not rewrite its own instructions.
func (g *goal) readProtected(ctx context.Context, name string) (string, error) {
	file := g.inside(name)
	if text, ok := g.tree.baseText(ctx, file); ok {
		return text, nil
	}
	return textfile.Read(g.cfg.Dir, cmp.Or(file, name))
}

// inside returns the name in the workspace of a file that the user named, or "". It follows links once:
// an agent may change them.
func (g *goal) inside(name string) string {
	file, known := g.files[name]
	if !known {
		file, _ = textfile.Inside(g.cfg.Dir, name)
		if g.files == nil {
			g.files = map[string]string{}
		}
		g.files[name] = file
	}
	return file
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

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

// goalText is what the run works on, as it was last read.
type goalText struct{ text, template string }

// readGoal reads the goal's files anew. A file that became unreadable leaves the text as it was.
func (l *Loop) readGoal(ctx context.Context) error {
	fresh := goalText{text: l.cfg.Task}
	var err error
	if l.cfg.SpecFile != "" {
		if fresh.text, err = l.readProtected(ctx, l.cfg.SpecFile); err != nil {
			return fmt.Errorf("read spec: %w", err)
		}
	}
	if l.cfg.PromptFile != "" {
		if fresh.template, err = l.readProtected(ctx, l.cfg.PromptFile); err != nil {
			return fmt.Errorf("read prompt: %w", err)
		}
	}
	l.goal = fresh
	return nil
}

// readProtected reads a file of the harness's own. One that the agent before has changed is read as it was: nobody rewrites his own orders.
func (l *Loop) readProtected(ctx context.Context, name string) (string, error) {
	inside := name
	if filepath.IsAbs(name) {
		inside, _ = filepath.Rel(l.cfg.Dir, name)
	}
	if text, ok := l.baseText(ctx, filepath.ToSlash(filepath.Clean(inside))); ok {
		return text, nil
	}
	return textfile.Read(l.cfg.Dir, name)
}

// baseText is a file that the agent before has changed as it was; false if it has not, or the file was empty.
func (l *Loop) baseText(ctx context.Context, name string) (string, bool) {
	if l.examiner == nil || !slices.Contains(l.state.Tampered, name) {
		return "", false
	}
	text, err := l.examiner.BaseText(ctx, l.state.History.Base, name)
	if err != nil || strings.TrimSpace(text) == "" {
		return "", false
	}
	return textfile.Clean(text), true
}

// learnings are what people accepted. What an agent wrote there itself is none: nothing promotes itself.
func (l *Loop) learnings(ctx context.Context) string {
	if text, ok := l.baseText(ctx, ralph.LearningsFile); ok {
		return text
	}
	if slices.Contains(l.state.Tampered, ralph.LearningsFile) || slices.Contains(l.state.History.Now.Unseen, ralph.LearningsFile) {
		return ""
	}
	text, err := textfile.ReadInside(l.cfg.Dir, ralph.LearningsFile)
	if err != nil {
		return ""
	}
	return text
}

// tellPlaceholders says, once as long as it is the same, what looks like a placeholder in the prompt file and is none.
func (l *Loop) tellPlaceholders() {
	unknown, more := prompt.Unknown(l.goal.template), ""
	if len(unknown) > unknownShown {
		unknown, more = unknown[:unknownShown], ", …"
	}
	text := ""
	if len(unknown) > 0 {
		text = fmt.Sprintf("no placeholder, and left as it is in %s: %s%s; placeholders are %s",
			l.cfg.PromptFile, strings.Join(unknown, ", "), more, strings.Join(prompt.Placeholders(), " "))
	}
	if text != "" && text != l.unknown {
		l.emit(ralph.EvWarning, ralph.Notice{Code: "unknown_placeholder", Text: text})
	}
	l.unknown = text
}

const unknownShown = 5

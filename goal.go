package ralph

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// goalText is what the run works on, as it was last read.
type goalText struct{ text, template string }

// readGoal reads the goal's files anew. A file that became unreadable leaves the text as it was.
func (l *Loop) readGoal() error {
	fresh := goalText{text: l.cfg.Task}
	var err error
	if l.cfg.SpecFile != "" {
		if fresh.text, err = l.readText(l.cfg.SpecFile); err != nil {
			return fmt.Errorf("read spec: %w", err)
		}
	}
	if l.cfg.PromptFile != "" {
		if fresh.template, err = l.readText(l.cfg.PromptFile); err != nil {
			return fmt.Errorf("read prompt: %w", err)
		}
	}
	l.goal = fresh
	return nil
}

func (l *Loop) readText(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.cfg.Dir, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := strings.ToValidUTF8(strings.TrimPrefix(string(data), "\ufeff"), "\ufffd")
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return text, nil
}

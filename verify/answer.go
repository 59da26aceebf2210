package verify

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/textfile"
)

// answerVariable names the file with the agent's answer, in the environment of a check.
const answerVariable = "RALPH_ANSWER_FILE"

// answerIn returns the answer that a check finds in a view. At the base there is none yet.
func answerIn(in ralph.ViewInput) string {
	switch in.Kind {
	case ralph.ViewBase, ralph.ViewGiven, ralph.ViewHiddenBase:
		return ""
	}
	if in.Answer == nil {
		return ""
	}
	return *in.Answer
}

// answerFile is where a check of a view finds the agent's answer.
type answerFile struct {
	path, answer string
	isReadBy     func(command string) bool
}

// answerFor returns the file of a view, nil if no check gets one.
func answerFor(ctx context.Context, e *Examiner, in ralph.ViewInput, folder string) *answerFile {
	if in.Answer == nil {
		return nil
	}
	reads := func(command string) bool { return readsAnswer(ctx, e, in, command) }
	return &answerFile{filepath.Join(folder, "answer.md"), answerIn(in), reads}
}

// readsAnswer reports whether a check names the variable, in its command or in a script that the command names and
// that has it at the base. Others do not get the answer: an agent could put its work there, where no commit has it.
func readsAnswer(ctx context.Context, e *Examiner, in ralph.ViewInput, command string) bool {
	if strings.Contains(command, answerVariable) {
		return true
	}
	return slices.ContainsFunc(strings.FieldsFunc(command, isBetweenWords), func(word string) bool {
		if !filepath.IsLocal(word) {
			return false
		}
		now, err := textfile.ReadInside(in.Dir, word)
		if err != nil || !strings.Contains(now, answerVariable) {
			return false
		}
		text, err := e.BaseText(ctx, in.Base, path.Clean(filepath.ToSlash(word)))
		return err == nil && strings.Contains(text, answerVariable)
	})
}

func isBetweenWords(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("'\";&|()<>=", c) }

// give writes the answer for one check. It returns the check's environment, and what removes the file again.
func (a *answerFile) give(command string, env []string) (with []string, remove func(), err error) {
	if a == nil || !a.isReadBy(command) {
		return env, func() {}, nil
	}
	text := a.answer
	if text != "" {
		text += "\n"
	}
	if err := os.WriteFile(a.path, []byte(text), 0o600); err != nil {
		return nil, nil, fmt.Errorf("write answer: %w: %w", ralph.ErrIO, err)
	}
	return append(slices.Clip(env), answerVariable+"="+a.path), func() { _ = os.Remove(a.path) }, nil
}

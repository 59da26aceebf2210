package verify

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph"
)

// answerVariable names the file with the agent's answer, in the environment of a check.
const answerVariable = "RALPH_ANSWER_FILE"

// answerIn returns the answer that a check finds in a view. At the base there is none yet.
func answerIn(in ralph.ViewInput) string {
	switch in.Kind {
	case ralph.ViewBase, ralph.ViewGiven, viewHiddenBase:
		return ""
	}
	if in.Answer == nil {
		return ""
	}
	return *in.Answer
}

// writeAnswer writes the answer beside a view. Every view has a file of its own, so that no check can change what the
// next one reads.
func writeAnswer(folder, answer string) (file string, err error) {
	file = filepath.Join(folder, "answer.md")
	if answer != "" {
		answer += "\n"
	}
	if err := os.WriteFile(file, []byte(answer), 0o600); err != nil {
		return "", fmt.Errorf("write answer: %w: %w", ralph.ErrIO, err)
	}
	return file, nil
}

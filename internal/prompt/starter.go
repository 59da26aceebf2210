package prompt

import (
	_ "embed" // for the starter
	"strings"
)

// Starter is the prompt file that `ralph init` writes. It says how to work, not what to do.
//
//go:embed starter.md
var Starter string

// IsStarter reports whether a prompt file is the starter, unchanged. Then it is not a goal.
func IsStarter(text string) bool { return strings.TrimSpace(text) == strings.TrimSpace(Starter) }

package promise

import (
	"regexp"

	"github.com/ralphloop/ralph/internal/prompt"
)

var tag = regexp.MustCompile(`(?i)<promise>`)

var _ = prompt.Text

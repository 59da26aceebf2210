package plan

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

var idForm = text.LazyRegexp(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func validID(id string) bool { return idForm().MatchString(id) }

func badID(id string) string {
	return fmt.Sprintf(
		"bad id %q: an id starts with a letter or digit and contains only letters, digits, dots, underscores and hyphens",
		shorten(id),
	)
}

// shorten truncates a long field, so that a message stays readable.
func shorten(text string) string {
	const limit = 60
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit]) + "…"
}

// numbered matches an id with a number, such as TASK-8, T-004 or US-005.
var numbered = text.LazyRegexp(`^([A-Za-z]{0,12}[-_.]?)([0-9]{1,9})$`)

// nextID returns the next id in the style of the last task that has a number; false if none has.
func nextID(tasks []item) (string, bool) {
	for i := len(tasks) - 1; i >= 0; i-- {
		style := numbered().FindStringSubmatch(tasks[i].ID)
		if style == nil {
			continue
		}
		highest := 0
		for _, t := range tasks {
			if m := numbered().FindStringSubmatch(t.ID); m != nil && m[1] == style[1] {
				n, _ := strconv.Atoi(m[2])
				highest = max(highest, n)
			}
		}
		width := 0
		if strings.HasPrefix(style[2], "0") {
			width = len(style[2])
		}
		return fmt.Sprintf("%s%0*d", style[1], width, highest+1), true
	}
	return "", false
}

// didYouMean suggests the candidate that name was most likely meant to be.
func didYouMean(name string, candidates []string) string {
	if best := text.Nearest(name, candidates); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

// idsOf returns the ids of a list, in its order.
func idsOf(tasks []ralph.Task) []string {
	return text.Mapped(tasks, func(t ralph.Task) string { return t.ID })
}

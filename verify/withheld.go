package verify

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/textfile"
)

// shortestName is how long the name of a variable must be. A shorter one is a word of many texts.
const shortestName = 4

// Mentioned returns the names that a command has, or a file of dir that the command names, or what it printed.
func Mentioned(names []string, dir, command, printed string) []string {
	texts := []string{command, printed}
	for _, word := range strings.FieldsFunc(command, isBetweenWords) {
		if !filepath.IsLocal(word) {
			continue
		}
		if text, err := textfile.ReadInside(dir, word); err == nil {
			texts = append(texts, text)
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return len(name) < shortestName || !slices.ContainsFunc(texts, func(text string) bool { return hasWord(text, name) })
	})
}

// hasWord reports whether a text has a word, and not only as a part of a longer one.
func hasWord(text, word string) bool {
	for {
		before, after, found := strings.Cut(text, word)
		if !found {
			return false
		}
		if !isNamePart(lastByte(before)) && !isNamePart(firstByte(after)) {
			return true
		}
		text = after
	}
}

func isNamePart(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func firstByte(text string) byte {
	if text == "" {
		return 0
	}
	return text[0]
}

func lastByte(text string) byte {
	if text == "" {
		return 0
	}
	return text[len(text)-1]
}

// HintWithheld says how a command gets variables that are withheld from it.
func HintWithheld(names []string) string {
	options := "--set agent.env=" + strings.Join(names, " --set agent.env=")
	if len(names) == 1 {
		return names[0] + " is set, but not passed on; to pass it: " + options
	}
	return strings.Join(names, ", ") + " are set, but not passed on; to pass them: " + options
}

// hintWithheld is the hint for a check that failed and mentions variables that it does not get.
func (s Shell) hintWithheld(in ralph.CheckInput, printed string) string {
	if len(s.Withheld) == 0 {
		return ""
	}
	names := Mentioned(s.Withheld, in.Dir, cmp.Or(in.Command, in.Name), printed)
	if len(names) == 0 {
		return ""
	}
	return HintWithheld(names)
}

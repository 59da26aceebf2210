package verify

import (
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// firstWord finds the word of a shell command that names the program: the first one after
// assignments, redirections, opening brackets and `!`. It expands plain variables and `~/` from the
// environment. certain is false if only the shell could know the word, or if the command cannot be
// parsed. The word is "" if the command names no program.
//
// The answer only distinguishes a check that failed from one that cannot run, after the shell has
// already exited with 126 or 127.
func firstWord(command string, variable func(string) (string, bool)) (word string, certain bool) {
	list, err := shell.Parse(command)
	if err != nil {
		return "", false
	}
	word, certain, _ = firstWordIn(list, variable)
	return word, certain
}

// firstWordIn is firstWord for parsed commands; found is false if none of them names a program.
func firstWordIn(list shell.List, variable func(string) (string, bool)) (word string, certain, found bool) {
	for i, pipe := range list {
		if changesFolder(list[i:]) { // cd itself never exits with 126 or 127
			word, certain, found = firstWordIn(list[i+1:], variable)
			return word, certain && !strings.ContainsRune(word, '/'), found // a path starts in that folder
		}
		for _, c := range pipe {
			switch c.Keyword {
			case "(", "{":
				word, certain, found = firstWordIn(c.Body, variable)
			case "function":
				return c.Operands[0].Text, false, true
			case "":
				word, certain, found = firstNonEmpty(c.Words, variable)
			default:
				return c.Keyword, true, true
			}
			if found {
				return word, certain, true
			}
		}
	}
	return "", true, false
}

// changesFolder reports whether a list starts with `cd FOLDER &&`.
func changesFolder(list shell.List) bool {
	return len(list) > 1 && len(list[0]) == 1 && len(list[0][0].Words) == 2 && list[0][0].Words[0].Text == "cd" &&
		list[1][0].Before == "&&"
}

// firstNonEmpty returns the first word that is not empty after expansion.
func firstNonEmpty(words []shell.Word, variable func(string) (string, bool)) (word string, certain, found bool) {
	for _, w := range words {
		text, certain := expand(w, variable)
		if !certain {
			return "", false, true
		}
		if text != "" || w.Quoted {
			return text, true, true
		}
	}
	return "", true, false
}

// expand expands a word as the shell would. If the shell would split the result, expand returns its
// first field.
func expand(w shell.Word, variable func(string) (string, bool)) (text string, certain bool) {
	var b strings.Builder
	for i, p := range w.Parts {
		switch {
		case p.Kind == shell.Parameter && p.Quoted:
			value, _ := variable(p.Text)
			b.WriteString(value)
		case p.Kind == shell.Parameter:
			value, _ := variable(p.Text)
			fields := strings.Fields(value)
			if len(fields) > 1 || len(fields) == 1 && value != fields[0] {
				return b.String() + fields[0], true // the rest is an argument
			}
			b.WriteString(strings.TrimSpace(value))
		case p.Kind != shell.Literal || !p.Quoted && strings.ContainsAny(p.Text, "*?"):
			return "", false
		case !p.Quoted && strings.HasSuffix(p.Text, "$") && i+1 < len(w.Parts):
			return "", false // $'…' and $"…" differ between shells
		case i == 0 && w.Home:
			if p.Text != "~" && !strings.HasPrefix(p.Text, "~/") {
				return "", false
			}
			home, known := variable("HOME")
			if !known {
				return "", false
			}
			b.WriteString(home + p.Text[1:])
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String(), true
}

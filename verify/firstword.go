package verify

import (
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// firstWord finds the word of a shell command that names what is run: the first one
// behind assignments, redirections, opening brackets and `!`. Plain variables and `~/`
// are filled in from the environment. certain is false if only the shell could tell,
// or if the command cannot be parsed. The word is "" if nothing is named at all.
//
// Its answer only tells a check that failed from one that cannot run, after the shell
// has already said 126 or 127.
func firstWord(command string, variable func(string) (string, bool)) (word string, certain bool) {
	list, err := shell.Parse(command)
	if err != nil {
		return "", false
	}
	word, certain, _ = firstOf(list, variable)
	return word, certain
}

// firstOf is firstWord of commands; found is false if none of them names anything.
func firstOf(list shell.List, variable func(string) (string, bool)) (word string, certain, found bool) {
	for _, pipe := range list {
		for _, c := range pipe {
			switch c.Keyword {
			case "(", "{":
				word, certain, found = firstOf(c.Body, variable)
			case "function":
				return c.Operands[0].Text, false, true
			case "":
				word, certain, found = firstNamed(c.Words, variable)
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

// firstNamed is the first word that is not empty after variables were filled in.
func firstNamed(words []shell.Word, variable func(string) (string, bool)) (word string, certain, found bool) {
	for _, w := range words {
		text, certain := value(w, variable)
		if !certain {
			return "", false, true
		}
		if text != "" || w.Quoted {
			return text, true, true
		}
	}
	return "", true, false
}

// value is a word as the shell would expand it, and the first word of that if it would split it.
func value(w shell.Word, variable func(string) (string, bool)) (text string, certain bool) {
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
				return b.String() + fields[0], true // what follows is an argument already
			}
			b.WriteString(strings.TrimSpace(value))
		case p.Kind != shell.Literal || !p.Quoted && strings.ContainsAny(p.Text, "*?"):
			return "", false
		case !p.Quoted && strings.HasSuffix(p.Text, "$") && i+1 < len(w.Parts):
			return "", false // $'…' and $"…" differ from one shell to the next
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

package deny

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// arguments are the arguments of a program, sorted.
type arguments struct {
	options  []string // one by one: -u and -f for -uf
	operands []shell.Word
	paths    []shell.Word // the operands after --
	divided  bool         // there is a --
	unclear  []shell.Word // what may be an option or not
}

// sortArguments sorts arguments. takes has the letters of options that are followed by a value, and
// long the long options.
func sortArguments(args []shell.Word, takes string, long ...string) (a arguments) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case a.divided:
			a.operands, a.paths = append(a.operands, w), append(a.paths, w)
		case w.Text == "--":
			a.divided = true
		case mayBeOption(w):
			a.unclear, a.operands = append(a.unclear, w), append(a.operands, w)
		case strings.HasPrefix(w.Text, "--"):
			a.options = append(a.options, w.Text)
			if slices.Contains(long, w.Text) {
				i++
			}
		case isOption(w.Text):
			letters, value, found := cutAfter(w.Text[1:], takes)
			for _, c := range letters {
				a.options = append(a.options, "-"+string(c))
			}
			if found && value == "" {
				i++
			}
		default:
			a.operands = append(a.operands, w)
		}
	}
	return a
}

// cutAfter cuts a cluster of options after the first letter that takes a value.
func cutAfter(cluster, takes string) (letters, value string, found bool) {
	if at := strings.IndexAny(cluster, takes); at >= 0 && takes != "" {
		return cluster[:at+1], cluster[at+1:], true
	}
	return cluster, "", false
}

// mayBeOption reports whether a word that is not known may be an option: or several words, one of
// which is.
func mayBeOption(w shell.Word) bool {
	name, _, _ := strings.Cut(w.Text, "=")
	return unknown(w.Text) && (w.Loose() || startsUnknown(w.Text) || w.Text[0] == '-' && unknown(name))
}

func startsUnknown(text string) bool { return strings.IndexAny(text, shell.Marks) == 0 }

// has reports whether there is an option. A long one may be abbreviated down to least, and have a
// value.
func (a arguments) has(option, least string) bool {
	return slices.ContainsFunc(a.options, func(given string) bool {
		name, _, _ := strings.Cut(given, "=")
		return strings.HasPrefix(name, least) && strings.HasPrefix(option, name)
	})
}

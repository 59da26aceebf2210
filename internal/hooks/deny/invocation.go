package deny

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// invocation is the program that a simple command finally starts.
type invocation struct {
	name    string // without its folder; "" if nothing is started
	program shell.Word
	args    []shell.Word
	assigns []shell.Word // variables that env sets for it
	unknown []shell.Word // words before it that only the shell knows
	wrapped bool         // another program starts it, so it is not a function
	found   []shell.Word // the arguments of find, if that lists its arguments
}

// wrapper is a program that starts the program named by its arguments.
type wrapper struct {
	takes    string // letters of options that are followed by a value
	operands int    // number of operands before the program
}

var wrappers = map[string]wrapper{
	"env": {takes: "uC"}, "nice": {takes: "n"}, "nohup": {}, "time": {takes: "fo"}, "exec": {takes: "a"}, "command": {},
	"builtin": {}, "setsid": {},
	"xargs": {takes: "IEnPLdsa"}, "timeout": {takes: "sk", operands: 1}, "stdbuf": {takes: "ioe"},
	"ionice": {takes: "cnpPu"}, "taskset": {operands: 1},
	"flock": {takes: "wE", operands: 1}, "busybox": {}, "unbuffer": {}, "caffeinate": {takes: "tw"},
	"strace": {takes: "oepsu"}, "chrt": {operands: 1}, "chronic": {}, "faketime": {takes: "f", operands: 1},
}

// longValues are long options of wrappers whose value is the next word.
var longValues = []string{
	"--signal", "--kill-after", "--max-args", "--max-procs", "--delimiter", "--arg-file", "--unset", "--chdir",
	"--adjustment", "--interval",
}

var assignment = text.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=`)

// unwrap skips assignments, wrappers and words that may be empty.
func (g *guard) unwrap(words []shell.Word, st *state) invocation {
	c := invocation{}
	for len(words) > 0 {
		first := words[0]
		literal := first.Constant()
		name := path.Base(literal)
		w, wraps := wrappers[name]
		switch {
		case c.wrapped && assignment().MatchString(first.Text):
			c.assigns = append(c.assigns, first)
			words = words[1:]
		case literal == "" && !unknown(first.Text): // an empty name
			return c
		case literal == "":
			c.unknown = append(c.unknown, first)
			g.unsure("the name of a command is only known when it runs: %s", show(first.Text))
			if !first.Loose() {
				return c
			}
			words = words[1:]
		case !wraps:
			c.name, c.program, c.args = name, first, words[1:]
			g.checkName(first)
			return c
		case name == "command" && len(words) > 1 && (words[1].Text == "-v" || words[1].Text == "-V"):
			return invocation{} // only looks up the name
		case name == "env" && splitString(words[1:]) != nil:
			c.wrapped = true
			words = splitString(words[1:])
		default:
			c.wrapped = true
			rest := w.skipOptions(words[1:])
			if name == "xargs" {
				rest = c.addInput(words[1:len(words)-len(rest)], rest, st.input)
			}
			words = rest
		}
	}
	return c
}

// checkName notes a name that is only partly known.
func (g *guard) checkName(w shell.Word) {
	last := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
	if unknown(last) || w.Pattern() && w.Text != "[" {
		g.unsure("the name of a command is only known when it runs: %s", show(w.Text))
	}
}

// addInput adds what xargs reads to the words of the command that it starts.
func (c *invocation) addInput(options, words []shell.Word, in input) []shell.Word {
	replace := ""
	for i, w := range options {
		switch text := w.Text; {
		case text == "-I" && i+1 < len(options):
			replace = options[i+1].Text
		case text == "-i" || text == "--replace":
			replace = "{}"
		case strings.HasPrefix(text, "-I") || strings.HasPrefix(text, "-i"):
			replace = text[2:]
		case strings.HasPrefix(text, "--replace="):
			replace = text[len("--replace="):]
		}
	}
	added := []shell.Word{plainWord(string(shell.OutputMark))}
	switch in.kind {
	case known:
		if len(in.texts) == 1 {
			added = wordsOf(in.texts[0])
		}
	case fetched:
		added = []shell.Word{plainWord(downloaded)}
	case found:
		c.found = in.find
	case nothing:
		added = nil
	}
	if replace == "" {
		return slices.Concat(words, added)
	}
	one := strings.Join(wordTexts(added), " ")
	return text.Mapped(words, func(w shell.Word) shell.Word {
		if !strings.Contains(w.Text, replace) {
			return w
		}
		return plainWord(strings.ReplaceAll(w.Text, replace, one))
	})
}

// splitString returns the words that env runs if one of its options has them in one text.
func splitString(words []shell.Word) []shell.Word {
	for i, w := range words {
		value, ok := strings.CutPrefix(w.Text, "--split-string=")
		if !ok {
			value, ok = strings.CutPrefix(w.Text, "-S")
		}
		switch {
		case (w.Text == "-S" || w.Text == "--split-string") && i+1 < len(words):
			return slices.Concat(wordsOf(words[i+1].Text), words[i+2:])
		case ok:
			return slices.Concat(wordsOf(value), words[i+1:])
		case !isOption(w.Text):
			return nil
		}
	}
	return nil
}

// plainWord returns a word without quotes.
func plainWord(text string) shell.Word {
	return shell.Word{Text: text, Parts: []shell.Part{{Text: text}}}
}

// wordsOf splits a text into words. Quotes keep words together, and nothing is expanded.
func wordsOf(s string) []shell.Word {
	if list, err := shell.ParseBash(s); err == nil && len(list) == 1 && len(list[0]) == 1 && list[0][0].Keyword == "" &&
		len(list[0][0].Redirects) == 0 && !strings.ContainsAny(s, "$`{") {
		return slices.Concat(list[0][0].Assigns, list[0][0].Words)
	}
	return text.Mapped(strings.Fields(s), plainWord)
}

// skipOptions skips a wrapper's own options and operands.
func (w wrapper) skipOptions(words []shell.Word) []shell.Word {
	for len(words) > 0 {
		text := words[0].Text
		switch {
		case text == "--":
			return words[min(1+w.operands, len(words)):]
		case len(text) < 2 || text[0] != '-':
			return words[min(w.operands, len(words)):]
		case slices.Contains(longValues, text), !strings.HasPrefix(text, "--") && takesNext(text, w.takes):
			words = words[min(2, len(words)):]
		default:
			words = words[1:]
		}
	}
	return nil
}

// takesNext reports whether the value of a cluster of short options is the next word.
func takesNext(cluster, takes string) bool {
	i := strings.IndexAny(cluster[1:], takes)
	return takes != "" && i >= 0 && i == len(cluster)-2
}

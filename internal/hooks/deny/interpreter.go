package deny

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// interpreted is the program that an interpreter runs.
type interpreted struct {
	shell bool
	code  *shell.Word // on the command line
	file  *shell.Word
	args  []shell.Word // what follows the code or the file
	stdin bool         // neither: it reads its program
}

var (
	shells       = []string{"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash"}
	interpreters = []string{"perl", "ruby", "node", "nodejs", "php", "lua", "pwsh", "deno", "bun"}
	pythons      = text.LazyRegexp(`^(?:python|pypy)[0-9.]*$`)
)

// interpretation reads the arguments of an interpreter.
func interpretation(c invocation) (interpreted, bool) {
	run := interpreted{shell: slices.Contains(shells, c.name)}
	// What follows the options in codes is the program or its name; what follows the options in takes
	// is a value.
	codes, takes := "c", "oO"
	switch {
	case run.shell:
	case pythons().MatchString(c.name):
		codes, takes = "cm", "WX"
	case slices.Contains(interpreters, c.name):
		codes, takes = "eEpr", "I"
	default:
		return run, false
	}
	for i := 0; i < len(c.args); i++ {
		text := c.args[i].Text
		switch {
		case text == "-" || text == "/dev/stdin" || text == "/dev/fd/0":
			run.stdin, run.args = true, c.args[i+1:]
		case text == "--eval" || text == "--print" || text == "--command" ||
			run.isCluster(text) && strings.ContainsAny(text[1:], codes):
			run.code, run.args = firstOperand(c.args[i+1:])
		case run.shell && run.isCluster(text) && strings.ContainsRune(text, 's'):
			run.stdin, run.args = true, c.args[i+1:]
		case run.isCluster(text) && takesNext(text, takes):
			i++
			continue
		case run.isCluster(text) || strings.HasPrefix(text, "--"):
			continue
		default:
			run.file, run.args = &c.args[i], c.args[i+1:]
		}
		return run, true
	}
	run.stdin = true
	return run, true
}

// isCluster reports whether an argument is one or more short options.
func (r interpreted) isCluster(text string) bool {
	return len(text) > 1 && text[1] != '-' && (text[0] == '-' || r.shell && text[0] == '+')
}

// firstOperand returns the first word that is not an option, or an empty word, and what follows it.
func firstOperand(args []shell.Word) (*shell.Word, []shell.Word) {
	for i := range args {
		if !strings.HasPrefix(args[i].Text, "-") {
			return &args[i], args[i+1:]
		}
	}
	return &shell.Word{}, nil
}

// interpret checks what a shell or another interpreter is given to run.
func (g *guard) interpret(c invocation, st *state) string {
	run, ok := interpretation(c)
	if !ok {
		return ""
	}
	if run.code != nil && isFetched(run.code.Text) || run.file != nil && isFetched(run.file.Text) ||
		run.stdin && st.input.kind == fetched {
		return whyFetch
	}
	if run.shell && slices.Contains(wordTexts(c.args), "dotglob") { // an argument of -O
		st = st.clone()
		st.set(dotglob, scalar("on"))
	}
	if run.code != nil && run.shell {
		args := run.args[min(1, len(run.args)):] // the first one is the name of the script
		return g.shell(run.code.Text, args, st)
	}
	if !run.stdin {
		return ""
	}
	switch st.input.kind {
	case known:
		for _, program := range st.input.texts {
			if why := g.read(program, run, st); why != "" {
				return why
			}
		}
	case obscure, found:
		if run.shell {
			g.unsure("a shell runs the output of another command")
		}
	}
	return ""
}

// read checks a program that an interpreter reads.
func (g *guard) read(program string, run interpreted, st *state) string {
	if isFetched(program) || run.shell && strings.Contains(program, downloaded) {
		return whyFetch
	}
	if !run.shell {
		return ""
	}
	at := st.clone()
	at.input = input{}
	return g.shell(program, run.args, at)
}

// shell checks a text that a shell of its own runs, with parameters.
func (g *guard) shell(text string, args []shell.Word, st *state) string {
	at := st.clone()
	at.exits = nil
	at.set("@", parameters(args))
	why := g.code(text, at)
	if why == "" {
		why = g.traps(at)
	}
	return why
}

// parameters returns positional parameters.
func parameters(args []shell.Word) shell.Value {
	if slices.ContainsFunc(args, shell.Word.Loose) {
		return open("@")
	}
	return shell.Value{Set: true, Array: true, Items: wordTexts(args)}
}

// code checks a text that a shell runs as a command.
func (g *guard) code(text string, st *state) string {
	if isFetched(text) {
		return whyFetch
	}
	if !unknown(text) {
		return g.script(text, st)
	}
	g.unsure("a shell runs a text that is only known then: %s", show(excerpt(text)))
	if why := g.script(text, st); why != whyUnread { // it may well parse when it is known
		return why
	}
	return ""
}

// excerpt returns the part of a text that is not known, with a little of what is before it.
func excerpt(text string) string {
	const before, most = 20, 80
	runes := []rune(text)
	at := slices.IndexFunc(runes, func(r rune) bool { return strings.ContainsRune(shell.Marks, r) })
	from := max(at-before, 0)
	return strings.Join(strings.Fields(string(runes[from:min(from+most, len(runes))])), " ")
}

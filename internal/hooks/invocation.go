package hooks

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
	unknown []shell.Word // words before it that only the shell knows
	byXargs bool         // its last arguments come from its input
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
	"flock": {takes: "wE", operands: 1}, "watch": {takes: "n"}, "busybox": {}, "unbuffer": {}, "caffeinate": {takes: "tw"},
	"strace": {takes: "oepsu"},
}

// longValues are long options of wrappers whose value is the next word.
var longValues = []string{
	"--signal", "--kill-after", "--max-args", "--max-procs", "--delimiter", "--arg-file", "--unset", "--chdir",
	"--adjustment", "--interval",
}

var assignment = text.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=`)

// unwrap skips assignments, wrappers and words that may be empty.
func unwrap(words []shell.Word) invocation {
	c := invocation{}
	for len(words) > 0 {
		first := words[0]
		literal := first.Constant()
		name := path.Base(literal)
		w, wraps := wrappers[name]
		switch {
		case assignment().MatchString(first.Text):
			words = words[1:]
		case literal == "" && first.Quoted && first.Default() == "":
			return c // an empty name, or one that only the shell knows
		case literal == "":
			c.unknown = append(c.unknown, first)
			words = append(wordsOf(first.Default()), words[1:]...)
		case !wraps:
			c.name, c.program, c.args = name, first, words[1:]
			return c
		case name == "command" && len(words) > 1 && (words[1].Text == "-v" || words[1].Text == "-V"):
			return invocation{} // only looks up the name
		default:
			c.byXargs = c.byXargs || name == "xargs"
			words = w.skipOptions(words[1:])
		}
	}
	return c
}

// wordsOf splits a text at white space.
func wordsOf(s string) []shell.Word {
	return text.Mapped(strings.Fields(s), func(field string) shell.Word { return shell.Word{Text: field} })
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

// interpreted is the program that an interpreter runs.
type interpreted struct {
	shell bool
	code  *shell.Word // on the command line
	file  *shell.Word
	stdin bool // neither: it reads its program
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
			run.stdin = true
		case text == "--eval" || text == "--print" || text == "--command" ||
			run.isCluster(text) && strings.ContainsAny(text[1:], codes):
			run.code = firstOperand(c.args[i+1:])
		case run.shell && run.isCluster(text) && strings.ContainsRune(text, 's'):
			run.stdin = true
		case run.isCluster(text) && takesNext(text, takes):
			i++
			continue
		case run.isCluster(text) || strings.HasPrefix(text, "--"):
			continue
		default:
			run.file = &c.args[i]
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

// firstOperand returns the first word that is not an option, or an empty word.
func firstOperand(args []shell.Word) *shell.Word {
	for i := range args {
		if !strings.HasPrefix(args[i].Text, "-") {
			return &args[i]
		}
	}
	return &shell.Word{}
}

// isFetched reports whether a word begins with fetched content.
func isFetched(w shell.Word) bool {
	return strings.HasPrefix(strings.TrimSpace(w.Text), string(shell.OutputMark)) && len(w.Outputs) > 0 &&
		fetches(w.Outputs[0])
}

// fetches reports whether a command fetches something.
func fetches(l shell.List) bool {
	return slices.ContainsFunc(l, func(pipe shell.Pipeline) bool { return slices.ContainsFunc(pipe, stageFetches) })
}

func stageFetches(s shell.Command) bool {
	c := unwrap(s.Words)
	return c.name == "curl" || c.name == "wget" || fetches(s.Body)
}

// runsFetched reports whether a command in a pipeline runs what an earlier one fetches.
func runsFetched(pipe shell.Pipeline) bool {
	i := slices.IndexFunc(pipe, stageFetches)
	return i >= 0 && slices.ContainsFunc(pipe[i+1:], runsInput)
}

// runsInput reports whether a command runs what it reads.
func runsInput(s shell.Command) bool {
	inner := append(s.Outputs(), s.Body)
	if slices.ContainsFunc(inner, func(l shell.List) bool {
		return slices.ContainsFunc(l, func(pipe shell.Pipeline) bool { return slices.ContainsFunc(pipe, runsInput) })
	}) {
		return true
	}
	c := unwrap(s.Words)
	run, ok := interpretation(c)
	if !ok {
		return false
	}
	if c.byXargs && run.shell {
		return run.file == nil && (run.code == nil || run.code.Text == "" || strings.Contains(run.code.Text, "{}"))
	}
	return run.stdin
}

package protect

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// simpleCommands lists the commands of a shell command, including nested ones, each as its words
// without quotes. A file that one reads follows "<", and a compound command is its keyword. Words
// that only a shell could know match nothing. If the command cannot be parsed, every word counts as
// the start of a command.
func simpleCommands(command string) [][]string {
	list, err := shell.Parse(command)
	commands := listCommands(list)
	if err != nil {
		for _, words := range shell.Loose(command) {
			for i := range words {
				commands = append(commands, words[i:])
			}
		}
	}
	return commands
}

func listCommands(list shell.List) (commands [][]string) {
	for _, pipe := range list {
		for _, c := range pipe {
			for _, inner := range c.Outputs() {
				commands = append(commands, listCommands(inner)...)
			}
			var words []string
			if c.Keyword != "" && c.Keyword != "(" {
				words = append(words, c.Keyword)
			}
			for _, w := range slices.Concat(c.Assigns, c.Words, c.Operands) {
				words = append(words, w.Text)
			}
			for _, r := range c.Redirects {
				switch r.Operator {
				case "<":
					words = append(words, r.Operator, r.Target.Text)
				case "<<", "<<<":
					commands = append(commands, simpleCommands(r.Body.Filled())...)
				}
			}
			if len(words) > 0 {
				commands = append(commands, words)
			}
			commands = append(commands, listCommands(c.Body)...)
		}
	}
	return commands
}

// wrappers start the program that their arguments name.
var wrappers = []string{
	"env", "time", "timeout", "nice", "nohup", "exec", "command", "sudo", "xvfb-run", "stdbuf", "ionice", "setsid",
}

var (
	assignment = text.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)
	duration   = text.LazyRegexp(`^[0-9.]+[smhd]?$`)
)

// program returns what a simple command runs, with its arguments: the part after assignments and
// wrappers.
func program(words []string) []string {
	wrapped := false
	for len(words) > 0 {
		word := words[0]
		switch {
		case assignment().MatchString(word):
		case slices.Contains(wrappers, word):
			wrapped = true
		case wrapped && (strings.HasPrefix(word, "-") || duration().MatchString(word)):
		default:
			return words
		}
		words = words[1:]
	}
	return nil
}

var (
	shells       = []string{"sh", "bash", "dash", "zsh", "ksh", ".", "source"}
	interpreters = text.LazyRegexp(
		`^(?:.*/)?(?:python|pypy|node|nodejs|deno|bun|ruby|perl|php|lua|tsx|ts-node|Rscript)[0-9.]*$`,
	)
	// checksByName matches names of files that check something and are not tests.
	checksByName = text.LazyRegexp(`(?i)(?:^|[._-])(?:checks?|verify|verification|acceptance|smoke)(?:[._-]|$)`)
)

// scriptNames lists the workspace files that checks start: first words with a slash, the file given
// to a shell, and the file given to an interpreter if its name says that it checks something;
// otherwise it may be the product. It follows a preceding `cd`, `sh -c` and `$()`.
func scriptNames(checks []string) []string {
	var names []string
	for _, check := range checks {
		names = append(names, startedScripts(check, "")...)
	}
	return cleanNames(names)
}

func startedScripts(command, dir string) (names []string) {
	for _, words := range simpleCommands(command) {
		words = program(words)
		if len(words) == 0 {
			continue
		}
		file, isCommand := operand(words[1:])
		switch {
		case words[0] == "cd" && len(words) > 1:
			dir = path.Join(dir, words[1])
		case slices.Contains(shells, words[0]) && isCommand:
			names = append(names, startedScripts(file, dir)...)
		case slices.Contains(shells, words[0]) && file != "":
			names = append(names, path.Join(dir, file))
		case !isCommand && interpreters().MatchString(words[0]) && checksByName().MatchString(path.Base(file)) &&
			!testName(file):
			names = append(names, path.Join(dir, file))
		case strings.Contains(words[0], "/"):
			names = append(names, path.Join(dir, words[0]))
		}
	}
	return names
}

// operand returns the file given to a program, as its first argument that is not an option or as
// its input, or the command after -c.
func operand(words []string) (text string, isCommand bool) {
	for i, word := range words {
		switch {
		case word == "-c" && i+1 < len(words):
			return words[i+1], true
		case word == "<" && i+1 < len(words):
			return words[i+1], false
		case strings.HasPrefix(word, "<") && !strings.HasPrefix(word, "<<"):
			return word[1:], false
		case strings.HasPrefix(word, "-") || word == "run": // bun run, deno run
		default:
			return word, false
		}
	}
	return "", false
}

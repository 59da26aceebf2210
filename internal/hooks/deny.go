package hooks

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

const (
	// scriptLimit limits how deeply commands that are text in other commands are checked.
	scriptLimit = 8
	// commandLimit limits how many bytes of a command are checked; no system accepts more as one
	// argument.
	commandLimit = 128 << 10
)

// Deny returns why a shell command is refused, as a sentence for the model; "" allows it. dir is
// the workspace, in which the command would start, and home the user's home folder; both may be "".
func Deny(command, dir, home string) string {
	g := guard{dir: "/\ue000workspace", home: "/\ue000home"}
	if path.IsAbs(dir) {
		g.dir = path.Clean(dir)
	}
	if path.IsAbs(home) && path.Clean(home) != "/" {
		g.home = path.Clean(home)
	}
	if len(command) > commandLimit {
		return whyLong
	}
	return g.text(command, g.dir)
}

// Reasons to refuse a command.
const (
	whySudo  = "refused: sudo is not allowed; work with the permissions that you have, or report what is missing"
	whyFetch = "refused: do not run downloaded code directly; save it to a file and read it first"
	whyBomb  = "refused: this is a fork bomb"
	whyDisk  = "refused: this overwrites a disk"
	whyRoot  = "refused: this would delete the root, the home folder or the workspace with its git history; delete " +
		"something more specific"
	whyUnread = "refused: the command does not parse as bash; fix its quotes and brackets, or write it more simply"
	whyLong   = "refused: the command is too long; write it to a file and run that"
	whyPush   = "refused: a forced push overwrites other people's work; push without force"
	whyUnpush = "refused: this push deletes branches or tags that others have; leave it to a person"
	whyReset  = "refused: git reset --hard throws work away; use git restore or git stash for single files"
	whyClean  = "refused: git clean -f deletes files for good; delete what you made by its name"
)

// guard checks commands.
type guard struct {
	dir, home string
	scripts   int
}

// list checks commands one after the other. cwd is their start folder, "" if unknown; after is the
// folder at their end.
func (g guard) list(l shell.List, cwd string) (why, after string) {
	for _, pipe := range l {
		for _, s := range pipe {
			if why, after = g.stage(s, cwd); why != "" {
				return why, cwd
			}
			if len(pipe) == 1 {
				cwd = after // in a longer pipeline each command has its own shell
			}
		}
		if runsFetched(pipe) {
			return whyFetch, cwd
		}
	}
	return "", cwd
}

// stage checks one command or a group of commands.
func (g guard) stage(s shell.Command, cwd string) (why, after string) {
	for _, l := range s.Outputs() {
		if why, _ := g.list(l, cwd); why != "" {
			return why, cwd
		}
	}
	if isBomb(s) {
		return whyBomb, cwd
	}
	for _, r := range s.Redirects {
		if strings.ContainsRune(r.Operator, '>') && isDisk(r.Target.Text) {
			return whyDisk, cwd
		}
	}
	why, after = g.list(s.Body, cwd)
	if s.Keyword == "(" {
		after = cwd
	}
	if why == "" {
		why, after = g.command(s, after)
	}
	return why, after
}

// command checks a simple command.
func (g guard) command(s shell.Command, cwd string) (why, after string) {
	c := unwrap(s.Words)
	if isFetched(c.program) || slices.ContainsFunc(c.unknown, isFetched) {
		return whyFetch, cwd
	}
	switch c.name {
	case "sudo", "doas":
		return whySudo, cwd
	case "git":
		return gitRule(c.args), cwd
	case "rm":
		return g.removal(c.args, cwd), cwd
	case "cd", "pushd":
		return "", g.cdTarget(c.args, cwd)
	case "find":
		return g.found(c.args, cwd), cwd
	case "eval", "trap", ".", "source":
		return g.evaluated(c, cwd), cwd
	}
	if writesDisk(c) {
		return whyDisk, cwd
	}
	return g.interpreted(c, s, cwd), cwd
}

// text checks a command that was not parsed yet. A shell runs what precedes a syntax error, so that
// part is checked first.
func (g guard) text(text, cwd string) string {
	list, err := shell.ParseBash(text)
	why, _ := g.list(list, cwd)
	if why == "" && err != nil {
		return whyUnread
	}
	return why
}

// script checks words that a shell will run as one text: as they are, and with the defaults of
// their variables.
func (g guard) script(cwd string, words ...shell.Word) string {
	if g.scripts++; g.scripts > scriptLimit {
		return whyUnread
	}
	var plain, filled []string
	for _, w := range words {
		plain, filled = append(plain, w.Text), append(filled, w.Filled())
	}
	if why := g.text(strings.Join(plain, " "), cwd); why != "" || slices.Equal(plain, filled) {
		return why
	}
	return g.text(strings.Join(filled, " "), cwd)
}

// evaluated checks shell commands that run text, or a file that may not be a regular file.
func (g guard) evaluated(c invocation, cwd string) string {
	if len(c.args) == 0 {
		return ""
	}
	if isFetched(c.args[0]) {
		return whyFetch
	}
	switch c.name {
	case "eval":
		return g.script(cwd, c.args...)
	case "trap":
		return g.script(cwd, c.args[0])
	}
	return ""
}

// interpreted checks what a shell or another interpreter is given to run.
func (g guard) interpreted(c invocation, s shell.Command, cwd string) string {
	run, ok := interpretation(c)
	if !ok {
		return ""
	}
	if run.code != nil && isFetched(*run.code) || run.file != nil && isFetched(*run.file) {
		return whyFetch
	}
	if run.code != nil && run.shell {
		return g.script(cwd, *run.code)
	}
	if !run.stdin {
		return ""
	}
	for _, r := range s.Redirects {
		switch {
		case (r.Operator == "<" || r.Operator == "<<<") && isFetched(r.Target):
			return whyFetch
		case run.shell && slices.ContainsFunc(r.Body.Outputs, fetches): // part of the program, wherever it is
			return whyFetch
		case run.shell && (r.Operator == "<<" || r.Operator == "<<<"):
			return g.script(cwd, r.Body)
		}
	}
	return ""
}

// found checks the commands that find runs.
func (g guard) found(args []shell.Word, cwd string) string {
	for i, w := range args {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.Text) {
			continue
		}
		rest := args[i+1:]
		if end := slices.IndexFunc(rest, func(w shell.Word) bool { return w.Text == ";" || w.Text == "+" }); end >= 0 {
			rest = rest[:end]
		}
		if why, _ := g.command(shell.Command{Words: rest}, cwd); why != "" {
			return why
		}
	}
	return ""
}

// isBomb reports whether a function starts itself twice or in the background.
func isBomb(s shell.Command) bool {
	c := unwrap(s.Words)
	return c.name != "" && s.Background && slices.Contains(s.Functions, c.program.Text)
}

// disks matches devices that hold file systems or memory.
var disks = text.LazyRegexp(
	`^/dev/(?:(?:sd|hd|vd|xvd)[a-z]|(?:nvme|mmcblk|disk|rdisk|loop|md|sr|dm-)[0-9]|mapper/|k?mem$)`,
)

func isDisk(name string) bool { return disks().MatchString(path.Clean(name)) }

// harmless lists devices that dd may write to.
var harmless = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/stdout", "/dev/stderr", "/dev/tty"}

// writesDisk reports whether a program writes to a disk that it is given.
func writesDisk(c invocation) bool {
	switch {
	case c.name == "mkfs" || strings.HasPrefix(c.name, "mkfs."):
		return true
	case c.name == "dd":
		return slices.ContainsFunc(c.args, func(w shell.Word) bool {
			name, ok := strings.CutPrefix(w.Text, "of=")
			name = path.Clean(name)
			return ok && strings.HasPrefix(name, "/dev/") && !slices.Contains(harmless, name) &&
				!strings.HasPrefix(name, "/dev/fd/") && !strings.HasPrefix(name, "/dev/shm/")
		})
	case slices.Contains([]string{"tee", "cp", "shred", "wipefs"}, c.name):
		return slices.ContainsFunc(c.args, func(w shell.Word) bool { return isDisk(w.Text) })
	}
	return false
}

package deny

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// declarations are commands of the shell whose words are assignments.
var declarations = []string{"export", "declare", "typeset", "local", "readonly", "nameref"}

// simple checks a simple command.
func (g *guard) simple(s shell.Command, st *state) (why string, ended bool) {
	g.steps++
	if len(s.Words) > 0 && slices.Contains(declarations, s.Words[0].Text) {
		g.declare(s.Words[1:], st)
		return "", false
	}
	var lines [][]shell.Word
	if len(s.Words) > 0 {
		lines = g.lines(s.Words, st)
	}
	if len(lines) == 0 || len(lines) == 1 && len(lines[0]) == 0 {
		for _, w := range s.Assigns {
			g.assign(w, st)
		}
		return "", false
	}
	defer g.during(s.Assigns, st)()
	if len(lines) == 1 {
		return g.command(s, lines[0], st)
	}
	var after *state
	for _, line := range lines {
		at := st.clone()
		why, end := g.command(s, line, at)
		if why != "" {
			return why, false
		}
		ended = ended || end
		if after == nil {
			after = at
		} else {
			after.merge(at)
		}
	}
	*st = *after
	return "", ended
}

// during assigns variables for one command, and returns a function that restores them.
func (g *guard) during(assigns []shell.Word, st *state) func() {
	type was struct {
		values []shell.Value
		ok     bool
	}
	before := map[string]was{}
	for _, w := range assigns {
		name, _, _ := strings.Cut(w.Text, "=")
		name = strings.TrimSuffix(name, "+")
		values, ok := st.variables[name]
		if _, again := before[name]; !again {
			before[name] = was{values, ok}
		}
		g.assign(w, st)
	}
	return func() {
		for name, w := range before {
			if w.ok {
				st.variables[name] = w.values
			} else {
				delete(st.variables, name)
			}
		}
	}
}

// declare assigns the words of export and the like.
func (g *guard) declare(words []shell.Word, st *state) {
	refers := slices.ContainsFunc(words, func(w shell.Word) bool {
		return strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "niul")
	})
	for _, w := range words {
		g.assign(w, st)
		if name, _, ok := strings.Cut(w.Text, "="); ok && refers { // its value is not that text
			st.set(strings.TrimSuffix(name, "+"), open(name))
		}
	}
}

// command checks one reading of a simple command.
func (g *guard) command(s shell.Command, words []shell.Word, st *state) (why string, ended bool) {
	c := g.unwrap(words, st)
	if isFetched(c.program.Text) || slices.ContainsFunc(c.unknown, func(w shell.Word) bool { return isFetched(w.Text) }) {
		return whyFetch, false
	}
	if c.name != "" && s.Background && slices.Contains(s.Functions, c.program.Text) {
		return whyBomb, false
	}
	if len(c.assigns) > 0 {
		st = st.clone()
		for _, w := range c.assigns {
			g.assign(w, st)
		}
	}
	if f, ok := st.functions[c.program.Text]; ok && !c.wrapped {
		if why := g.call(f, c.args, st); why != "" || !f.maybe {
			return why, false
		}
	}
	if why, ok := g.builtin(c, st); ok {
		return why, slices.Contains([]string{"exit", "return"}, c.name)
	}
	return g.program(c, st), false
}

// builtin checks commands of the shell itself, and notes what they change. ok is false for all
// others.
func (g *guard) builtin(c invocation, st *state) (why string, ok bool) {
	switch c.name {
	case "exit", "return":
	case "cd", "pushd":
		st.cd(c.args)
	case "popd":
		st.set("PWD", open("PWD"))
	case "set":
		st.setParameters(c.args)
	case "shopt":
		st.shopt(c.args)
	case "shift":
		st.shift(c.args)
	case "read", "mapfile", "readarray", "getopts", "unset":
		for _, w := range c.args {
			value := open(w.Text)
			if c.name == "unset" {
				value = unset
			}
			st.set(w.Text, value)
		}
	case "export":
		g.declare(c.args, st)
	case "alias":
		st.alias(c.args)
	case "eval":
		return g.code(strings.Join(wordTexts(c.args), " "), st), true
	case "trap":
		if len(c.args) > 0 && !strings.HasPrefix(c.args[0].Text, "-") {
			st.exits = append(slices.Clip(st.exits), c.args[0].Text)
		}
	case ".", "source":
		return g.source(c, st), true
	default:
		return "", false
	}
	return "", true
}

// setParameters notes the positional parameters that set gives.
func (st *state) setParameters(args []shell.Word) {
	for len(args) > 0 && len(args[0].Text) > 1 && strings.ContainsRune("-+", rune(args[0].Text[0])) {
		option := args[0].Text
		args = args[1:]
		if option == "--" {
			st.set("@", parameters(args))
			return
		}
		if strings.HasSuffix(option, "o") && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) > 0 {
		st.set("@", parameters(args))
	}
}

// shopt notes whether patterns match hidden names.
func (st *state) shopt(args []shell.Word) {
	given := wordTexts(args)
	switch {
	case !slices.Contains(given, "dotglob"):
	case slices.Contains(given, "-s"):
		st.set(dotglob, scalar("on"))
	case slices.Contains(given, "-u"):
		st.set(dotglob, unset)
	}
}

func (st *state) shift(args []shell.Word) {
	n := 1
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0].Text); err != nil || n < 0 {
			st.set("@", open("@"))
			return
		}
	}
	st.set("@", text.Mapped(st.get("@"), func(v shell.Value) shell.Value {
		v.Items = v.Items[min(n, len(v.Items)):]
		if !v.Array {
			return open("@")
		}
		return v
	})...)
}

// alias notes an alias as a function. A shell that reads a script does not expand it, unless it is
// told to.
func (st *state) alias(args []shell.Word) {
	for _, w := range args {
		name, command, ok := strings.Cut(w.Text, "=")
		if !ok {
			continue
		}
		if list, err := shell.ParseBash(command + ` "$@"`); err == nil {
			st.functions[name] = function{bodies: []shell.List{list}, maybe: true}
		}
	}
}

// source checks a command that runs a file in the current shell. The file may not be a regular one,
// and may set anything.
func (g *guard) source(c invocation, st *state) string {
	if len(c.args) == 0 {
		return ""
	}
	if isFetched(c.args[0].Text) {
		return whyFetch
	}
	if c.args[0].Text == string(shell.OutputMark) {
		g.unsure("a shell runs the output of another command")
	}
	st.forget()
	return ""
}

// cd notes the folder that cd changes to.
func (st *state) cd(args []shell.Word) {
	for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		args = args[1:]
	}
	from := st.get("PWD")
	switch {
	case len(args) == 0:
		st.set("PWD", st.get("HOME")...)
	case args[0].Text == "": // which changes nothing
	case args[0].Text == "-":
		st.set("PWD", st.get("OLDPWD")...)
	default:
		st.set("PWD", text.Mapped(st.paths(args[0]), func(name string) shell.Value { return scalar(name) })...)
	}
	st.set("OLDPWD", from...)
}

// program checks a program.
func (g *guard) program(c invocation, st *state) string {
	switch c.name {
	case "sudo", "doas":
		return whySudo
	case "curl", "wget":
		g.fetches++
	case "git":
		return g.git(c.args, st)
	case "rm":
		return g.removal(c, st)
	case "mv":
		return g.move(c.args, st)
	case "find":
		return g.find(c.args, st)
	case "watch":
		return g.shell(strings.Join(wordTexts(wrapper{takes: "nq"}.skipOptions(c.args)), " "), nil, st)
	case "tee":
		if slices.ContainsFunc(c.args, func(w shell.Word) bool { return st.isInside(w.Text) }) {
			return whyInside
		}
	}
	if writesDisk(c) {
		return whyDisk
	}
	return g.interpret(c, st)
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

package deny

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// removal checks the arguments of rm.
func (g *guard) removal(c invocation, st *state) string {
	if c.found != nil { // of a list that find makes
		return g.deletes(c.found, st)
	}
	a := sortArguments(c.args, "")
	if a.has("--no-preserve-root", "--no-p") {
		return whyRoot
	}
	recursive := a.has("--recursive", "--r") || a.has("-r", "-r") || a.has("-R", "-R")
	for _, w := range a.operands {
		precious, certain := st.isPrecious(w)
		switch {
		case precious && (recursive || st.isOwnGit(w)):
			return whyRoot
		case !certain && recursive:
			g.unsure("what rm -r deletes is only known when it runs: %s", show(w.Text))
		}
	}
	return ""
}

// isOwnGit reports whether a name is that of the workspace's .git, which may also be a file.
func (st *state) isOwnGit(w shell.Word) bool {
	return slices.Contains(st.paths(w), path.Join(st.place.Dir, ".git"))
}

// move checks the arguments of mv.
func (g *guard) move(args []shell.Word, st *state) string {
	a := sortArguments(args, "tS", "--target-directory", "--suffix")
	from := a.operands
	if len(from) > 0 && !a.has("--target-directory", "--t") && !a.has("-t", "-t") {
		from = from[:len(from)-1]
	}
	for _, w := range from {
		if precious, _ := st.isPrecious(w); precious {
			return whyMove
		}
	}
	return ""
}

// histories are the folders of .git that are as precious as the whole.
var histories = []string{"objects", "refs", "logs"}

// isPrecious reports whether deleting a name, or the pattern at its end, deletes something
// irreplaceable. certain is false if that is only known when the command runs.
func (st *state) isPrecious(w shell.Word) (precious, certain bool) {
	certain = true
	for _, name := range st.paths(w) {
		if !unknown(name) {
			precious = precious || st.place.isPrecious(name, st.matcher())
			continue
		}
		last := name[strings.LastIndexByte(name, '/')+1:]
		certain = certain && !unknown(last) && !strings.ContainsAny(last, "*?[") &&
			!slices.Contains([]string{"", ".", "..", ".git"}, last)
	}
	return precious, certain
}

// dotglob stands for the option of the shell with which patterns match hidden names, too. No variable
// has this name.
const dotglob = "shopt dotglob"

// matcher reports whether a pattern matches the name of a file.
type matcher func(pattern, name string) bool

// matcher returns how the shell matches patterns.
func (st *state) matcher() matcher {
	for _, name := range []string{dotglob, "GLOBIGNORE"} {
		if slices.ContainsFunc(st.variables[name], func(v shell.Value) bool { return v.Text() != "" }) {
			return shell.MatchesHidden
		}
	}
	return shell.Matches
}

// isPrecious reports whether a path, which may have patterns, stands for something irreplaceable, or
// for a folder above it.
func (p Place) isPrecious(name string, matches matcher) bool {
	git := path.Join(p.Dir, ".git")
	folder, last := path.Split(name)
	if path.Clean(folder) == p.Home && strings.Trim(last, "*?") == "" { // everything in it
		return true
	}
	return depth(name) <= depth(p.Home) && along(name, p.Home, matches) ||
		along(name, git, matches) && slices.ContainsFunc(histories, func(folder string) bool {
			return along(name, path.Join(git, folder), matches)
		})
}

// isHistory reports whether a path is where git keeps commits, or below it.
func (p Place) isHistory(name string) bool {
	return slices.ContainsFunc(histories, func(folder string) bool {
		return above(path.Join(p.Dir, ".git", folder), name)
	})
}

// along reports whether a path, which may have patterns, is the same as another one as far as both
// go.
func along(name, other string, matches matcher) bool {
	others := strings.Split(other, "/")
	for i, part := range strings.Split(strings.TrimSuffix(name, "/"), "/") {
		if i < len(others) && part != others[i] && !matches(part, others[i]) {
			return false
		}
	}
	return true
}

func depth(name string) int { return strings.Count(strings.TrimSuffix(name, "/"), "/") }

// above reports whether a folder is the other one or above it.
func above(folder, other string) bool {
	return folder == other || strings.HasPrefix(other, strings.TrimSuffix(folder, "/")+"/")
}

// writable are the files of .git that people edit by hand.
var writable = []string{"info/exclude", "info/attributes", "description"}

// isInside reports whether a name is that of a file in .git which only git should write.
func (st *state) isInside(name string) bool {
	git := path.Join(st.place.Dir, ".git")
	return slices.ContainsFunc(st.paths(plainWord(name)), func(name string) bool {
		return depth(name) >= depth(git) && along(name, git, shell.Matches) &&
			!slices.Contains(writable, strings.TrimPrefix(name, git+"/"))
	})
}

// paths returns the absolute paths that a word may stand for. They contain marks if that is only
// known when the command runs.
func (st *state) paths(w shell.Word) (names []string) {
	text := w.Text
	switch {
	case text == "":
		return nil
	case path.IsAbs(text):
		return []string{path.Clean(text)}
	case startsUnknown(text):
		return []string{text}
	}
	for _, v := range st.get("PWD") {
		names = append(names, path.Join(v.Text(), text))
	}
	return names
}

// find checks what find deletes and runs.
func (g *guard) find(args []shell.Word, st *state) string {
	deletes := slices.ContainsFunc(args, func(w shell.Word) bool { return w.Text == "-delete" })
	for i, w := range args {
		if !slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, w.Text) {
			continue
		}
		rest := args[i+1:]
		if end := slices.IndexFunc(rest, func(w shell.Word) bool { return w.Text == ";" || w.Text == "+" }); end >= 0 {
			rest = rest[:end]
		}
		rest = slices.Clone(rest)
		for i, w := range rest {
			if strings.Contains(w.Text, "{}") {
				name := strings.ReplaceAll(w.Text, "{}", string(shell.OutputMark))
				rest[i] = shell.Word{Text: name, Parts: []shell.Part{{Text: name, Quoted: true}}}
			}
		}
		at := st.clone()
		at.input = input{}
		if c := g.unwrap(rest, at); c.name == "rm" {
			deletes = true
			continue
		}
		if why, _ := g.command(shell.Command{Words: rest}, rest, at); why != "" {
			return why
		}
	}
	if deletes {
		return g.deletes(args, st)
	}
	return ""
}

// deletes checks the arguments of a find whose results are deleted. It may start above something
// precious if it looks for something particular.
func (g *guard) deletes(args []shell.Word, st *state) string {
	for len(args) > 0 && (slices.Contains([]string{"-H", "-L", "-P"}, args[0].Text) ||
		strings.HasPrefix(args[0].Text, "-O")) {
		args = args[1:]
	}
	from := args
	if at := slices.IndexFunc(args, func(w shell.Word) bool {
		return w.Text == "(" || w.Text == "!" || isOption(w.Text)
	}); at >= 0 {
		from, args = args[:at], args[at:]
	} else {
		args = nil
	}
	if len(from) == 0 {
		from = []shell.Word{plainWord(".")}
	}
	tests := searches(args)
	for _, w := range from {
		precious, certain := st.isPrecious(w)
		inGit := slices.ContainsFunc(st.paths(w), func(name string) bool {
			return name == path.Join(st.place.Dir, ".git") || st.place.isHistory(name)
		})
		switch {
		case inGit && !tests.locks, precious && (!tests.narrow || tests.git):
			return whyRoot
		case !certain && !tests.narrow:
			g.unsure("where find deletes files is only known when it runs: %s", show(w.Text))
		}
	}
	return ""
}

func isOption(text string) bool { return len(text) > 1 && text[0] == '-' }

// search is what a find looks for.
type search struct {
	narrow bool // something particular
	git    bool // .git
	locks  bool // only lock files
}

// particular are tests of find that few files pass.
var particular = strings.Fields("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname " +
	"-mtime -mmin -ctime -cmin -atime -amin -newer -newermt -size -user -group -perm -empty -links -inum -samefile")

// searches reads the tests of find in front of its last action.
func searches(args []shell.Word) (s search) {
	for i, w := range args {
		negated := i > 0 && (args[i-1].Text == "!" || args[i-1].Text == "-not")
		value := ""
		if i+1 < len(args) {
			value = args[i+1].Text
		}
		switch {
		case w.Text == "-o" || w.Text == "-or" || w.Text == ",":
			s = search{}
		case w.Text == "-prune":
			s.git = false
		case negated || !slices.Contains(particular, w.Text) || strings.Trim(value, "*/.") == "" && w.Text != "-empty":
		default:
			s.narrow = true
			s.locks = s.locks || strings.HasSuffix(w.Text, "name") && strings.HasSuffix(value, ".lock")
			s.git = s.git || path.Base(value) == ".git" || shell.MatchesHidden(path.Base(value), ".git")
		}
	}
	return s
}

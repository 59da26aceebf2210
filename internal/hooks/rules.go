package hooks

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// gitValues are options of git itself whose value is the next word.
var gitValues = []string{
	"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env", "--exec-path",
}

// gitRule checks the arguments of git.
func gitRule(args []shell.Word) string {
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		if slices.Contains(gitValues, args[0].Text) {
			args = args[min(2, len(args)):]
			continue
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	command := args[0].Text
	args = args[1:]
	switch {
	case command == "push":
		return pushRule(args)
	case command == "reset" && slices.ContainsFunc(args, func(w shell.Word) bool {
		return abbreviates(w.Text, "--hard", "--ha")
	}):
		return whyReset
	case command == "clean" && (hasFlag(args, 'f', "e") || slices.ContainsFunc(args, func(w shell.Word) bool {
		return abbreviates(w.Text, "--force", "--f")
	})):
		return whyClean
	}
	return ""
}

// pushValues are options of git push whose value is the next word.
var pushValues = []string{"-o", "--push-option", "--repo", "--receive-pack", "--exec"}

// pushRule checks the arguments of git push: it must neither overwrite nor delete anything.
func pushRule(args []shell.Word) string {
	forces, deletes := hasFlag(args, 'f', "o"), hasFlag(args, 'd', "o")
	for i, w := range args {
		if i > 0 && slices.Contains(pushValues, args[i-1].Text) {
			continue
		}
		text := w.Text
		forces = forces || abbreviates(text, "--mirror", "--m") || strings.HasPrefix(text, "+") ||
			strings.HasPrefix(text, "--force") && !strings.HasPrefix(text, "--force-i")
		// An empty left side of a colon deletes the right side; a colon alone means all branches that
		// exist on both sides.
		deletes = deletes || abbreviates(text, "--delete", "--de") || abbreviates(text, "--prune", "--pru") ||
			len(text) > 1 && text[0] == ':'
	}
	switch {
	case forces:
		return whyPush
	case deletes:
		return whyUnpush
	}
	return ""
}

// abbreviates reports whether an option is a long option or an unambiguous prefix of it.
func abbreviates(option, long, least string) bool {
	return strings.HasPrefix(option, least) && strings.HasPrefix(long, option)
}

// hasFlag reports whether a cluster of short options contains a letter. What follows a letter in
// takes is a value.
func hasFlag(args []shell.Word, letter rune, takes string) bool {
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		if text == "--" {
			return false
		}
		if len(text) < 2 || text[0] != '-' || text[1] == '-' {
			continue
		}
		for at, c := range text[1:] {
			if c == letter {
				return true
			}
			if strings.ContainsRune(takes, c) {
				if at == len(text)-2 {
					i++
				}
				break
			}
		}
	}
	return false
}

// removal checks the arguments of rm.
func (g guard) removal(args []shell.Word, cwd string) string {
	recursive := hasFlag(args, 'r', "") || hasFlag(args, 'R', "")
	options := true
	var targets []shell.Word
	for _, w := range args {
		switch {
		case options && w.Text == "--no-preserve-root":
			return whyRoot
		case options && w.Text == "--":
			options = false
		case options && abbreviates(w.Text, "--recursive", "--r"):
			recursive = true
		case options && strings.HasPrefix(w.Text, "-"):
		default:
			targets = append(targets, w)
		}
	}
	if recursive && slices.ContainsFunc(targets, func(w shell.Word) bool { return g.isPrecious(w, cwd) }) {
		return whyRoot
	}
	return ""
}

// isPrecious reports whether deleting a name, or the pattern at its end, deletes something
// irreplaceable.
func (g guard) isPrecious(w shell.Word, cwd string) bool {
	name, known := g.resolve(w, cwd)
	if !known {
		return false
	}
	git := path.Join(g.dir, ".git")
	folder, last := path.Split(name)
	folder = path.Clean(folder)
	if last == "*" {
		return folder == "/" || folder == git || folder == g.home ||
			folder != g.dir && (above(folder, g.dir) || above(folder, g.home))
	}
	if matched, err := path.Match(last, ".git"); err == nil && matched && strings.HasPrefix(last, ".") {
		name = path.Join(folder, ".git")
	}
	return name == git || above(name, g.dir) || above(name, g.home)
}

// above reports whether a folder is the other one or above it.
func above(folder, other string) bool {
	return folder == other || strings.HasPrefix(other, strings.TrimSuffix(folder, "/")+"/")
}

// resolve returns the absolute path of a word, if all its parts are known.
func (g guard) resolve(w shell.Word, cwd string) (string, bool) {
	text := w.Text
	if text == "" {
		return "", false
	}
	for variable, value := range map[string]string{"HOME": g.home, "PWD": cwd} {
		parameter := string(shell.ParameterMark) + variable + string(shell.ParameterEnd)
		if rest, ok := strings.CutPrefix(text, parameter); ok && value != "" {
			text = value + rest
			return path.Clean(text), !strings.ContainsAny(rest, shell.Marks)
		}
	}
	if w.Home && (text == "~" || strings.HasPrefix(text, "~/")) {
		return path.Clean(g.home + text[1:]), !strings.ContainsAny(text, shell.Marks)
	}
	if strings.ContainsAny(text, shell.Marks) {
		return "", false
	}
	if !path.IsAbs(text) {
		if cwd == "" {
			return "", false
		}
		text = path.Join(cwd, text)
	}
	return path.Clean(text), true
}

// cdTarget returns the folder that cd changes to.
func (g guard) cdTarget(args []shell.Word, cwd string) string {
	for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		args = args[1:]
	}
	if len(args) == 0 {
		return g.home
	}
	if args[0].Text == "-" {
		return ""
	}
	name, _ := g.resolve(args[0], cwd)
	return name
}

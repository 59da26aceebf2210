package deny

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// rule checks a command of git.
func (c *gitCall) rule() string {
	switch c.command {
	case "push", "send-pack":
		return c.push()
	case "config":
		c.configure()
	case "reset":
		a := c.sorted("U", "--pathspec-from-file")
		if a.has("--hard", "--ha") {
			return whyReset
		}
	case "clean":
		return c.clean()
	case "checkout", "switch", "restore":
		return c.discard()
	case "rm":
		return c.remove()
	case "stash":
		return c.stash()
	case "branch":
		a := c.sorted("ut", "--set-upstream-to", "--contains", "--sort", "--format", "--points-at")
		deletes, forces := a.has("-d", "-d") || a.has("--delete", "--d"), a.has("-f", "-f") || a.has("--force", "--forc")
		if a.has("-D", "-D") || deletes && forces {
			return whyBranch
		}
	default:
		return c.historyRule()
	}
	return ""
}

// historyRule checks commands of git that remove commits for good, or overwrite files from the
// index.
func (c *gitCall) historyRule() string {
	a := sortArguments(c.args, "")
	dry := a.has("-n", "-n") || a.has("--dry-run", "--dry")
	removes := false
	switch c.command {
	case "reflog":
		removes = len(a.operands) > 0 && slices.Contains([]string{"expire", "delete", "drop"}, a.operands[0].Text) && !dry
	case "gc":
		removes = slices.ContainsFunc(a.options, func(option string) bool {
			when, ok := strings.CutPrefix(option, "--prune=")
			return ok && isNow(when)
		}) || slices.ContainsFunc(c.settings, func(s Setting) bool {
			return strings.HasPrefix(s.Key, "gc.") && strings.Contains(s.Key, "expire") && isNow(s.Value)
		})
	case "prune":
		removes = !dry && !a.has("--expire", "--ex")
	case "update-ref":
		removes = a.has("-d", "-d")
		if a.has("--stdin", "--std") {
			c.g.unsure("git update-ref reads its commands from its input")
		}
	case "filter-branch":
		removes = true
	case "read-tree":
		if a.has("--reset", "--res") && a.has("-u", "-u") {
			return whyForce
		}
	case "checkout-index":
		if a.has("-f", "-f") || a.has("--force", "--f") {
			return whyForce
		}
	default:
		return ""
	}
	c.needs(a)
	if removes {
		return whyHistory
	}
	return ""
}

// isNow reports whether a date of git leaves nothing out.
func isNow(date string) bool {
	return slices.Contains([]string{"now", "all", "0"}, strings.ToLower(date))
}

// sorted sorts the arguments of a command and notes those that may be an option or not.
func (c *gitCall) sorted(takes string, long ...string) arguments {
	a := sortArguments(c.args, takes, long...)
	c.needs(a)
	return a
}

// needs notes arguments that may be an option or not.
func (c *gitCall) needs(a arguments) {
	if len(a.unclear) > 0 {
		c.g.unsure("an argument of git %s is only known when it runs: %s", c.command, show(a.unclear[0].Text))
	}
}

// push checks a push: it must neither overwrite nor delete anything.
func (c *gitCall) push() string {
	a := c.sorted("o", "--push-option", "--repo", "--receive-pack", "--exec")
	refs := wordTexts(a.operands)
	if len(refs) < 2 { // git takes the rest from its configuration
		refs = append(refs, c.allValues(func(key string) bool { return isRemote(key, "push", refs) })...)
		mirrors := c.allValues(func(key string) bool { return isRemote(key, "mirror", refs) })
		if slices.ContainsFunc(mirrors, isTrue) {
			return whyPush
		}
	}
	forces := a.has("-f", "-f") || a.has("--mirror", "--m") || slices.ContainsFunc(a.options, func(option string) bool {
		return strings.HasPrefix(option, "--force")
	})
	deletes := a.has("-d", "-d") || a.has("--delete", "--de") || a.has("--prune", "--pru")
	for _, ref := range refs {
		forces = forces || strings.HasPrefix(ref, "+")
		// An empty left side of a colon deletes the right side; a colon alone means all branches that
		// exist on both sides.
		deletes = deletes || len(ref) > 1 && ref[0] == ':'
	}
	switch {
	case forces:
		return whyPush
	case deletes:
		return whyUnpush
	}
	return ""
}

// isRemote reports whether a key is a setting of the remote that is named, or of any if none is.
func isRemote(key, setting string, named []string) bool {
	remote, ok := strings.CutPrefix(key, "remote.")
	remote, is := strings.CutSuffix(remote, "."+setting)
	return ok && is && (len(named) == 0 || named[0] == remote)
}

// configure notes settings that a command makes.
func (c *gitCall) configure() {
	a := sortArguments(c.args, "f", "--file", "--blob", "--type", "--default", "--comment", "--value")
	words := a.operands
	if len(words) > 0 && words[0].Text == "set" {
		words = words[1:]
	}
	if len(words) > 0 && unknown(words[0].Text) {
		c.st.gitOpen = true
	}
	if len(words) > 1 {
		c.st.git = append(slices.Clip(c.st.git), Setting{words[0].Text, words[1].Text})
	}
}

// clean checks git clean, which deletes nothing unless it is forced to or need not be.
func (c *gitCall) clean() string {
	a := c.sorted("e", "--exclude")
	if a.has("-f", "-f") || a.has("--force", "--f") {
		return whyClean
	}
	if a.has("-n", "-n") || a.has("--dry-run", "--d") {
		return ""
	}
	required := c.values(func(key string) bool { return key == "clean.requireforce" })
	if slices.ContainsFunc(required, isFalse) {
		return whyClean
	}
	return ""
}

func (c *gitCall) stash() string {
	if len(c.args) == 0 {
		return ""
	}
	switch first := c.args[0]; {
	case mayBeOption(first):
		c.g.unsure("an argument of git stash is only known when it runs: %s", show(first.Text))
	case first.Text == "drop" || first.Text == "clear":
		return whyStash
	}
	return ""
}

// discard checks commands that may overwrite files with uncommitted edits. They may do that to files
// that are named one by one.
func (c *gitCall) discard() string {
	takes, long := "bBc", []string{"--orphan", "--conflict", "--pathspec-from-file"}
	if c.command == "restore" {
		takes, long = "sU", []string{"--source", "--conflict", "--pathspec-from-file"}
	}
	if c.command == "switch" {
		takes = "cC"
	}
	a := c.sorted(takes, long...)
	forced := a.has("-f", "-f") || a.has("--force", "--fo") || a.has("--discard-changes", "--di")
	switch {
	case c.command != "restore" && forced:
		return whyForce
	case c.command == "switch", a.has("-p", "-p"), a.has("--patch", "--patc"):
		return ""
	case c.command == "restore" && (a.has("-S", "-S") || a.has("--staged", "--st")) &&
		!a.has("-W", "-W") && !a.has("--worktree", "--w"):
		return ""
	}
	if c.command == "checkout" && a.divided {
		return c.overwrites(a, a.paths)
	}
	return c.overwrites(a, a.operands)
}

// remove checks git rm, which keeps files with edits unless it is forced.
func (c *gitCall) remove() string {
	a := c.sorted("", "--pathspec-from-file")
	forced := a.has("-f", "-f") || a.has("--force", "--f")
	if !forced || a.has("--cached", "--c") || a.has("-n", "-n") || a.has("--dry-run", "--d") {
		return ""
	}
	return c.overwrites(a, a.operands)
}

// overwrites checks the files whose edits are lost.
func (c *gitCall) overwrites(a arguments, files []shell.Word) string {
	if a.has("--pathspec-from-file", "--pathspec-from") {
		c.g.unsure("which files git %s overwrites is only known when it runs", c.command)
	}
	for _, w := range files {
		switch {
		case unknown(w.Text) && (a.divided || c.command != "checkout"):
			c.g.unsure("which files git %s overwrites is only known when it runs: %s", c.command, show(w.Text))
		case c.isMany(w):
			return whyMany
		}
	}
	return ""
}

// isMany reports whether a name stands for more than one file.
func (c *gitCall) isMany(w shell.Word) bool {
	name := w.Text
	if name == "" || name[0] == ':' || strings.ContainsAny(name, "*?[") || strings.HasSuffix(name, "/") ||
		slices.Contains([]string{".", ".."}, path.Base(name)) {
		return name != ""
	}
	if !path.IsAbs(name) {
		if c.dir == "" || unknown(c.dir) {
			return false
		}
		name = path.Join(c.dir, name)
	}
	return above(path.Clean(name), c.st.place.Dir) || c.g.place.IsFolder != nil && c.g.place.IsFolder(path.Clean(name))
}

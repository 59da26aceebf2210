package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/text"
)

// distrust is how far the user's repository is believed. Its index and its settings are in an
// agent's hands: a file that is marked to be passed over, or one that is given the times
// that it had, is unchanged to git. The index of the copies is nobody's but the harness's.
type distrust struct {
	run       string // a claim was last judged in this iteration of this run
	iteration int
	proven    bool                 // git was wrong about files once
	first     map[string]firstLook // by what git said of the tree
	uncounted map[string]bool      // files that were no part of a fingerprint once
}

// firstLook is the copy that was kept when git said something for the first time.
type firstLook struct {
	tree string
	out  map[string]bool // not in it as they were
}

// fullScan reports whether to look at the files whatever the user's git says of them: when a
// claim is judged, until the end of that iteration, so that what is compared was seen with
// the same eyes, and for good once git was wrong.
func (d *distrust) fullScan(in ralph.TreeInput) bool {
	if in.Claimed {
		d.run, d.iteration = in.Run, in.Iteration
		return true
	}
	return d.proven || in.Iteration > 0 && in.Run == d.run && in.Iteration == d.iteration
}

// gitStamp is the user's index and configuration: as long as nobody wrote there, git sees
// what it saw before.
func (k *Keeper) gitStamp() string {
	sum := sha256.New()
	fmt.Fprintln(sum, scan.StampAt(filepath.Join(k.home.GitDir, "index")))
	for _, file := range k.repo.LastConfiguration() { // read for this very fingerprint
		scan.Put(sum, string(file))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// verifiedHash is the hash of a tree. It is git's, unless the copy shows that the files are not
// those that git said the same of before: then what differs is in it as well. Files that no
// fingerprint counts, or that the first copy did not hold, say nothing about git.
func (k *Keeper) verifiedHash(ctx context.Context, state ralph.TreeState, now taken) string {
	d := &k.distrust
	if d.first == nil {
		d.first, d.uncounted = map[string]firstLook{}, map[string]bool{}
	}
	for _, name := range k.always.files {
		d.uncounted[name] = true
	}
	first, known := d.first[state.ID()]
	if !known {
		d.first[state.ID()] = firstLook{now.tree, now.out}
		return state.Hash
	}
	if first.tree == now.tree {
		return state.Hash
	}
	sum := sha256.New()
	scan.Put(sum, state.Hash)
	edits, err := k.edits(ctx, first.tree, now.tree)
	if err != nil {
		scan.Put(sum, now.tree) // what cannot be compared may be anything
		return hex.EncodeToString(sum.Sum(nil))
	}
	manifest.SortEdits(edits)
	wrong := false
	for _, e := range edits {
		if !d.uncounted[e.Name] && !first.out[e.Name] && !now.out[e.Name] {
			wrong = true
			scan.Put(sum, e.Name, e.After.Mode, e.After.ID)
		}
	}
	if !wrong {
		return state.Hash
	}
	d.proven = true
	return hex.EncodeToString(sum.Sum(nil))
}

// debugLimit bounds what git may say of every file in the index, at some ten lines each.
const debugLimit = 512 << 20

// hiddenWrites lists files that git takes for those in the index of the copies, though
// somebody wrote to them. It compares times by the second: whoever writes a file within the
// second in which it was taken, as long as before, and gives it its old time back, is not
// seen. When a file was last written to at all nobody can set, and the index knows it
// more precisely than git asks. What it does not know is not doubted.
func (k *Keeper) hiddenWrites(ctx context.Context, gone map[string]bool) []string {
	args := []string{"ls-files", "-z", "--debug", "--full-name", "--", k.home.pathspec()}
	text, err := k.inTree(ctx, git.Call{Args: args, Limit: debugLimit})
	if err != nil {
		return nil
	}
	var names []string
	for {
		name, rest, more := strings.Cut(text, "\x00")
		if !more {
			return names
		}
		if !gone[name] && rewritten(filepath.Join(k.repo.Top, filepath.FromSlash(name)), recordedTime(rest)) {
			names = append(names, name)
		}
		_, text, _ = strings.Cut(rest, "flags: ")
		_, text, _ = strings.Cut(text, "\n")
	}
}

// rewritten reports whether a file was written in the second in which it was, but later.
func rewritten(path string, recorded [2]uint32) bool {
	if recorded[0] == 0 || recorded[1] == 0 {
		return false
	}
	info, err := os.Lstat(path)
	if err != nil || info.IsDir() || info.Size() > manifest.FileLimit {
		return false
	}
	const second = 1_000_000_000
	changed := scan.StampOf(info).Changed
	// Below a second.
	fraction := uint32(changed % second) //nolint:gosec
	// Cut off in the index, too.
	return fraction != 0 && fraction != recorded[1] && uint32(changed/second) == recorded[0] //nolint:gosec
}

// recordedTime reads "  ctime: SECONDS:NANOSECONDS", which is what git tells first of a file.
func recordedTime(text string) (at [2]uint32) {
	_, _ = fmt.Sscanf(text, "  ctime: %d:%d", &at[0], &at[1])
	return at
}

// runnable is what git may run on the user's behalf: hooks, and programs that the
// repository's configuration names. An agent that changes them reaches further than its
// own run: the user's next git command runs them, and the next run of ralph takes them
// for the user's.
type runnable struct {
	hooks  git.Hooks
	config []byte
}

// namesPrograms are parts of the names of settings whose value git may run.
var namesPrograms = []string{
	"filter",
	"clean",
	"smudge",
	"process",
	"hookspath",
	"fsmonitor",
	"sshcommand",
	"textconv",
	"driver",
	"program",
	"alias",
	"path",
	"pager",
	"editor",
	"helper",
	"insteadof",
	"askpass",
	"command",
	"cmd",
	"tool",
}

func (k *Keeper) runnable() runnable {
	return runnable{hooks: git.HooksIn(filepath.Join(k.home.Common, "hooks")), config: k.repo.Config()}
}

// planted says what is there now that was not, a sentence each.
func (r runnable) planted(before runnable) []string {
	var said []string
	if names := text.Mapped(r.hooks.Since(before.hooks), scan.Shorten); len(names) > 0 {
		said = append(
			said,
			fmt.Sprintf(
				"hooks came into the repository during this run: %s; look at them before your next git command runs them",
				strings.Join(names, ", "),
			),
		)
	}
	if bytes.Equal(r.config, before.config) {
		return said
	}
	const shown = 5
	known := manifest.NameSet(text.Mapped(strings.Split(string(before.config), "\n"), strings.TrimSpace))
	var lines []string
	for line := range bytes.Lines(r.config) {
		text := strings.TrimSpace(string(line))
		if !known[text] && mayRun(text) && len(lines) <= shown {
			lines = append(lines, scan.Shorten(text))
		}
	}
	if len(lines) > shown {
		lines[shown] = "…"
	}
	if len(lines) > 0 {
		said = append(
			said,
			"the repository's configuration was changed during this run, where it can make git run programs: "+strings.Join(
				lines,
				"; ",
			),
		)
	}
	return said
}

// mayRun reports whether a line of a configuration begins a section, or makes a setting,
// by which git runs programs.
func mayRun(line string) bool {
	name, _, _ := strings.Cut(strings.ToLower(line), "=")
	return slices.ContainsFunc(namesPrograms, func(part string) bool { return strings.Contains(name, part) })
}

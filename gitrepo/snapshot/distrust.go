package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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

// distrust decides how far to trust the user's repository. An agent controls its index and its
// settings: git sees no change in a file that is flagged to be skipped, or whose times were reset.
// Only the harness controls the index of the snapshots.
type distrust struct {
	run       string // the run and iteration in which a claim was last judged
	iteration int
	proven    bool                 // git was wrong about files before
	first     map[string]firstLook // by the tree's ID according to git
	uncounted map[string]bool      // files that a fingerprint did not include
}

// firstLook is the first snapshot for a tree ID that git reported.
type firstLook struct {
	tree string
	out  map[string]bool // files that it does not contain as they were
}

// fullScan reports whether to compare the files regardless of what the user's git says. It does so
// when a claim is judged and until the end of that iteration, so that both sides of a comparison
// are read the same way, and always once git was wrong.
func (d *distrust) fullScan(in ralph.TreeInput) bool {
	if in.Claimed {
		d.run, d.iteration = in.Run, in.Iteration
		return true
	}
	return d.proven || in.Iteration > 0 && in.Run == d.run && in.Iteration == d.iteration
}

// gitStamp identifies the user's index and configuration. While they are unchanged, git sees what
// it saw before.
func (k *Keeper) gitStamp() string {
	sum := sha256.New()
	fmt.Fprintln(sum, scan.StampAt(filepath.Join(k.home.GitDir, "index")))
	for _, file := range k.repo.LastConfiguration() { // read for this very fingerprint
		scan.Put(sum, string(file))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// isBlind reports whether the user's index keeps git from looking at some files. An agent can do that long
// before it changes one of them.
func (k *Keeper) isBlind() bool {
	index, err := os.ReadFile(filepath.Join(k.home.GitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || git.HidesFiles(index, k.hash().Size())
}

// verifiedHash returns the hash of a tree. It is git's hash, unless the snapshot shows that the
// files differ from those for which git reported the same hash before. Then the hash includes the
// differences. Files that no fingerprint counts, or that the first snapshot did not contain, say
// nothing about git.
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
		scan.Put(sum, now.tree) // without a comparison, assume that it differs
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

// debugLimit limits git's output about every file in the index, at about ten lines each.
const debugLimit = 512 << 20

// hiddenWrites lists files that were written although they match the index of the snapshots
// according to git. Git compares times by the second. It misses a write within the second in which
// the file was saved, if the size stays the same and the modification time is reset. But no program
// can set the change time, and the index stores it more precisely than git compares it. Files
// without a stored time are trusted.
func (k *Keeper) hiddenWrites(ctx context.Context, gone map[string]bool) []string {
	args := []string{"ls-files", "-z", "--debug", "--full-name", "--", k.home.pathspec()}
	text, err := k.inTree(ctx, git.Call{Args: args, Limit: debugLimit})
	if err != nil {
		return nil
	}
	var names []string
	isOwn := k.repo.OwnFiles()
	for {
		name, rest, more := strings.Cut(text, "\x00")
		if !more {
			return names
		}
		if !gone[name] && !isOwn(name) && rewritten(filepath.Join(k.repo.Top, filepath.FromSlash(name)), recordedTime(rest)) {
			names = append(names, name)
		}
		_, text, _ = strings.Cut(rest, "flags: ")
		_, text, _ = strings.Cut(text, "\n")
	}
}

// rewritten reports whether a file was written in the recorded second, but later.
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
	fraction := uint32(changed % second) //nolint:gosec // below a second
	seconds := uint32(changed / second)  //nolint:gosec // the index truncates the seconds, too
	return fraction != 0 && fraction != recorded[1] && seconds == recorded[0]
}

// recordedTime parses "  ctime: SECONDS:NANOSECONDS", which git prints first about a file.
func recordedTime(text string) (at [2]uint32) {
	_, _ = fmt.Sscanf(text, "  ctime: %d:%d", &at[0], &at[1])
	return at
}

// runnable is what git may run on the user's behalf: hooks, and programs that the repository's
// configuration names. If an agent changes them, the effect outlives its run: the user's next git
// command runs them, and the next run of ralph takes them for the user's.
type runnable struct {
	hooks      git.Hooks
	config     []byte
	attributes []byte // which of these programs files go through
}

// namesPrograms are parts of the names of settings whose value git may run.
var namesPrograms = []string{
	"filter", "clean", "smudge", "process", "hookspath", "fsmonitor", "sshcommand", "textconv", "driver",
	"program", "alias", "path", "pager", "editor", "helper", "insteadof", "askpass", "command", "cmd", "tool",
}

func (k *Keeper) runnable() runnable {
	attributes, _ := scan.ReadSmall(filepath.Join(k.home.Common, "info", "attributes"))
	return runnable{
		hooks: git.HooksIn(filepath.Join(k.home.Common, "hooks")), config: k.repo.Config(), attributes: attributes,
	}
}

// planted describes what was added since before, one sentence each.
func (r runnable) planted(before runnable) []string {
	var said []string
	if names := text.Mapped(r.hooks.Since(before.hooks), scan.Shorten); len(names) > 0 {
		said = append(
			said,
			fmt.Sprintf(
				"hooks were added to the repository during this run: %s; review them before your next git command runs them",
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
			"the repository's configuration changed during this run and may make git run programs: "+strings.Join(
				lines,
				"; ",
			),
		)
	}
	return said
}

// mayRun reports whether a configuration line starts a section, or contains a setting, that can
// make git run programs.
func mayRun(line string) bool {
	name, _, _ := strings.Cut(strings.ToLower(line), "=")
	return slices.ContainsFunc(namesPrograms, func(part string) bool { return strings.Contains(name, part) })
}

package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
)

// doubts is how far the user's repository is believed. Its index and its settings are in an
// agent's hands: a file that is marked to be passed over, or one that is given the times
// that it had, is unchanged to git. The index of the copies is nobody's but the harness's.
type doubts struct {
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

// closely reports whether to look at the files whatever the user's git says of them: when a
// claim is judged, until the end of that iteration, so that what is compared was seen with
// the same eyes, and for good once git was wrong.
func (d *doubts) closely(in ralph.TreeInput) bool {
	if in.Claimed {
		d.run, d.iteration = in.Run, in.Iteration
		return true
	}
	return d.proven || in.Iteration > 0 && in.Run == d.run && in.Iteration == d.iteration
}

// believed is the user's index and configuration: as long as nobody wrote there, git sees
// what it saw before.
func (k *Keeper) believed() string {
	sum := sha256.New()
	if info, err := os.Stat(filepath.Join(k.snaps.home.GitDir, "index")); err == nil {
		number(sum, info.Size())
		number(sum, info.ModTime().UnixNano())
		number(sum, changeTime(info))
		number(sum, int64(inode(info)))
	}
	k.repo.mu.Lock()
	defer k.repo.mu.Unlock()
	for _, file := range k.repo.filters.seen.files { // read for this very fingerprint
		put(sum, string(file))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// honest is the hash of a tree. It is git's, unless the copy shows that the files are not
// those that git said the same of before: then what differs is in it as well. Files that no
// fingerprint counts, or that the first copy did not hold, say nothing about git.
func (k *Keeper) honest(ctx context.Context, state ralph.TreeState, now shot) string {
	d := &k.doubts
	if d.first == nil {
		d.first, d.uncounted = map[string]firstLook{}, map[string]bool{}
	}
	for _, name := range k.always {
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
	put(sum, state.Hash)
	edits, err := k.snaps.edits(ctx, first.tree, now.tree)
	if err != nil {
		put(sum, now.tree) // what cannot be compared may be anything
		return hex.EncodeToString(sum.Sum(nil))
	}
	sortEdits(edits)
	wrong := false
	for _, e := range edits {
		if !d.uncounted[e.name] && !first.out[e.name] && !now.out[e.name] {
			wrong = true
			put(sum, e.name, e.after.mode, e.after.id)
		}
	}
	if !wrong {
		return state.Hash
	}
	d.proven = true
	return hex.EncodeToString(sum.Sum(nil))
}

// disguised lists files that git takes for those in the index of the copies, though
// somebody wrote to them. It compares times by the second: whoever writes a file within the
// second in which it was taken, as long as before, and gives it its old time back, is not
// seen. When a file was last written to at all nobody can set, and the index knows it
// more precisely than git asks. What it does not know is not doubted.
func (k *Keeper) disguised(ctx context.Context, gone map[string]bool) []string {
	out := limited{limit: 8 * statusLimit}
	if err := k.snaps.inTree(ctx, call{args: []string{"ls-files", "-z", "--debug", "--full-name", "--", k.pathspec()}, out: &out}); err != nil {
		return nil
	}
	var names []string
	text := out.text.Bytes()
	for {
		name, rest, more := bytes.Cut(text, []byte{0})
		if !more {
			return names
		}
		if !gone[string(name)] && k.rewritten(string(name), recordedTime(rest)) {
			names = append(names, string(name))
		}
		_, text, _ = bytes.Cut(rest, []byte("flags: "))
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
}

// rewritten reports whether a file was written in the second in which it was, but later.
func (k *Keeper) rewritten(name string, recorded [2]uint32) bool {
	if recorded[0] == 0 || recorded[1] == 0 {
		return false
	}
	info, err := os.Lstat(filepath.Join(k.repo.Top, filepath.FromSlash(name)))
	if err != nil || info.IsDir() || info.Size() > fileLimit {
		return false
	}
	const second = 1_000_000_000
	changed := changeTime(info)
	fraction := uint32(changed % second)                                                     //nolint:gosec // below a second
	return fraction != 0 && fraction != recorded[1] && uint32(changed/second) == recorded[0] //nolint:gosec // cut off in the index, too
}

// recordedTime reads "  ctime: SECONDS:NANOSECONDS", which is what git tells first of a file.
func recordedTime(text []byte) (at [2]uint32) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	seconds, fraction, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(line)), "ctime: "), ":")
	for i, digits := range []string{seconds, fraction} {
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			return [2]uint32{}
		}
		at[i] = uint32(n)
	}
	return at
}

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

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/manifest"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// repository is what is recorded about the user's repository beside its files.
type repository struct {
	config  []byte
	exclude []byte
	shallow []byte // where the history of a shallow clone ends
	head    string // "ref: NAME" or an id
	refs    []ref
}

// record saves what is needed to restore the repository, and copies its objects so that they survive
// it. It returns the record's name and what was left out.
func (k *Keeper) record(ctx context.Context) (id string, left []string) {
	now, err := k.look(ctx)
	if err != nil {
		return "", []string{"the repository's branches are not in the snapshot: " + scan.Shorten(err.Error())}
	}
	if err := k.write("info/exclude", now.exclude); err != nil {
		left = append(left, "the repository's info/exclude was not applied: "+err.Error())
	}
	id, err = k.putFolder([]named{
		{
			"config",
			now.config,
		},
		{"exclude", now.exclude},
		{"head", []byte(now.head + "\n")},
		{"refs", now.refText()},
		{"shallow", now.shallow},
	})
	if err != nil {
		return "", append(left, "the repository's branches are not in the snapshot: "+err.Error())
	}
	if err := k.link(now.sum()); err != nil {
		left = append(left, "the repository's history is not in the snapshot: "+err.Error())
	}
	return id, left
}

// look reads the current state of the repository.
func (k *Keeper) look(ctx context.Context) (repository, error) {
	r := k.repo
	now := repository{config: r.Config()}
	now.exclude, _ = scan.ReadSmall(filepath.Join(k.home.Common, "info", "exclude"))
	now.shallow, _ = scan.ReadSmall(filepath.Join(k.home.Common, "shallow"))
	var err error
	if now.refs, err = k.refs.read(ctx, k.home, r); err != nil {
		return now, err
	}
	now.head, err = headOf(ctx, r)
	return now, err
}

func (r repository) refText() []byte {
	var text bytes.Buffer
	for _, ref := range r.refs {
		fmt.Fprintf(&text, "%s %s %s\n", ref.id, ref.name, ref.target)
	}
	return text.Bytes()
}

// sum returns a hash of the refs, including HEAD.
func (r repository) sum() string {
	sum := sha256.Sum256(append([]byte(r.head+"\n"), r.refText()...))
	return hex.EncodeToString(sum[:])
}

// recorded reads the repository's state from a snapshot.
func (s *Store) recorded(ctx context.Context, c header) (repository, error) {
	var was repository
	if c.repository == "" {
		return was, notRestorable("the repository's branches were not recorded in snapshot %s", c.id)
	}
	var texts [5][]byte
	for i, name := range []string{"config", "exclude", "shallow", "head", "refs"} {
		var err error
		if texts[i], err = s.recordedFile(ctx, c, name); err != nil {
			return was, err
		}
	}
	return repository{texts[0], texts[1], texts[2], strings.TrimSpace(string(texts[3])), parseRefs(string(texts[4]))}, nil
}

func (s *Store) recordedFile(ctx context.Context, c header, name string) ([]byte, error) {
	text, err := s.run(ctx, "cat-file", "blob", c.repository+":"+name)
	if err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", c.id, err)
	}
	return []byte(text), nil
}

// link copies the repository's objects, unless its refs are unchanged since the last time. It writes
// down what it did, because visiting every object costs as much as a snapshot.
func (k *Keeper) link(at string) error {
	if k.linkedAt == at {
		return k.unlinked
	}
	if text, err := os.ReadFile(k.path("linked")); err == nil && string(text) == at {
		k.linkedAt, k.unlinked = at, nil
		return nil
	}
	err := git.CopyObjects(filepath.Join(k.home.Common, "objects"), k.path(history), git.CopyLimit)
	if err == nil {
		err = k.write("linked", []byte(at))
	}
	k.linkedAt, k.unlinked = at, err
	return err
}

// trackedIgnored lists files that the user's repository tracks though it ignores them, if there may
// be more than last time. fresh are new files that git does not ignore.
func (k *Keeper) trackedIgnored(ctx context.Context, fresh []string) []string {
	now := scan.StampAt(filepath.Join(k.home.GitDir, "index"))
	if k.forced != nil && (now == k.index || k.knowsTracked(fresh)) {
		return nil
	}
	args := []string{
		"ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--full-name", "--", k.home.pathspec(),
	}
	if k.forced == nil {
		out, err := k.inTree(ctx, git.Call{Args: args})
		if err != nil {
			return nil
		}
		k.forced = manifest.NameSet(git.SplitNames(out))
	}
	theirs, err := k.repo.Ask(ctx, args...)
	if err != nil {
		return nil // the repository is gone or broken, and its index with it
	}
	k.index = now
	var more []string
	for _, name := range git.SplitNames(theirs) {
		if !k.forced[name] {
			k.forced[name] = true
			more = append(more, name)
		}
	}
	return more
}

// knowsTracked reports whether every file that the user's repository tracks is in the index of the snapshots or among
// these.
func (k *Keeper) knowsTracked(names []string) bool {
	theirs, readable := readIndex(filepath.Join(k.home.GitDir, "index"), k.hash())
	own, alsoReadable := readIndex(k.path("index"), k.hash())
	if !readable || !alsoReadable {
		return false
	}
	known := manifest.NameSet(names)
	for _, file := range own.Files {
		known[file.Name] = true
	}
	return !slices.ContainsFunc(theirs.Files, func(file git.IndexFile) bool { return !known[file.Name] })
}

package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// repository is what is recorded of the user's repository beside its files.
type repository struct {
	config  []byte
	exclude []byte
	shallow []byte // where the history of a shallow clone ends
	head    string // "ref: NAME" or an id
	refs    []ref
}

type ref struct {
	name   string
	id     string
	target string // of a symbolic one
}

// record writes down what has to be known to bring the repository back, and sees to it
// that its objects outlive it. It returns the record's name and what was left out.
func (k *Keeper) record(ctx context.Context) (id string, left []string) {
	now, err := k.look(ctx)
	if err != nil {
		return "", []string{"the repository's branches are not in the snapshot: " + shorten(err.Error())}
	}
	if err := k.snaps.write("info/exclude", now.exclude); err != nil {
		left = append(left, "the repository's info/exclude was not heeded: "+err.Error())
	}
	id, err = k.snaps.putFolder([]named{
		{"config", now.config}, {"exclude", now.exclude}, {"head", []byte(now.head + "\n")}, {"refs", now.refText()}, {"shallow", now.shallow},
	})
	if err != nil {
		return "", append(left, "the repository's branches are not in the snapshot: "+err.Error())
	}
	if err := k.link(now.sum()); err != nil {
		left = append(left, "the repository's history is not in the snapshot: "+err.Error())
	}
	return id, left
}

// look reads the repository as it is now.
func (k *Keeper) look(ctx context.Context) (repository, error) {
	r := k.repo
	r.mu.Lock()
	defer r.mu.Unlock()
	now := repository{config: r.configuration().files[0]}
	now.exclude, _ = readConfiguration(filepath.Join(k.snaps.home.Common, "info", "exclude"))
	now.shallow, _ = readConfiguration(filepath.Join(k.snaps.home.Common, "shallow"))
	out := limited{limit: statusLimit}
	if err := r.run(ctx, call{args: []string{"for-each-ref", "--format=%(objectname) %(refname) %(symref)"}, out: &out}); err != nil {
		return now, fmt.Errorf("read refs: %w", err)
	}
	now.refs = parseRefs(out.text.String())
	var err error
	now.head, err = r.head(ctx)
	return now, err
}

// head is what HEAD says. Where refs are not kept in files, git has to be asked.
func (r *Repo) head(ctx context.Context) (string, error) {
	text, known := readConfiguration(filepath.Join(r.gitDir, "HEAD"))
	head := strings.TrimSpace(string(text))
	if known && head != "" && head != "ref: refs/heads/.invalid" {
		return head, nil
	}
	var out bytes.Buffer
	if err := r.run(ctx, call{args: []string{"symbolic-ref", "-q", "HEAD"}, out: &out}); err == nil {
		return "ref: " + strings.TrimSpace(out.String()), nil
	}
	out.Reset()
	err := r.run(ctx, call{args: []string{"rev-parse", "--verify", "HEAD"}, out: &out})
	return strings.TrimSpace(out.String()), err
}

func (r repository) refText() []byte {
	var text bytes.Buffer
	for _, ref := range r.refs {
		fmt.Fprintf(&text, "%s %s %s\n", ref.id, ref.name, ref.target)
	}
	return text.Bytes()
}

// sum tells refs from others, HEAD included.
func (r repository) sum() string {
	sum := sha256.Sum256(append([]byte(r.head+"\n"), r.refText()...))
	return hex.EncodeToString(sum[:])
}

func parseRefs(text string) []ref {
	var refs []ref
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) == 3 {
			refs = append(refs, ref{id: fields[0], name: fields[1], target: fields[2]})
		}
	}
	return refs
}

// recorded reads what a snapshot says of the repository.
func (s *Snapshots) recorded(ctx context.Context, c copied) (repository, error) {
	var was repository
	if c.repository == "" {
		return was, notRestorable("the repository's branches were not recorded in snapshot %s", c.id)
	}
	for _, file := range []struct {
		name string
		to   func(text []byte)
	}{
		{"config", func(text []byte) { was.config = text }},
		{"exclude", func(text []byte) { was.exclude = text }},
		{"shallow", func(text []byte) { was.shallow = text }},
		{"head", func(text []byte) { was.head = strings.TrimSpace(string(text)) }},
		{"refs", func(text []byte) { was.refs = parseRefs(string(text)) }},
	} {
		text, err := s.recordedFile(ctx, c, file.name)
		if err != nil {
			return was, err
		}
		file.to(text)
	}
	return was, nil
}

func (s *Snapshots) recordedFile(ctx context.Context, c copied, name string) ([]byte, error) {
	out := limited{limit: statusLimit}
	if err := s.run(ctx, call{args: []string{"cat-file", "blob", c.repository + ":" + name}, out: &out}); err != nil {
		return nil, fmt.Errorf("read snapshot %s: %w", c.id, err)
	}
	return out.text.Bytes(), nil
}

// link links the repository's objects, unless its refs are those of the last time. What was
// done is written down, since a look at every object costs as much as a snapshot.
func (k *Keeper) link(at string) error {
	if k.linkedAt == at {
		return k.unlinked
	}
	if text, err := os.ReadFile(k.snaps.path("linked")); err == nil && string(text) == at {
		k.linkedAt, k.unlinked = at, nil
		return nil
	}
	err := linkObjects(filepath.Join(k.snaps.home.Common, "objects"), k.snaps.path(history), copyLimit)
	if err == nil {
		err = k.snaps.write("linked", []byte(at))
	}
	k.linkedAt, k.unlinked = at, err
	return err
}

// stamp tells whether a file has been written.
type stamp struct {
	size    int64
	changed int64
	inode   uint64
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime().UnixNano(), inode(info)}
}

// trackedIgnored lists files that are ignored, and tracked all the same, as the user's
// repository has it, if that may be more than last time.
func (k *Keeper) trackedIgnored(ctx context.Context) []string {
	now := stampOf(filepath.Join(k.snaps.home.GitDir, "index"))
	if k.forced != nil && now == k.index {
		return nil
	}
	args := []string{"ls-files", "-z", "--cached", "--ignored", "--exclude-standard", "--full-name", "--", k.pathspec()}
	if k.forced == nil {
		out := limited{limit: statusLimit}
		if err := k.snaps.inTree(ctx, call{args: args, out: &out}); err != nil {
			return nil
		}
		k.forced = nameSet(splitNames(out.text.String()))
	}
	theirs := limited{limit: statusLimit}
	if err := k.ask(ctx, call{args: args, out: &theirs}); err != nil {
		return nil // the repository is gone or broken, and so is what was tracked
	}
	k.index = now
	var more []string
	for _, name := range splitNames(theirs.text.String()) {
		if !k.forced[name] {
			k.forced[name] = true
			more = append(more, name)
		}
	}
	return more
}

// ask runs git on the user's repository.
func (k *Keeper) ask(ctx context.Context, c call) error {
	k.repo.mu.Lock()
	defer k.repo.mu.Unlock()
	return k.repo.run(ctx, c)
}

func nameSet(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// splitNames takes names apart that end with a zero byte each.
func splitNames(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
}

package pristine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// undo puts back what the chapters say, the newest first, and then throws the journal away. It stops between places if goOn says so.
func (j *journal) undo(goOn func() error) (restored []string, err error) {
	chapters, err := j.chapters()
	if err != nil {
		return nil, err
	}
	slices.Reverse(chapters)
	for _, name := range chapters {
		names, err := j.undoChapter(filepath.Join(j.path, name), goOn)
		restored = append(restored, names...)
		if err != nil {
			return restored, err
		}
	}
	if err := wipe(filepath.Dir(j.path), filepath.Base(j.path)); err != nil {
		return restored, fmt.Errorf("remove journal: %w", err)
	}
	slices.Sort(restored)
	return slices.Compact(restored), nil
}

func (j *journal) undoChapter(folder string, goOn func() error) (restored []string, err error) {
	text, err := os.ReadFile(filepath.Join(folder, listName))
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var c chapter
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read journal %s: %w", folder, err)
	}
	root, err := os.OpenRoot(string(c.Dir))
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	r := restorer{root: root, dir: string(c.Dir), folder: folder}
	if err := r.all(c.Places, goOn); err != nil {
		return r.restored, err
	}
	if err := wipe(j.path, filepath.Base(folder)+undone); err != nil {
		return r.restored, fmt.Errorf("end journal: %w", err)
	}
	// Only what is on disk for certain needs no journal any more.
	if err := os.Rename(folder, folder+undone); err != nil {
		return r.restored, fmt.Errorf("end journal: %w", err)
	}
	return r.restored, atomicfile.SyncDir(j.path)
}

// restorer puts back one chapter.
type restorer struct {
	root     *os.Root
	dir      string
	folder   string
	restored []string
}

func (r *restorer) all(places []place, goOn func() error) error {
	for i := range places {
		if err := goOn(); err != nil {
			return err
		}
		if err := r.put(&places[i]); err != nil {
			return fmt.Errorf("put back %s: %w", places[i].Name, err)
		}
	}
	// What is in a folder changes its time, so folders come last, the deepest first.
	for _, p := range slices.Backward(places) {
		var err error
		switch {
		case p.Kind == absent && p.Way:
			if info, err := r.root.Lstat(p.path()); err == nil && info.IsDir() {
				_ = r.root.Remove(p.path()) // one that a check wrote into is not empty, and stays
			}
		case p.Kind == isFolder:
			err = r.finish(&p)
		}
		if err != nil {
			return fmt.Errorf("put back %s: %w", p.Name, err)
		}
	}
	return atomicfile.SyncDir(r.dir)
}

func (p *place) path() string { return filepath.FromSlash(string(p.Name)) }

// put puts back what was at a place, unless it is still there, or again.
func (r *restorer) put(p *place) error {
	info, err := r.root.Lstat(p.path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		info = nil // something else is where its folder should be
	}
	switch {
	case p.Kind == absent && (p.Way || info == nil):
		return nil
	case p.Kind == isFolder && info != nil && info.IsDir():
		if info.Mode().Perm()&0o700 == 0o700 {
			return nil
		}
		// Until all is put back, its owner must be able to write in it.
		return r.root.Chmod(p.path(), info.Mode().Perm()|0o700)
	case info != nil && r.isBack(p, info):
		return nil
	}
	r.restored = append(r.restored, string(p.Name))
	if err := r.keepFound(p, info); err != nil {
		return err
	}
	if p.Kind == isFile {
		return r.putFile(p)
	}
	if err := wipe(r.dir, string(p.Name)); err != nil {
		return err
	}
	switch p.Kind {
	case isFolder:
		return r.root.Mkdir(p.path(), 0o700)
	case isLink:
		if err := r.root.Symlink(string(p.Target), p.path()); err != nil {
			return err
		}
		_ = r.root.Lchown(p.path(), p.UID, p.GID)
		setLinkTime(filepath.Join(r.dir, p.path()), time.Unix(0, p.Time))
		return nil
	}
	return nil
}

// keepFound moves aside a file that is neither what the edits put there nor what was there before: somebody wrote it meanwhile, and it is nowhere
// else.
func (r *restorer) keepFound(p *place, info fs.FileInfo) error {
	if info == nil || !info.Mode().IsRegular() {
		return nil
	}
	digest, err := digestOf(filepath.Join(r.dir, p.path()))
	if err != nil || digest == p.Put || digest == p.Digest {
		return err
	}
	found := filepath.Join(filepath.Dir(r.folder)+".found", p.path())
	if err := os.MkdirAll(filepath.Dir(found), 0o700); err != nil {
		return err
	}
	from, err := r.root.Open(p.path())
	if err != nil {
		return err
	}
	defer from.Close()
	_ = os.Remove(found)
	if err := writeSynced(found, from); err != nil {
		return err
	}
	r.restored[len(r.restored)-1] += " (what was written there meanwhile is kept in " + found + ")"
	return nil
}

// isBack says that a file or a link is what it was.
func (r *restorer) isBack(p *place, info fs.FileInfo) bool {
	if info.Mode() != p.Mode || info.ModTime().UnixNano() != p.Time {
		return false
	}
	switch p.Kind {
	case isLink:
		target, err := r.root.Readlink(p.path())
		return err == nil && target == string(p.Target)
	case isFile:
		file, err := r.root.Open(p.path())
		if err != nil {
			return false
		}
		defer file.Close()
		hash := sha256.New()
		_, err = io.Copy(hash, file)
		return err == nil && hex.EncodeToString(hash.Sum(nil)) == p.Digest
	}
	return false
}

// putFile writes beside the place and moves the file there when it is whole: if that is cut short, the journal is still there and it is done again.
func (r *restorer) putFile(p *place) error {
	from, err := os.Open(filepath.Join(r.folder, p.Saved))
	if err != nil {
		return err
	}
	defer from.Close()
	beside := p.path() + beingPut
	_ = r.root.Remove(beside) // of one that was cut short
	to, err := r.root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := r.fill(to, from, beside, p); err != nil {
		_ = r.root.Remove(beside)
		return err
	}
	if err := wipe(r.dir, string(p.Name)); err != nil {
		return err
	}
	return r.root.Rename(beside, p.path())
}

// beingPut is what the name of a file ends with until all of it is there.
const beingPut = ".ralph-put"

func (r *restorer) fill(to *os.File, from io.Reader, name string, p *place) error {
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	// An owner can be given back only by root, who alone can have taken it.
	_ = r.root.Lchown(name, p.UID, p.GID)
	if err := to.Chmod(p.Mode); err != nil {
		return err
	}
	if err := to.Sync(); err != nil {
		return err
	}
	return r.root.Chtimes(name, time.Time{}, time.Unix(0, p.Time))
}

// finish gives a folder its mode back, and its time if the same names are in it.
func (r *restorer) finish(p *place) error {
	digest, err := listDigest(r.root, string(p.Name))
	if err != nil {
		return err
	}
	if err := atomicfile.SyncDir(filepath.Join(r.dir, p.path())); err != nil {
		return err
	}
	_ = r.root.Lchown(p.path(), p.UID, p.GID)
	if err := r.root.Chmod(p.path(), p.Mode.Perm()|p.Mode&(fs.ModeSetgid|fs.ModeSticky)); err != nil {
		return err
	}
	if digest != p.Digest {
		return nil
	}
	return r.root.Chtimes(p.path(), time.Time{}, time.Unix(0, p.Time))
}

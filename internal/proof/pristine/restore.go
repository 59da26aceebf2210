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

// undo restores what the entries recorded, newest first, and then removes the journal. It stops
// between paths if keepGoing returns an error.
func (j *journal) undo(keepGoing func() error) (restored []string, err error) {
	entries, err := j.entryNames()
	if err != nil {
		return nil, err
	}
	slices.Reverse(entries)
	for _, name := range entries {
		names, err := j.undoEntry(filepath.Join(j.path, name), keepGoing)
		restored = append(restored, names...)
		if err != nil {
			return restored, err
		}
	}
	if err := removeAll(filepath.Dir(j.path), filepath.Base(j.path)); err != nil {
		return restored, fmt.Errorf("remove journal: %w", err)
	}
	slices.Sort(restored)
	return slices.Compact(restored), nil
}

func (j *journal) undoEntry(folder string, keepGoing func() error) (restored []string, err error) {
	text, err := os.ReadFile(filepath.Join(folder, listName))
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	var c journalEntry
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read journal %s: %w", folder, err)
	}
	root, err := os.OpenRoot(string(c.Dir))
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	r := restorer{root: root, dir: string(c.Dir), folder: folder}
	if err := r.restoreAll(c.Paths, keepGoing); err != nil {
		return r.restored, err
	}
	if err := removeAll(j.path, filepath.Base(folder)+undoneSuffix); err != nil {
		return r.restored, fmt.Errorf("end journal: %w", err)
	}
	// The entry may lose its name only after everything it restores is on disk.
	if err := os.Rename(folder, folder+undoneSuffix); err != nil {
		return r.restored, fmt.Errorf("end journal: %w", err)
	}
	return r.restored, atomicfile.SyncDir(j.path)
}

// restorer undoes one journal entry.
type restorer struct {
	root     *os.Root
	dir      string
	folder   string
	restored []string
}

func (r *restorer) restoreAll(states []originalState, keepGoing func() error) error {
	for i := range states {
		if err := keepGoing(); err != nil {
			return err
		}
		if err := r.restore(&states[i]); err != nil {
			return fmt.Errorf("restore %s: %w", states[i].Name, err)
		}
	}
	// Writing into a folder changes its time, so folders come last, the deepest first.
	for _, p := range slices.Backward(states) {
		var err error
		switch {
		case p.Kind == absent && p.ParentOnly:
			if info, err := r.root.Lstat(p.path()); err == nil && info.IsDir() {
				_ = r.root.Remove(p.path()) // a folder that a check wrote into is not empty, and stays
			}
		case p.Kind == isFolder:
			err = r.restoreFolder(&p)
		}
		if err != nil {
			return fmt.Errorf("restore %s: %w", p.Name, err)
		}
	}
	return atomicfile.SyncDir(r.dir)
}

func (p *originalState) path() string { return filepath.FromSlash(string(p.Name)) }

// restore restores what was at a path, unless it is unchanged or already restored.
func (r *restorer) restore(p *originalState) error {
	info, err := r.root.Lstat(p.path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		info = nil // something else is in place of its folder
	}
	switch {
	case p.Kind == absent && (p.ParentOnly || info == nil):
		return nil
	case p.Kind == isFolder && info != nil && info.IsDir():
		if info.Mode().Perm()&0o700 == 0o700 {
			return nil
		}
		// Its owner must be able to write in it until everything is restored.
		return r.root.Chmod(p.path(), info.Mode().Perm()|0o700)
	case info != nil && r.isRestored(p, info):
		return nil
	}
	r.restored = append(r.restored, string(p.Name))
	if err := r.saveConflict(p, info); err != nil {
		return err
	}
	if p.Kind == isFile {
		return r.restoreFile(p)
	}
	if err := removeAll(r.dir, string(p.Name)); err != nil {
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

// saveConflict saves a file that is neither what the edits put there nor what was there before: it
// was written in the meantime and exists nowhere else.
func (r *restorer) saveConflict(p *originalState, info fs.FileInfo) error {
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
	r.restored[len(r.restored)-1] += " (its newer content was saved in " + found + ")"
	return nil
}

// isRestored reports whether a file or link is in its original state.
func (r *restorer) isRestored(p *originalState, info fs.FileInfo) bool {
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

// restoreFile writes a temporary file and renames it when it is complete. If that is interrupted,
// the journal is still there and the restore is repeated.
func (r *restorer) restoreFile(p *originalState) error {
	from, err := os.Open(filepath.Join(r.folder, p.Saved))
	if err != nil {
		return err
	}
	defer from.Close()
	beside := p.path() + partialSuffix
	_ = r.root.Remove(beside) // left by an interrupted restore
	to, err := r.root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := r.writeFile(to, from, beside, p); err != nil {
		_ = r.root.Remove(beside)
		return err
	}
	if err := removeAll(r.dir, string(p.Name)); err != nil {
		return err
	}
	return r.root.Rename(beside, p.path())
}

// partialSuffix ends the name of a file that is not complete yet.
const partialSuffix = ".ralph-put"

func (r *restorer) writeFile(to *os.File, from io.Reader, name string, p *originalState) error {
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	// Only root can change an owner back, and only root can have changed it.
	_ = r.root.Lchown(name, p.UID, p.GID)
	if err := to.Chmod(p.Mode); err != nil {
		return err
	}
	if err := to.Sync(); err != nil {
		return err
	}
	return r.root.Chtimes(name, time.Time{}, time.Unix(0, p.Time))
}

// restoreFolder restores a folder's mode, and its time if it contains the same names as before.
func (r *restorer) restoreFolder(p *originalState) error {
	digest, err := folderDigest(r.root, string(p.Name))
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

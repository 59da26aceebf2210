package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// warmCache is a folder that a tool fills with what it compiled. Each view has its own, which starts as the
// baseline left it: what later checks compile is not kept, because the product that they run could have written
// it. Those of the workspace are ignored by git, so their content is unknown.
type warmCache struct {
	name, variable string
	limit          int64 // copying more costs more than compiling it
}

var (
	bytecode    = warmCache{"pycache", "PYTHONPYCACHEPREFIX", 64 << 20}
	cargoTarget = warmCache{"target", "CARGO_TARGET_DIR", 1 << 30}
)

// RemoveCaches removes the kept caches of a run that has ended. folder is that of [Examiner.Folder].
func RemoveCaches(folder string) error {
	var err error
	for _, c := range []warmCache{bytecode, cargoTarget} {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, c.name)))
	}
	if err != nil {
		return fmt.Errorf("remove caches: %w", err)
	}
	return nil
}

// usesPython reports whether a check may compile Python.
func usesPython(tree canary.Tree, command string) bool {
	return strings.Contains(command, "py") || slices.ContainsFunc(tree.Files, func(name string) bool {
		return strings.HasSuffix(name, ".py")
	})
}

// usesCargoTarget reports whether a check compiles with cargo, and no one said where to.
func usesCargoTarget(shell Shell, tree canary.Tree, command string) bool {
	if !slices.Contains(tree.Files, "Cargo.toml") || !strings.Contains(command, "cargo") {
		return false
	}
	_, chosen := shell.variable(cargoTarget.variable)
	chosen = chosen || strings.Contains(command, "target")
	for _, name := range []string{".cargo/config.toml", ".cargo/config"} {
		if slices.Contains(tree.Files, name) {
			text, err := tree.Read(name)
			chosen = chosen || err != nil || strings.Contains(string(text), "target-dir")
		}
	}
	return !chosen
}

// warm gives a view its own copy of a cache, and returns the variable that names it. Without the copy checks are
// slower, and nothing else.
func (v *view) warm(c warmCache) string {
	own := filepath.Join(v.folder, c.name)
	if kept := v.examiner.memory.caches[c.name]; kept.folder != "" && kept.copyTo(own) != nil {
		_ = os.RemoveAll(own)
	}
	return c.variable + "=" + own
}

// keepCaches keeps what tools compiled before any agent worked.
func (v *view) keepCaches() {
	if v.in.Iteration > 0 || v.in.Kind != ralph.ViewClaimed {
		return
	}
	for _, c := range []warmCache{bytecode, cargoTarget} {
		filled, folder := filepath.Join(v.folder, c.name), filepath.Join(v.examiner.Folder, c.name)
		for _, project := range []string{v.in.Dir, v.isolated.Dir()} {
			// Python takes a file for unchanged if it has the same size and was written in the same second.
			_ = os.RemoveAll(filepath.Join(filled, project))
		}
		if v.examiner.memory.caches[c.name].folder != "" || !c.fits(filled) || os.Rename(filled, folder) != nil {
			continue
		}
		kept, err := keep(folder)
		if err != nil {
			continue
		}
		v.examiner.memory.keepCache(c, kept)
		if v.examiner.Rows != nil && c == bytecode {
			v.examiner.Rows.compiled = kept
		}
	}
}

func (m *memory) keepCache(c warmCache, kept keptCache) {
	if m.caches == nil {
		m.caches = map[string]keptCache{}
	}
	m.caches[c.name] = kept
}

// fits reports whether a folder has files that are quickly copied.
func (c warmCache) fits(folder string) bool {
	var size int64
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if size += info.Size(); size > c.limit {
			return fs.SkipAll
		}
		return nil
	})
	return err == nil && size > 0 && size <= c.limit
}

// keptCache is a cache with the digests of its files. An agent could write to the folder, but not here.
type keptCache struct {
	folder string
	sums   map[string]digest
}

// digest is the SHA-256 digest of a file. In JSON it is text.
type digest [sha256.Size]byte

// MarshalText implements [encoding.TextMarshaler].
func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return errors.New("not a SHA-256 digest")
	}
	_, err := hex.Decode(d[:], text)
	return err
}

func keep(folder string) (keptCache, error) {
	kept := keptCache{folder, map[string]digest{}}
	return kept, kept.walk(func(name string, _ fs.FileInfo, from *os.File) error {
		sum, err := copyAndSum(io.Discard, from)
		kept.sums[name] = sum
		return err
	})
}

// longAgo is older than every source: cargo takes what was compiled from an older file of the tree for fresh.
var longAgo = time.Unix(-1_000_000_000, 0)

// copyTo copies the cache. It fails if a file is not as it was kept.
func (k keptCache) copyTo(to string) error {
	return k.walk(func(name string, info fs.FileInfo, from *os.File) error {
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
		if err != nil {
			return err
		}
		sum, err := copyAndSum(file, from)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if known, ok := k.sums[name]; err == nil && (!ok || sum != known) {
			err = fmt.Errorf("%s was changed", name)
		}
		if err != nil {
			return err
		}
		return os.Chtimes(target, longAgo, longAgo)
	})
}

// walk opens every file of the cache.
func (k keptCache) walk(do func(name string, info fs.FileInfo, from *os.File) error) error {
	return filepath.WalkDir(k.folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(k.folder, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		from, err := os.Open(path)
		if err != nil {
			return err
		}
		defer from.Close()
		return do(name, info, from)
	})
}

func copyAndSum(to io.Writer, from io.Reader) (sum digest, err error) {
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, hash), from)
	hash.Sum(sum[:0])
	return sum, err
}

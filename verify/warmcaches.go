package verify

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// warmCache is a folder that a tool fills with what it compiled. Each view has its own, which starts as the baseline left
// it: what later checks compile is not kept, because the product that they run could have written it. Those of the
// workspace are ignored by git, so their content is unknown.
type warmCache struct {
	name, variable string
	limit          int64 // copying more costs more than compiling it
}

var (
	bytecode    = warmCache{"pycache", "PYTHONPYCACHEPREFIX", 64 << 20}
	cargoTarget = warmCache{"target", "CARGO_TARGET_DIR", 1 << 30}
)

// usesCargoTarget reports whether a check compiles with cargo and does not care where to.
func usesCargoTarget(tree canary.Tree, command string) bool {
	return slices.Contains(tree.Files, "Cargo.toml") && strings.Contains(command, "cargo") &&
		!strings.Contains(command, "target")
}

// warm gives a view its own copy of a cache, and returns the variable that names it. Without the copy checks are slower,
// and nothing else.
func (v *view) warm(c warmCache) string {
	own := filepath.Join(v.folder, c.name)
	if kept := v.examiner.memory.caches[c.name]; kept != "" {
		_ = copyWithTimes(kept, own)
	}
	return c.variable + "=" + own
}

// keepCaches keeps what tools compiled before any agent worked.
func (v *view) keepCaches() {
	if v.in.Iteration > 0 || v.in.Kind != ralph.ViewClaimed {
		return
	}
	known := &v.examiner.memory.caches
	for _, c := range []warmCache{bytecode, cargoTarget} {
		filled, kept := filepath.Join(v.folder, c.name), filepath.Join(v.examiner.Folder, c.name)
		for _, project := range []string{v.in.Dir, v.isolated.Dir()} {
			// Python takes a file for unchanged if it has the same size and was written in the same second.
			_ = os.RemoveAll(filepath.Join(filled, project))
		}
		if (*known)[c.name] != "" || !c.fits(filled) || os.Rename(filled, kept) != nil {
			continue
		}
		if *known == nil {
			*known = map[string]string{}
		}
		(*known)[c.name] = kept
	}
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

// copyWithTimes copies a folder. Cargo compares times, so a copy with new ones would look newer than changed sources.
func copyWithTimes(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case !info.Mode().IsRegular():
			return nil
		}
		return copyFile(path, target, info)
	})
}

func copyFile(from, to string, info fs.FileInfo) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if closed := target.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("copy cache: %w", err)
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

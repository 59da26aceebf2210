package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/text"
)

// CopyLimit is the most bytes of a repository's objects that are copied at one time if they cannot
// be linked.
const CopyLimit = 2 << 30

var (
	errCopyLimit = fmt.Errorf(
		"its objects cannot be linked into the snapshot folder, and are larger than the copy limit of %d GiB",
		CopyLimit>>30,
	)

	looseFolder = text.LazyRegexp(`^[0-9a-f]{2}$`)
	looseFile   = text.LazyRegexp(`^(?:[0-9a-f]{38}|[0-9a-f]{62})$`)
	packFile    = text.LazyRegexp(`^pack-[0-9a-f]+\.(pack|idx|rev|promisor)$`)
)

// LinkObjects makes every object of one objects folder, and of its alternates, available in
// another. Git never changes an object file, so a hard link is as good as a copy and survives the
// original. If links are impossible, it copies all files or, above the limit, none.
func LinkObjects(from, to string, limit int64) error {
	info, err := os.Stat(to)
	if err != nil {
		return fmt.Errorf("link objects: %w", err)
	}
	var rest []objectFile
	var bytes int64
	for _, folder := range borrowed(from) {
		for _, file := range missingObjects(folder, to) {
			err := os.MkdirAll(filepath.Dir(file.to), info.Mode().Perm())
			if err == nil && !file.indirect {
				err = os.Link(file.from, file.to)
			}
			if err == nil && !file.indirect || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
				continue // linked, already there, or collected meanwhile
			}
			rest = append(rest, file)
			bytes += file.size
		}
	}
	if bytes > limit {
		return errCopyLimit
	}
	for _, file := range rest {
		if err := copyObject(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("copy object: %w", err)
		}
	}
	return nil
}

// objectFile is an object file that is missing in the destination.
type objectFile struct {
	from, to string
	size     int64
	indirect bool // a symbolic link
}

// borrowed lists an objects folder and its alternates, recursively, as far as git follows them.
func borrowed(objects string) []string {
	const depth = 5
	all, next := []string{objects}, []string{objects}
	for range depth {
		var found []string
		for _, folder := range next {
			text, _ := scan.ReadSmall(filepath.Join(folder, "info", "alternates"))
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSuffix(line, "\n")
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				if !filepath.IsAbs(line) {
					line = filepath.Join(folder, line)
				}
				if !slices.Contains(all, line) {
					all, found = append(all, line), append(found, line)
				}
			}
		}
		next = found
	}
	return all
}

// missingObjects lists the files of an objects folder that another one lacks. It skips files that
// are not objects, such as one that git is writing. A pack comes before its index, because the
// index makes git use it.
func missingObjects(from, to string) []objectFile {
	var missing []objectFile
	folders, _ := os.ReadDir(from)
	for _, folder := range folders {
		name := folder.Name()
		pattern := looseFile()
		if name == "pack" {
			pattern = packFile()
		} else if !looseFolder().MatchString(name) {
			continue
		}
		files, _ := os.ReadDir(filepath.Join(from, name))
		slices.SortStableFunc(files, func(a, b fs.DirEntry) int { return rank(a.Name()) - rank(b.Name()) })
		there := namesIn(filepath.Join(to, name))
		for _, file := range files {
			if !pattern.MatchString(file.Name()) || there[file.Name()] {
				continue
			}
			path := filepath.Join(from, name, file.Name())
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				missing = append(missing, objectFile{
					from: path, to: filepath.Join(to, name, file.Name()), size: info.Size(), indirect: !file.Type().IsRegular(),
				})
			}
		}
	}
	return missing
}

func rank(name string) int {
	switch filepath.Ext(name) {
	case ".pack":
		return 0
	case ".idx":
		return 2
	}
	return 1
}

func namesIn(folder string) map[string]bool {
	entries, _ := os.ReadDir(folder)
	names := make(map[string]bool, len(entries))
	for _, entry := range entries {
		names[entry.Name()] = true
	}
	return names
}

func copyObject(file objectFile) error {
	from, ok := scan.Regular(os.OpenFile(file.from, scan.Reading, 0))
	if !ok {
		return fs.ErrNotExist
	}
	defer from.Close()
	to, err := os.CreateTemp(filepath.Dir(file.to), "tmp_obj_*")
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	err = errors.Join(err, to.Sync(), to.Chmod(0o444), to.Close())
	if err == nil {
		err = os.Rename(to.Name(), file.to)
	}
	if err != nil {
		os.Remove(to.Name())
	}
	return err
}

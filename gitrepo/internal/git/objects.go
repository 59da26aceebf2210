package git

import (
	"encoding/binary"
	"encoding/hex"
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

// CopyLimit is the most bytes of a repository's objects that are copied at one time.
const CopyLimit = 2 << 30

var (
	errCopyLimit = fmt.Errorf("its objects are larger than the copy limit of %d GiB", CopyLimit>>30)

	looseFolder = text.LazyRegexp(`^[0-9a-f]{2}$`)
	looseFile   = text.LazyRegexp(`^(?:[0-9a-f]{38}|[0-9a-f]{62})$`)
	packFile    = text.LazyRegexp(`^pack-[0-9a-f]+\.(pack|idx|rev|promisor)$`)
)

// CopyObjects makes every object of one objects folder, and of its alternates, available in another.
// The files share no inodes: an agent that writes into one of them must not reach the other. Where
// the file system can, they share their bytes until either changes. Above the limit nothing is
// copied. What is there already stays, because an agent may have damaged the original.
func CopyObjects(from, to string, limit int64) error {
	packed := packedIn(to, from)
	return copyObjects(from, to, limit, func(id string, _, there int64) bool {
		return there > 0 || packed[id] // empty after a crash
	})
}

// RestoreObjects is like CopyObjects, but also replaces files that have another size than the
// original. Git never changes an object file, so they are damaged.
func RestoreObjects(from, to string, limit int64) error {
	return copyObjects(from, to, limit, func(_ string, original, there int64) bool { return original == there })
}

// intact reports whether an object need not be copied, by its id, "" for a pack, and the sizes of its
// files. That of a missing one is -1.
type intact func(id string, original, there int64) bool

// packedIn lists the objects of small packs that the original does not have: copies that were packed. They
// are no longer loose, unlike their originals.
func packedIn(objects, original string) map[string]bool {
	const limit = 4 << 20
	found := map[string]bool{}
	indexes, _ := filepath.Glob(filepath.Join(objects, "pack", "pack-*.idx")) // the pattern is sound
	for _, file := range indexes {
		hash := (len(filepath.Base(file)) - len("pack-.idx")) / 2
		info, err := os.Stat(file)
		if _, missing := os.Lstat(filepath.Join(original, "pack", filepath.Base(file))); missing == nil || err != nil ||
			info.Size() > limit {
			continue
		}
		index, err := os.ReadFile(file)
		if err != nil || len(index) < packNames || string(index[:len(packMagic)]) != packMagic {
			continue
		}
		count := int(binary.BigEndian.Uint32(index[packNames-4:]))
		for list := index[packNames:]; count > 0 && len(list) >= hash; count-- {
			found[hex.EncodeToString(list[:hash])] = true
			list = list[hash:]
		}
	}
	return found
}

// copyObjects copies the object files that are not intact.
func copyObjects(from, to string, limit int64, isIntact intact) error {
	info, err := os.Stat(to)
	if err != nil {
		return fmt.Errorf("copy objects: %w", err)
	}
	var missing []objectFile
	var bytes int64
	for _, folder := range borrowed(from) {
		for _, file := range missingObjects(folder, to, isIntact) {
			missing = append(missing, file)
			bytes += file.size
		}
	}
	if bytes > limit {
		return errCopyLimit
	}
	for _, file := range missing {
		err := os.MkdirAll(filepath.Dir(file.to), info.Mode().Perm())
		if err == nil {
			err = copyObject(file)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // or collected meanwhile
			return fmt.Errorf("copy object: %w", err)
		}
	}
	return nil
}

// objectFile is an object file that is missing in the destination.
type objectFile struct {
	from, to string
	size     int64
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

// missingObjects lists the files of an objects folder that another one lacks or that are not intact
// there. It skips files that are not objects, such as one that git is writing. A pack comes
// before its index, because the index makes git use it.
func missingObjects(from, to string, isIntact intact) []objectFile {
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
		there := sizesIn(filepath.Join(to, name))
		for _, file := range files {
			if !pattern.MatchString(file.Name()) {
				continue
			}
			path := filepath.Join(from, name, file.Name())
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			size, known := there[file.Name()]
			if !known {
				size = -1
			}
			id := name + file.Name()
			if name == "pack" {
				id = ""
			}
			if !isIntact(id, info.Size(), size) {
				missing = append(missing, objectFile{from: path, to: filepath.Join(to, name, file.Name()), size: info.Size()})
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

// sizesIn returns the sizes of the files in a folder, by name.
func sizesIn(folder string) map[string]int64 {
	entries, _ := os.ReadDir(folder)
	sizes := make(map[string]int64, len(entries))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			sizes[entry.Name()] = info.Size()
		}
	}
	return sizes
}

// packSize is the size of files that are few.
const packSize = 1 << 20

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
	if reflink(to, from) != nil {
		_, err = io.Copy(to, from)
	}
	if file.size >= packSize { // syncing every small object would take minutes
		err = errors.Join(err, to.Sync())
	}
	err = errors.Join(err, to.Chmod(0o444), to.Close())
	if err == nil {
		err = os.Rename(to.Name(), file.to)
	}
	if err != nil {
		os.Remove(to.Name())
	}
	return err
}

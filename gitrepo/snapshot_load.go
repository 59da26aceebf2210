package gitrepo

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// fileLimit is the size up to which a changed file is taken into a snapshot.
	fileLimit = 100 << 20
	// shotLimit is the same for all changed files of one snapshot together.
	shotLimit = 1 << 30
	// leftLimit is how many files are named that a snapshot does not hold.
	leftLimit = 20
)

// load is what one snapshot takes over, and what it leaves.
type load struct {
	gone []string // also what has become something that cannot be kept
	take []string
	left []leftOut
}

type leftOut struct {
	name, why string
	nothing   bool // there is nothing in it that could be lost
}

// weigh looks at everything that differs and says what is taken. A file that is left out
// stays in the index as it was taken last, if it ever was.
func weigh(top *os.Root, d differences) load {
	l := load{gone: d.gone}
	type sized struct {
		name string
		size int64
	}
	var files []sized
	var total int64
	tracked := nameSet(d.changed)
	names := slices.Concat(d.changed, d.fresh)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		info, err := top.Lstat(filepath.FromSlash(name))
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.IsDir():
			if tracked[name] {
				l.gone = append(l.gone, name)
			}
		case err != nil:
			l.leave(name, "it cannot be read")
		case d.byGit && reserved(name):
			l.leave(name, "git takes no file of that name")
		case info.Mode()&fs.ModeSymlink != 0:
			l.take = append(l.take, name)
		case !info.Mode().IsRegular():
			l.left = append(l.left, leftOut{name, "it is no file, link or folder", harmlessNode(info)})
			if tracked[name] {
				l.gone = append(l.gone, name)
			}
		case info.Size() > fileLimit:
			l.leave(name, fmt.Sprintf("it is larger than %d MiB", fileLimit>>20))
		case !readable(top, name):
			l.leave(name, "it cannot be read")
		default:
			files = append(files, sized{name, info.Size()})
			total += info.Size()
		}
	}
	slices.SortStableFunc(files, func(a, b sized) int { return cmp.Compare(b.size, a.size) })
	for _, file := range files {
		if total > shotLimit {
			l.leave(file.name, fmt.Sprintf("together the changed files are larger than %d GiB", shotLimit>>30))
			total -= file.size
			continue
		}
		l.take = append(l.take, file.name)
	}
	slices.Sort(l.take)
	return l
}

// reserved reports whether git passes a file over, without a complaint, because on other
// systems its name would be .git.
func reserved(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return true
		}
	}
	return false
}

func readable(top *os.Root, name string) bool {
	f, ok := open(top, name)
	if ok {
		f.Close()
	}
	return ok
}

func (l *load) leave(name, why string) { l.left = append(l.left, leftOut{name: name, why: why}) }

func (l *load) empty() bool { return len(l.gone)+len(l.take) == 0 }

// out are the files whose content is not in the snapshot, or not as it is now.
func (l *load) out() map[string]bool {
	names := make(map[string]bool, len(l.left))
	for _, file := range l.left {
		if !file.nothing {
			names[file.name] = true
		}
	}
	return names
}

// sentences say the same to people. They are the same as long as nothing changes, since
// each is told once.
func (l *load) sentences() []string {
	var said []string
	for i, file := range l.left {
		if i == leftLimit {
			said = append(said, fmt.Sprintf("and %d more files are not in the snapshot", len(l.left)-leftLimit))
			break
		}
		said = append(said, fmt.Sprintf("%s is not in the snapshot as it is now: %s", shorten(file.name), file.why))
	}
	return said
}

package manifest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

const (
	// FileLimit is the largest changed file that a snapshot includes.
	FileLimit = 100 << 20
	// shotLimit is the most bytes of all changed files of one snapshot together.
	shotLimit = 1 << 30
	// leftLimit is how many omitted files are named.
	leftLimit = 20
)

// Selection is what one snapshot includes and what it leaves out.
type Selection struct {
	Gone []string // deleted, or became something that cannot be stored
	Take []string
	Left []LeftOut
}

// LeftOut is a file that a snapshot does not contain in its current version.
type LeftOut struct {
	Name, Why string
	nothing   bool // it has no content that could be lost
}

// Select checks all differences and decides what to include. For a file that is left out, the index
// keeps the last saved version, if there is one.
func Select(top *os.Root, d Differences) Selection {
	l := Selection{Gone: d.Gone}
	type sized struct {
		name string
		size int64
	}
	var files []sized
	var total int64
	tracked := NameSet(d.Changed)
	names := slices.Concat(d.Changed, d.Fresh)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		info, err := top.Lstat(filepath.FromSlash(name))
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.IsDir():
			if tracked[name] {
				l.Gone = append(l.Gone, name)
			}
		case err != nil:
			l.Leave(name, "it cannot be read")
		case d.ByGit && reserved(name):
			l.Leave(name, "git does not accept a file of that name")
		case info.Mode()&fs.ModeSymlink != 0:
			l.Take = append(l.Take, name)
		case !info.Mode().IsRegular():
			l.Left = append(l.Left, LeftOut{name, "it is not a file, link or folder", harmlessNode(info)})
			if tracked[name] {
				l.Gone = append(l.Gone, name)
			}
		case info.Size() > FileLimit:
			l.Leave(name, fmt.Sprintf("it is larger than %d MiB", FileLimit>>20))
		case !readable(top, name):
			l.Leave(name, "it cannot be read")
		default:
			files = append(files, sized{name, info.Size()})
			total += info.Size()
		}
	}
	slices.SortStableFunc(files, func(a, b sized) int { return cmp.Compare(b.size, a.size) })
	for _, file := range files {
		if total > shotLimit {
			l.Leave(file.name, fmt.Sprintf("together the changed files are larger than %d GiB", shotLimit>>30))
			total -= file.size
			continue
		}
		l.Take = append(l.Take, file.name)
	}
	slices.Sort(l.Take)
	return l
}

// reserved reports whether git silently skips a file because its name would be .git on other
// systems.
func reserved(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
}

func readable(top *os.Root, name string) bool {
	f, ok := scan.Open(top, name)
	if ok {
		f.Close()
	}
	return ok
}

// Leave leaves a file out.
func (l *Selection) Leave(name, why string) { l.Left = append(l.Left, LeftOut{Name: name, Why: why}) }

// Empty reports whether nothing changes.
func (l *Selection) Empty() bool { return len(l.Gone)+len(l.Take) == 0 }

// Out returns the files whose current content is not in the snapshot.
func (l *Selection) Out() map[string]bool {
	names := make(map[string]bool, len(l.Left))
	for _, file := range l.Left {
		if !file.nothing {
			names[file.Name] = true
		}
	}
	return names
}

// Sentences describes the omitted files for the user. The texts stay the same as long as nothing
// changes, because each is shown only once.
func (l *Selection) Sentences() []string {
	var said []string
	for i, file := range l.Left {
		if i == leftLimit {
			said = append(said, fmt.Sprintf("and %d more files are not in the snapshot", len(l.Left)-leftLimit))
			break
		}
		said = append(said, fmt.Sprintf("%s is not up to date in the snapshot: %s", scan.Shorten(file.Name), file.Why))
	}
	return said
}

// Differences is how the workspace differs from the index, according to git.
type Differences struct {
	Changed []string // in the index, but different
	Gone    []string // in the index only
	Fresh   []string // not in the index
	Staged  bool     // the index differs from the last snapshot
	ByGit   bool     // git stores the files, so its rules for names apply
	Left    []string
}

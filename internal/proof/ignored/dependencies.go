package ignored

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// Lock files by the kind of dependency folder that they describe. A name may be a pattern.
var (
	nodeLocks   = strings.Fields("package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb")
	pythonLocks = strings.Fields("requirements*.txt poetry.lock uv.lock pdm.lock Pipfile.lock pyproject.toml")
	vendorLocks = strings.Fields("go.mod go.sum Cargo.lock Gemfile.lock composer.lock")
	podLocks    = []string{"Podfile.lock"}
	gemLocks    = []string{"Gemfile.lock"}
	mixLocks    = []string{"mix.lock", "rebar.lock"}
)

// locksFor returns the lock files that may describe a folder of this name, and whether it is a
// dependency folder even without one.
func locksFor(folder string) (locks []string, always bool) {
	switch folder {
	case "node_modules":
		return nodeLocks, true
	case ".venv", "venv":
		return pythonLocks, true
	case "vendor":
		return vendorLocks, false
	case "Pods":
		return podLocks, false
	case ".bundle":
		return gemLocks, false
	case "deps":
		return mixLocks, false
	}
	return nil, false
}

// isBuildOutput reports whether a folder of this name holds what a build makes, whatever its
// folders are called.
func isBuildOutput(folder string) bool {
	switch folder {
	case "target", "dist", "build", "_build", "out", ".next", ".nuxt", "coverage":
		return true
	}
	return false
}

// dependencies is one dependency folder that changed.
type dependencies struct {
	changes []ralph.FileChange
	locks   []string // the lock files in the nearest folder that has some
	isNew   bool     // nothing was in it at the base
}

type sorter struct {
	in      Input
	inTree  map[string]bool
	touched map[string]bool // files of the tree that differ from the base
	isVenv  map[string]bool
	folders map[string]*dependencies
	out     Sorted
}

// venvFolders returns the virtual environments of Python, whatever they are called.
func venvFolders(lists ...List) map[string]bool {
	found := map[string]bool{}
	for _, list := range lists {
		for _, f := range list {
			if path.Base(f.Name) == "pyvenv.cfg" && path.Dir(f.Name) != "." {
				found[path.Dir(f.Name)] = true
			}
		}
	}
	return found
}

// dependencyFolder returns the topmost dependency folder that a file is in, and the file's name
// there. The folder is "" if there is none.
func (s *sorter) dependencyFolder(name string) (folder, rest string) {
	for end := 0; end < len(name); end++ {
		next := strings.IndexByte(name[end:], '/')
		if next < 0 {
			next = len(name) - end
		}
		part := name[end : end+next]
		end += next
		if isBuildOutput(part) {
			return "", ""
		}
		locks, always := locksFor(part)
		if s.isVenv[name[:end]] {
			locks, always = pythonLocks, true
		}
		if always || len(locks) > 0 && len(s.nearestLocks(name[:end], locks)) > 0 {
			return name[:end], strings.TrimPrefix(name[end:], "/")
		}
	}
	return "", ""
}

func (s *sorter) add(folder string, c ralph.FileChange) {
	d := s.folders[folder]
	if d == nil {
		locks, _ := locksFor(path.Base(folder))
		if s.isVenv[folder] {
			locks = pythonLocks
		}
		d = &dependencies{locks: s.nearestLocks(folder, locks), isNew: !s.hadFiles(folder)}
		s.folders[folder] = d
	}
	d.changes = append(d.changes, c)
}

// hadFiles reports whether a folder had files at the base, or was something else than a folder.
func (s *sorter) hadFiles(folder string) bool {
	return slices.ContainsFunc(s.in.Base, func(f File) bool {
		rest, below := strings.CutPrefix(f.Name, folder+"/")
		return f.Name == folder || below && !isCache(rest) && !isMetadata(rest)
	})
}

// nearestLocks returns the lock files of the tree, at the base or now, in the nearest folder above a
// dependency folder that has some.
func (s *sorter) nearestLocks(folder string, patterns []string) []string {
	for above := path.Dir(folder); ; above = path.Dir(above) {
		var found []string
		for _, pattern := range patterns {
			found = append(found, s.matches(above, pattern)...)
		}
		if len(found) > 0 || above == "." {
			return found
		}
	}
}

// matches returns the files of the tree in a folder that match a pattern.
func (s *sorter) matches(folder, pattern string) []string {
	name := path.Join(folder, pattern)
	if !strings.Contains(pattern, "*") {
		if s.inTree[name] || s.touched[name] {
			return []string{name}
		}
		return nil
	}
	var found []string
	for _, names := range []map[string]bool{s.inTree, s.touched} {
		for file := range names {
			if ok, _ := path.Match(pattern, path.Base(file)); ok && path.Dir(file) == folder {
				found = append(found, file)
			}
		}
	}
	return found
}

// judgeFolders decides about each dependency folder. Its lock file is the only evidence that a
// change was asked for.
func (s *sorter) judgeFolders() {
	for folder, d := range s.folders {
		isLockChanged := slices.ContainsFunc(d.locks, func(name string) bool { return s.touched[name] })
		if isLockChanged || d.isNew && len(d.locks) > 0 {
			s.out.Installed = append(s.out.Installed, folder)
			continue
		}
		s.out.Environment = append(s.out.Environment, d.changes...)
	}
	slices.Sort(s.out.Installed)
	slices.SortFunc(s.out.Environment, func(a, b ralph.FileChange) int { return strings.Compare(a.Name, b.Name) })
}

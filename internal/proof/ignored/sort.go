package ignored

import (
	"path"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// Input is what Sort needs to know.
type Input struct {
	Base, Now List // files that are not in the tree, at the base and now
	// Tree lists the files of the tree. TreeChanges is how it differs from the base.
	Tree        []string
	TreeChanges []ralph.FileChange
}

// Sorted says what changes of ignored files mean.
type Sorted struct {
	// Absent are files and folders that views do not show. LeftOut lists the files among them that
	// could hold work. Caches could not.
	Absent  []string
	LeftOut []ralph.FileChange
	// Environment are files of dependency folders that changed while the lock file did not.
	Environment []ralph.FileChange
	// Installed are dependency folders that changed with their lock file.
	Installed []string
}

// Sort sorts the changes of ignored files by what they mean.
func Sort(in Input) Sorted {
	s := sorter{in: in, folders: map[string]*dependencies{}, inTree: map[string]bool{}, touched: map[string]bool{}}
	for _, name := range in.Tree {
		s.inTree[name] = true
	}
	for _, c := range in.TreeChanges {
		s.touched[c.Name] = true
	}
	s.isVenv = venvFolders(in.Base, in.Now)
	gone := map[string]bool{}
	for _, c := range Changes(in.Base, in.Now) {
		folder, rest := s.dependencyFolder(c.Name)
		file, _ := in.Now.Find(c.Name)
		switch {
		case c.Name == ".ralph/.gitignore": // the harness writes it in every run
		case file.Mode.IsDir(): // nothing is in it, but no commit has it
			if folder == "" && !isOwn(c.Name+"/") && !isCache(c.Name) {
				gone[c.Name] = true
				s.out.LeftOut = append(s.out.LeftOut, ralph.FileChange{Name: c.Name + "/", Kind: c.Kind})
			}
		case folder != "" && isMetadata(rest) && c.Kind != ralph.FileDeleted: // it says what is installed
			gone[c.Name] = true
		case folder != "" && !isCache(rest):
			s.add(folder, c)
		case c.Kind == ralph.FileDeleted:
		default:
			gone[c.Name] = true
			if !isCache(c.Name) && !isOwn(c.Name) {
				s.out.LeftOut = append(s.out.LeftOut, c)
			}
		}
	}
	s.judgeFolders()
	s.out.Absent = highest(gone, in.Now, in.Tree)
	return s.out
}

// Without returns the names of everything that a view must not show if these dependency folders are
// installed again in it.
func (s Sorted) Without(folders []string, now List, tree []string) []string {
	gone := map[string]bool{}
	for _, f := range now {
		isBelow := func(folder string) bool { return f.Name == folder || strings.HasPrefix(f.Name, folder+"/") }
		if slices.ContainsFunc(folders, isBelow) || slices.ContainsFunc(s.Absent, isBelow) {
			gone[f.Name] = true
		}
	}
	return highest(gone, now, tree)
}

// Shown returns the files that views show and that could decide how a check ends: no caches, and not what the harness
// writes.
func (s Sorted) Shown(now List) List {
	absent := make(map[string]bool, len(s.Absent))
	for _, name := range s.Absent {
		absent[name] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(f File) bool {
		for name := f.Name; name != "."; name = path.Dir(name) {
			if absent[name] {
				return true
			}
		}
		return isOwn(f.Name) || isCache(f.Name)
	})
}

// highest returns the shortest list of files and folders that covers the files that are gone, and
// no other: one folder with thousands of files costs a view as much as one file.
func highest(gone map[string]bool, now List, tree []string) []string {
	if len(gone) == 0 {
		return nil
	}
	kept := map[string]bool{".git": true}
	keep := func(name string) {
		for folder := path.Dir(name); folder != "." && !kept[folder]; folder = path.Dir(folder) {
			kept[folder] = true
		}
	}
	for _, name := range tree {
		keep(name)
	}
	for _, f := range now {
		if !gone[f.Name] {
			keep(f.Name)
		}
	}
	covered := map[string]bool{}
	for name := range gone {
		top := name
		for folder := path.Dir(name); folder != "." && !kept[folder]; folder = path.Dir(folder) {
			top = folder
		}
		covered[top] = true
	}
	names := make([]string, 0, len(covered))
	for name := range covered {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// isOwn reports whether a file belongs to the harness, which may write it at any time.
func isOwn(name string) bool {
	return strings.HasPrefix(name, ".ralph/") || strings.HasPrefix(name, ".agent/")
}

// isCache reports whether a file is in a cache that tools write when they merely run tests.
func isCache(name string) bool {
	switch path.Ext(name) {
	case ".pyc", ".pyo":
		return true
	}
	for part := range strings.SplitSeq(name, "/") {
		switch part {
		case "__pycache__", ".cache", ".vite", ".vite-temp", ".vitest", ".coverage", ".nyc_output", ".DS_Store":
			return true
		}
		if strings.HasPrefix(part, ".") && strings.HasSuffix(part, "_cache") {
			return true
		}
	}
	return false
}

// isMetadata reports whether a file of a dependency folder only describes what is installed there.
func isMetadata(rest string) bool {
	switch rest {
	case ".package-lock.json", ".yarn-integrity", ".yarn-state.yml", ".modules.yaml", ".pnpm-workspace-state.json",
		".pnpm-workspace-state-v1.json":
		return true
	}
	return false
}

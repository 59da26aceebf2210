package inputs

import (
	"path"
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
	// LeftOut lists files that were added or changed and could hold work. Caches could not.
	LeftOut []ralph.FileChange
	// Edited are files of dependency folders that changed while the lock file did not.
	Edited []ralph.FileChange
	// Installed are dependency folders that changed with their lock file.
	Installed []string
}

// Sort sorts the changes of ignored files by what they mean.
func Sort(in Input) Sorted {
	s := newSorter(in)
	for _, c := range Changes(in.Base, in.Now) {
		folder, rest := s.dependencyFolder(c.Name)
		file, _ := in.Now.Find(c.Name)
		switch {
		case isOwn(c.Name) || isCache(c.Name) || s.inTree[c.Name]:
		case file.Mode.IsDir(): // nothing is in it, but no commit has it
			if folder == "" {
				s.out.LeftOut = append(s.out.LeftOut, ralph.FileChange{Name: c.Name + "/", Kind: c.Kind})
			}
		case folder != "":
			if !isMetadata(rest) {
				s.add(folder, c)
			}
		case c.Kind != ralph.FileDeleted:
			s.out.LeftOut = append(s.out.LeftOut, c)
		}
	}
	s.judgeFolders()
	return s.out
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

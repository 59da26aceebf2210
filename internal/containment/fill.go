package containment

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
)

// makeCaches makes the folders without which the programs that are installed do not work.
func (p Place) makeCaches() {
	if real(p.Home) == "" {
		return
	}
	for program, folders := range firstCaches {
		if _, err := process.Locate(program, p.Env, never); err != nil {
			continue
		}
		for _, folder := range folders {
			_ = os.MkdirAll(filepath.Join(p.Home, folder), 0o755) // the program says what it lacks
		}
	}
}

// Settings made where an agent has none have a mode and a content that people do not choose. So a run
// recognizes those of another run, or of one that was killed.
const (
	filledFolder = 0o710
	filledFile   = 0o600
)

// emptySettings is the content of a file that says nothing.
func emptySettings(path string) string {
	switch filepath.Ext(path) {
	case ".json", ".jsonc", ".yaml":
		return "{ }\n"
	}
	return "\n"
}

// fill makes empty settings where an agent has none, because only what exists can be kept from an agent.
// Other runs use what one run made. So each holds a lock on it, and the last one removes it.
func (r *Room) fill(p Place) {
	if r.tier.Contains() { // the others cannot keep a file in a folder that changes
		r.fillAll(p.Kept, p.Workspace)
	}
}

// fillAll does that for paths outside of the workspace.
func (r *Room) fillAll(paths []string, workspace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range paths {
		if isWithin(path, workspace) {
			continue
		}
		made := makeEmpty(path)
		if held := r.fills[path]; held != nil && !made {
			continue
		} else if held != nil {
			_ = held.Close() // it was removed
		}
		if held := holdEmpty(path); held != nil {
			r.fills[path] = held
		}
	}
}

// makeEmpty makes a folder, or a file if the name has an extension, if nothing is there and its parent
// exists.
func makeEmpty(path string) bool {
	if filepath.Ext(path) == "" {
		return os.Mkdir(path, filledFolder) == nil && os.Chmod(path, filledFolder) == nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filledFile)
	if err != nil {
		return false
	}
	_, err = file.WriteString(emptySettings(path))
	return file.Close() == nil && err == nil
}

// holdEmpty locks what makeEmpty made, in this run or another; nil if the user's own settings are there.
func holdEmpty(path string) *os.File {
	for range 3 { // another run may be removing it
		if !isEmpty(path) {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			makeEmpty(path)
			continue
		}
		if lockShared(file) == nil && isSame(file, path) {
			return file
		}
		_ = file.Close()
		makeEmpty(path)
	}
	return nil
}

// isEmpty reports whether something is as makeEmpty makes it.
func isEmpty(path string) bool {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return false
	case info.IsDir():
		entries, err := os.ReadDir(path)
		return err == nil && len(entries) == 0 && info.Mode().Perm() == filledFolder
	case info.Mode() != filledFile: // also a link
		return false
	}
	content, err := os.ReadFile(path)
	return err == nil && string(content) == emptySettings(path)
}

func isSame(file *os.File, path string) bool {
	held, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(held, there)
}

// unfill removes what makeEmpty made, unless another run needs it, or it has been used since.
func unfill(path string, held *os.File) {
	if lockAlone(held) == nil && isEmpty(path) && isSame(held, path) {
		_ = os.Remove(path)
	}
	_ = held.Close()
}

// copyFile makes the copy that an agent sees in the place of a file. It returns "" if there is no file.
func (r *Room) copyFile(of string) string {
	content, err := os.ReadFile(of)
	if err != nil {
		return ""
	}
	folder, err := os.MkdirTemp(r.own, "copy-")
	if err != nil {
		return ""
	}
	path := filepath.Join(folder, filepath.Base(of))
	if os.WriteFile(path, content, 0o600) != nil {
		return ""
	}
	return path
}

// noteLinks remembers links that the agent could replace.
func (r *Room) noteLinks(paths []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range paths {
		if target, err := os.Readlink(path); err == nil && r.links[path] == "" {
			r.links[path] = target
		}
	}
}

// restoreLinks restores the links that the agent replaced. The run said at its start that it would.
func (r *Room) restoreLinks() {
	for path, target := range r.links {
		if now, err := os.Readlink(path); (err != nil || now != target) && removeAll(path) == nil {
			_ = os.Symlink(target, path)
		}
	}
}

// scripts are the endings of files that a settings file may start.
var scripts = []string{
	".bash", ".cjs", ".fish", ".js", ".lua", ".mjs", ".pl", ".ps1", ".py", ".rb", ".sh", ".ts", ".zsh",
}

// ProgramsIn returns what the settings in an agent's own folders could start in later sessions: scripts, such
// as one for the status line, and the programs of the agent itself.
func ProgramsIn(folders []string) (paths []string) {
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // a folder that is not there has none
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil {
				continue
			}
			isScript := info.Mode().IsRegular() &&
				(info.Mode()&0o111 != 0 || slices.Contains(scripts, strings.ToLower(filepath.Ext(entry.Name()))))
			isProgram := info.IsDir() && slices.Contains([]string{"bin", "local", "node_modules", "packages"}, entry.Name())
			if isScript || isProgram {
				paths = append(paths, filepath.Join(folder, entry.Name()))
			}
		}
	}
	return paths
}

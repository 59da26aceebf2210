package containment

import (
	"os"
	"path/filepath"

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

// fill makes empty settings where an agent has none, because only what exists can be kept from an agent. It
// returns what it made.
func (p Place) fill() (made []string) {
	paths := []string{}
	for _, path := range p.Kept {
		if !isWithin(path, p.Workspace) {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		if makeEmpty(path) {
			made = append(made, path)
		}
	}
	return made
}

// makeEmpty makes a folder, or a file if the name has an extension, if nothing is there and its parent
// exists.
func makeEmpty(path string) bool {
	if filepath.Ext(path) == "" {
		return os.Mkdir(path, 0o700) == nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	_, err = file.WriteString(emptySettings(path))
	return file.Close() == nil && err == nil
}

// unfill removes what makeEmpty made, unless somebody has used it since.
func unfill(path string) {
	if content, err := os.ReadFile(path); err == nil && string(content) != emptySettings(path) {
		return
	}
	_ = os.Remove(path) // a folder that is not empty stays
}

// emptySettings is the content of a file that says nothing.
func emptySettings(path string) string {
	switch filepath.Ext(path) {
	case ".json", ".jsonc", ".yaml":
		return "{}\n"
	}
	return ""
}

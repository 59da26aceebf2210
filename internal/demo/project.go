// Package demo has a sample project and a scripted agent, to try Ralph without an API key.
//
// The loop, the checks, the log and the exit code are real, and the agent is a real process. Only
// what it does is scripted: it speaks Claude Code's stream format, reads the files and the prompt
// like any agent, and plays a scenario. Nothing here calls a model.
package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed sample
var sample embed.FS

// Goal is the goal of the demo.
const Goal = "Make slugify.sh turn any title into a URL slug, as README.md says. check.sh must pass."

// Check is the command that proves the goal.
const Check = "sh ./check.sh"

// WriteProject writes the sample project into dir.
func WriteProject(dir string) error {
	files, err := fs.Sub(sample, "sample")
	if err != nil {
		return fmt.Errorf("open sample: %w", err)
	}
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return fmt.Errorf("read sample: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), data, 0o644); err != nil {
			return fmt.Errorf("write sample: %w", err)
		}
		return nil
	})
}

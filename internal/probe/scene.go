package probe

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// scene is the temporary environment of one probe: a home folder, a repository, a folder outside
// it, and the words and files that show what happened.
type scene struct {
	root, home, work, outside, temp string

	firstPrompt, firstAnswer string // words of the first run, which must not appear in another
	noted                    string // a word that occurs only in notes.txt
}

func newScene() (*scene, error) {
	root, err := os.MkdirTemp("", "ralph-probe-")
	if err != nil {
		return nil, fmt.Errorf("make probe folder: %w", err)
	}
	// CLIs compare paths with the real path of their working folder
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	word := func() string { return "word" + strings.ToLower(rand.Text()[:12]) }
	s := &scene{
		root:    root,
		home:    filepath.Join(root, "home"),
		work:    filepath.Join(root, "work"),
		outside: filepath.Join(root, "outside"),
		temp:    filepath.Join(root, "tmp"), firstPrompt: word(), firstAnswer: word(), noted: word(),
	}
	for _, dir := range []string{s.home, s.work, s.outside, s.temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			s.remove()
			return nil, fmt.Errorf("make probe folder: %w", err)
		}
	}
	return s, nil
}

func (s *scene) remove() { os.RemoveAll(s.root) }

// Files that show what happened.
func (s *scene) ran() string       { return filepath.Join(s.work, "ran.txt") }
func (s *scene) edited() string    { return filepath.Join(s.work, "edited.txt") }
func (s *scene) checked() string   { return filepath.Join(s.work, "checked.txt") }
func (s *scene) forbidden() string { return filepath.Join(s.outside, "forbidden.txt") }

// mark returns the file that something of the user's leaves when the CLI starts it.
func (s *scene) mark(kind string) string { return filepath.Join(s.root, kind+".mark") }

// marked lists those of the kinds that were started.
func (s *scene) marked(kinds []string) []string {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !exists(s.mark(kind)) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// allowed is the command that edit mode is told to allow. Some CLIs allow no shell by a rule, and
// some allow commands such as touch without one.
const allowed = "awk -f check.awk"

// furnish fills the repository and the home folder.
func (s *scene) furnish(ctx context.Context, env []string, home map[string]string) error {
	files := map[string]string{
		filepath.Join(s.work, "notes.txt"): "<promise>BLOCKED:" + s.noted + "</promise>\n",
		filepath.Join(s.work, "check.awk"): "BEGIN { print \"checked\" > \"checked.txt\" }\n",
	}
	for name, text := range home {
		files[filepath.Join(s.home, filepath.FromSlash(name))] = text
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("make probe folder: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write probe file: %w", err)
		}
	}
	// A machine without git is probed in a plain folder, because runs there also work in one.
	if _, err := process.Run(ctx, process.Spec{Argv: []string{"git", "init", "-q"}, Dir: s.work, Env: env}); err != nil {
		return fmt.Errorf("make probe repository: %w", err)
	}
	return nil
}

// The scenarios, one for each run.
const (
	free    = "free"    // permissions bypassed
	edits   = "edits"   // edit mode
	control = "control" // the user's settings inherited
)

const claimed = "Everything is done.\n\n<promise>COMPLETE</promise>"

// script is what the model says in each run.
func (s *scene) script() scriptedmodel.Script {
	type turn = scriptedmodel.Turn
	shell := func(command string) []scriptedmodel.ToolCall { return []scriptedmodel.ToolCall{{Shell: command}} }
	write := []scriptedmodel.ToolCall{{Write: &scriptedmodel.FileWrite{Path: s.edited(), Text: "edited\n"}}}
	talk := func(turns ...turn) scriptedmodel.Scenario {
		return scriptedmodel.Scenario{Conversations: [][]turn{turns}}
	}
	return scriptedmodel.Script{
		free: talk(
			turn{Text: "I look at the notes: " + s.firstAnswer, Tools: shell("cat notes.txt; echo ran > ran.txt")},
			turn{Text: claimed}),
		edits: talk(
			turn{Text: "I write a file.", Tools: write},
			turn{Text: "I run the check.", Tools: shell(allowed)},
			turn{Text: "I write where I should not.", Tools: shell("echo forbidden > " + s.forbidden())},
			turn{Text: claimed}),
		control: talk(turn{Text: claimed}),
	}
}

// turns returns how many turns a run has if it finishes.
func (s *scene) turns(scenario string) int { return len(s.script()[scenario].Conversations[0]) }

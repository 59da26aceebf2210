// Package setup prepares a project for Ralph: it looks at the project and writes the files in
// .ralph.
package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/ownfiles"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/project"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/plan"
)

// Survey is what setup found in a project.
type Survey struct {
	Workspace  workspace.Workspace
	Configured bool     // the project has a config file
	Agents     []string // agent CLIs on PATH, in the order in which Ralph chooses one
	Proposals  []project.Proposal
	Tasks      string // task list of a run without a goal; "" if none
	// Prompt is the file that would be the goal of such a run, or LoosePrompt. It is "" if there is
	// none, or only the one that setup writes.
	Prompt string
}

// LoosePrompt is a prompt that many projects have, but that no run reads by itself.
const LoosePrompt = "PROMPT.md"

// prompts are the prompt files of a project, in the order of precedence.
var prompts = []string{".ralph/PROMPT.md", ".agent/PROMPT.md", LoosePrompt}

// Look surveys a project. It starts nothing and changes nothing.
func Look(ws workspace.Workspace) Survey {
	survey := LookForFiles(ws)
	survey.Proposals = project.Propose(ws.Dir)
	for _, name := range config.AgentCLIs {
		if _, err := process.LookPath(name); err == nil {
			survey.Agents = append(survey.Agents, name)
		}
	}
	return survey
}

// LookForFiles is a survey without checks and agents, which take longer to find.
func LookForFiles(ws workspace.Workspace) Survey {
	return Survey{
		Workspace:  ws,
		Configured: firstOf(ws.Dir, config.ProjectFile) != "",
		Tasks:      firstOf(ws.Dir, plan.Places...),
		Prompt:     ownPrompt(ws.Dir),
	}
}

// ownPrompt is the first prompt file that is not the unchanged one of set-up, "" if there is none.
func ownPrompt(dir string) string {
	for _, name := range prompts {
		text, err := textfile.ReadInside(dir, name)
		if !errors.Is(err, fs.ErrNotExist) && !prompt.IsStarter(text) {
			return name
		}
	}
	return ""
}

// firstOf returns the first name that exists in dir, or "" if none does.
func firstOf(dir string, names ...string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	for _, name := range names {
		if _, err := root.Lstat(name); err == nil {
			return name
		}
	}
	return ""
}

// Choice is what the user chose from a survey.
type Choice struct {
	Checks []string
	Others []project.Proposal // not chosen: commented out in the file
	Agent  string             // "" uses the first one on PATH
	Proof  string             // gate.proof; "" for the default
}

// Everything chooses the proposed checks that a run would use.
func (s Survey) Everything() Choice {
	var choice Choice
	for _, proposal := range s.Proposals {
		if proposal.Used() {
			choice.Checks = append(choice.Checks, proposal.Command)
		} else {
			choice.Others = append(choice.Others, proposal)
		}
	}
	return choice
}

// Result lists what happened to each file.
type Result struct {
	Written []string
	Kept    []string // existed before
}

// Wrote reports whether Write created the config file.
func (s Result) Wrote() bool { return slices.Contains(s.Written, config.ProjectFile) }

const ignoreFile = ".ralph/.gitignore"

// Write creates the files in .ralph that do not exist yet. It changes no other file, except the
// .gitignore that a run left there: that one ignores itself, so git would show it to no one else.
func (c Choice) Write(ws workspace.Workspace) (Result, error) {
	var done Result
	root, err := os.OpenRoot(ws.Dir)
	if err != nil {
		return done, fmt.Errorf("set up: %w", err)
	}
	defer root.Close()
	if err := root.Mkdir(".ralph", 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return done, fmt.Errorf("set up: %w", err)
	}
	if text, err := textfile.ReadInside(ws.Dir, ignoreFile); err == nil && ownfiles.IsIgnoreFile(text) {
		if err := root.Remove(ignoreFile); err != nil {
			return done, fmt.Errorf("set up: %w", err)
		}
	}
	type file struct{ name, text string }
	files := []file{
		{config.ProjectFile, c.configText()},
		{".ralph/config.schema.json", string(config.Schema())},
		{ignoreFile, "# Ralph writes these files while it runs; they are safe to delete.\n/progress.md\n/goal.md\n"},
	}
	if firstOf(ws.Dir, prompts[1:]...) == "" { // it would take precedence over them
		files = append(files, file{prompts[0], prompt.Starter})
	}
	for _, file := range files {
		err := writeNew(root, file.name, file.text)
		switch {
		case errors.Is(err, fs.ErrExist):
			done.Kept = append(done.Kept, file.name)
		case err != nil:
			return done, fmt.Errorf("set up: %w", err)
		default:
			done.Written = append(done.Written, file.name)
		}
	}
	return done, nil
}

// writeNew creates a file. If it cannot write the whole text, it removes the file, because the next
// Write would keep it.
func writeNew(root *os.Root, name, text string) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	return nil
}

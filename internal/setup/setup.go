// Package setup prepares a project for ralph: it looks at what is there, and writes the files of .ralph.
package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/progress"
	"github.com/ralphloop/ralph/internal/project"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/plan"
)

// Survey is what a project has that a set-up can build on.
type Survey struct {
	Workspace  workspace.Workspace
	Configured bool     // it has a configuration
	Agents     []string // the agent CLIs on PATH, in the order in which one is chosen
	Proposals  []project.Proposal
	Tasks      string // the task list that a run without a goal works through, "" if none
	// Prompt is the file that would be the goal of such a run, or LoosePrompt; "" if there is none, or only the one that
	// set-up writes.
	Prompt string
}

// LoosePrompt is a prompt that no run reads by itself, but that many projects have.
const LoosePrompt = "PROMPT.md"

// prompts are the prompt files of a project, in the order of precedence.
var prompts = []string{".ralph/PROMPT.md", ".agent/PROMPT.md", LoosePrompt}

// Look surveys a project. It starts nothing and changes nothing.
func Look(ws workspace.Workspace) Survey {
	survey := Survey{
		Workspace: ws, Proposals: project.Propose(ws.Dir), Configured: firstOf(ws.Dir, config.ProjectFile) != "",
		Tasks:  firstOf(ws.Dir, plan.Places...),
		Prompt: firstOf(ws.Dir, prompts...),
	}
	if text, err := textfile.ReadInside(ws.Dir, survey.Prompt); err == nil && prompt.IsStarter(text) {
		survey.Prompt = ""
	}
	for _, name := range config.AgentCLIs {
		if _, err := process.LookPath(name); err == nil {
			survey.Agents = append(survey.Agents, name)
		}
	}
	return survey
}

// firstOf is the first of the names that something in dir has, "" if nothing does.
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

// Choice is what was chosen of a survey.
type Choice struct {
	Checks []string
	Others []project.Proposal // not chosen: they stand in the file for whoever changes his mind
	Agent  string             // "" leaves it to what is on PATH
}

// Everything chooses every proposed check that could run.
func (s Survey) Everything() Choice {
	var choice Choice
	for _, proposal := range s.Proposals {
		if proposal.Missing == "" {
			choice.Checks = append(choice.Checks, proposal.Command)
		} else {
			choice.Others = append(choice.Others, proposal)
		}
	}
	return choice
}

// Result says what happened to each file.
type Result struct {
	Written []string
	Kept    []string // existed before
}

// Wrote reports whether the configuration is new.
func (s Result) Wrote() bool { return slices.Contains(s.Written, config.ProjectFile) }

const ignoreFile = ".ralph/.gitignore"

// Write writes the files of .ralph that do not exist yet. It changes no other file, except the .gitignore that a run
// left there: git would not show it to anyone else.
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
	if text, err := root.ReadFile(ignoreFile); err == nil && progress.IsIgnoreFile(string(text)) {
		if err := root.Remove(ignoreFile); err != nil {
			return done, fmt.Errorf("set up: %w", err)
		}
	}
	type file struct{ name, text string }
	files := []file{
		{config.ProjectFile, c.configText()},
		{".ralph/config.schema.json", string(config.Schema())},
		{ignoreFile, "# Written by Ralph for people to read; safe to delete.\n/progress.md\n"},
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

// writeNew writes a file that is not there yet. One that could not be written whole is taken away again: it would be kept from then on.
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

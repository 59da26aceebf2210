// Package setup prepares a project for ralph: it looks at what is there, and writes the files of .ralph.
package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/project"
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
	Prompt     string // the file that would be the goal of such a run, or LoosePrompt, "" if none
}

// LoosePrompt is a prompt that no run reads by itself, but that many projects have.
const LoosePrompt = "PROMPT.md"

// Look surveys a project. It starts nothing and changes nothing.
func Look(ws workspace.Workspace) Survey {
	survey := Survey{
		Workspace: ws, Proposals: project.Propose(ws.Dir), Configured: firstOf(ws.Dir, config.ProjectFile) != "",
		Tasks:  firstOf(ws.Dir, plan.Places...),
		Prompt: firstOf(ws.Dir, ".ralph/PROMPT.md", ".agent/PROMPT.md", LoosePrompt),
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

// Result is what became of each file.
type Result struct {
	Written []string
	Kept    []string // they were there before
}

// Wrote reports whether the configuration is the set-up's own.
func (s Result) Wrote() bool { return len(s.Written) > 0 && s.Written[0] == config.ProjectFile }

// Write writes the files of .ralph that are not there yet. It changes none that is, and nothing outside of the workspace.
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
	for _, file := range []struct{ name, text string }{
		{config.ProjectFile, c.configText()},
		{".ralph/config.schema.json", string(config.Schema())},
		{".ralph/.gitignore", "# Written by Ralph for people to read; safe to delete.\n/progress.md\n"},
	} {
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

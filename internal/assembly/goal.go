package assembly

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/ownfiles"
	"github.com/ralphloop/ralph/internal/prompt"
	"github.com/ralphloop/ralph/internal/textfile"
)

// findGoal implements "what it works on": the goal or the spec, else a task list, else a prompt
// file.
func (p *Plan) findGoal() error {
	s := p.Settings
	if p.Request.Goal != nil {
		p.Goal = *p.Request.Goal
		if strings.TrimSpace(p.Goal) == "" {
			return &config.UsageError{Msg: "the goal is empty", Hint: `say what to do: ralph run "make the tests pass"`}
		}
	}
	if s.Spec != "" {
		if err := p.requireText("--spec", s.Spec); err != nil {
			return err
		}
	}
	if s.Spec != "" && p.Goal != "" {
		p.notice("spec_is_the_goal", "the spec replaces the goal: "+s.Spec)
	}
	named := s.Tasks.File != ""
	if named || !p.Resumed && p.Goal == "" && s.Spec == "" {
		if err := p.findTasks(); err != nil {
			return err
		}
	}
	if !p.Resumed && longGoal(p.Request, p.Goal) && ownfiles.HasForeignGoal(p.Workspace.Dir) {
		return &config.UsageError{
			Msg:  "the goal is too long for a prompt, so " + ralph.GoalFile + " must hold it, but you have a file of that name",
			Hint: "move that file away, or pass it with --spec if it is the goal",
		}
	}
	p.PromptFile = s.Prompt.File
	if p.PromptFile != "" {
		return p.requireText("--prompt", p.PromptFile)
	}
	if !p.Resumed { // a newer prompt file may be the agent's
		if err := p.findPrompt(); err != nil {
			return err
		}
	}
	if p.Goal != "" || s.Spec != "" || p.TaskFile != "" {
		return nil
	}
	if text, err := textfile.Read(p.Workspace.Dir, p.PromptFile); err == nil && !prompt.IsStarter(text) {
		p.notice("goal", "the goal is "+p.PromptFile)
		return nil
	}
	return &config.UsageError{
		Msg: "nothing to work on",
		Hint: `pass a goal: ralph run "make the tests pass", or --spec FILE; ` +
			`or start a task list: ralph tasks add "…"; or write the goal into .ralph/PROMPT.md`,
	}
}

// longGoal reports whether the run writes its goal into the workspace, because it is too long for a
// prompt and no file there has it.
func longGoal(r Request, goal string) bool {
	spec, dir := r.Settings.Spec, r.Workspace.Dir
	if spec == "" {
		return prompt.TooLong(goal)
	}
	text, err := textfile.Read(dir, spec)
	inside, _ := textfile.Inside(dir, spec)
	return err == nil && prompt.TooLong(text) && inside == ""
}

// findPrompt looks for the project's own prompt. It comes with the repository, so it may not link
// to a file outside of it.
func (p *Plan) findPrompt() error {
	for _, name := range []string{".ralph/PROMPT.md", ".agent/PROMPT.md"} {
		real, err := filepath.EvalSymlinks(filepath.Join(p.Workspace.Dir, name))
		if err != nil {
			continue
		}
		if inside, err := filepath.Rel(p.Workspace.Dir, real); err != nil || !filepath.IsLocal(inside) {
			return &config.UsageError{
				Msg:  fmt.Sprintf("%s links outside the workspace, to %s", name, real),
				Hint: "if you want that, pass it with --prompt",
			}
		}
		text, err := textfile.Read(p.Workspace.Dir, name)
		if errors.Is(err, textfile.ErrEmpty) {
			continue
		}
		if err != nil {
			return &config.UsageError{Msg: err.Error()}
		}
		if !textfile.IsText(text) {
			return &config.UsageError{Msg: name + " is not text in UTF-8"}
		}
		p.PromptFile = cmp.Or(p.PromptFile, name)
		if prompt.IsStarter(text) { // one that was written for this project comes first
			continue
		}
		p.PromptFile = name
		return nil
	}
	return nil
}

func (r Request) requireText(flag, file string) error {
	text, err := textfile.Read(r.Workspace.Dir, file)
	switch {
	case err == nil && !textfile.IsText(text):
		return &config.UsageError{Msg: fmt.Sprintf("%s %s: the file is not text in UTF-8", flag, file)}
	case err == nil:
		return nil
	case errors.Is(err, textfile.ErrEmpty):
		return &config.UsageError{Msg: fmt.Sprintf("%s %s: the file is empty", flag, file)}
	}
	return &config.UsageError{Msg: fmt.Sprintf("%s %s: cannot read it: %v", flag, file, unwrapPath(err))}
}

// unwrapPath returns the reason of a file error, because the message already names the path.
func unwrapPath(err error) error {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err
	}
	return err
}

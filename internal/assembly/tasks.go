package assembly

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/plan"
)

// TaskList opens the named list, or the first one that the project has. It returns nil if there is
// none. A list that a run cannot work through comes with an error of type plan.Problems and can
// still be shown.
func TaskList(w workspace.Workspace, s config.Settings) (*plan.List, error) {
	name := s.Tasks.File
	if name == "" {
		found, ok, err := plan.Find(w.Dir)
		if err != nil || !ok {
			return nil, err
		}
		name = found
	}
	list, err := plan.Open(w.Dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &config.UsageError{Msg: fmt.Sprintf("the task list %s does not exist", name)}
	}
	return list, err
}

// ExistingTaskList is like TaskList, but it is an error if there is no list.
func ExistingTaskList(w workspace.Workspace, s config.Settings) (*plan.List, error) {
	list, err := TaskList(w, s)
	if list == nil && err == nil {
		begin := `start one with: ralph tasks add "what to do"`
		err = &config.UsageError{Msg: w.Dir + " has no task list", Hint: begin}
	}
	return list, err
}

// Around returns what a list cannot know about the run that will work through it.
func Around(w workspace.Workspace, s config.Settings) plan.LintOptions {
	checks, _ := RunChecks(w, s)
	return lintOptions(checks, s)
}

func lintOptions(checks []string, s config.Settings) plan.LintOptions {
	return plan.LintOptions{
		RunChecks: len(checks) > 0,
		TaskTests: s.Checks.TaskTests != "",
		Unbroken: s.Gate.Proof == string(ralph.ProofUnbroken) || s.Gate.Shown == string(ralph.ShownOff) ||
			s.Evaluator.Enabled(),
	}
}

// TaskCommands returns the tasks' own checks in the list that a run would work through: commands
// that a repository names.
func TaskCommands(w workspace.Workspace, s config.Settings) []config.NamedCommand {
	list, err := TaskList(w, s)
	if err != nil || list == nil { // Prepare reports it
		return nil
	}
	commands := ownChecks(list.Tasks(), list.Path())
	for i, c := range commands {
		commands[i].Line = list.Line(TaskOf(c))
	}
	return commands
}

// TaskPlaces lists the paths where a task list is searched if none is named.
func TaskPlaces() []string { return slices.Clone(plan.Places) }

// checkOf is the prefix of the key of a task's own check. The task's id follows.
const checkOf = "check of task "

// TaskOf returns the task that has the own check.
func TaskOf(ownCheck config.NamedCommand) string { return strings.TrimPrefix(ownCheck.Key, checkOf) }

func ownChecks(tasks []ralph.Task, file string) []config.NamedCommand {
	var commands []config.NamedCommand
	for _, t := range tasks {
		for _, check := range t.Checks {
			commands = append(commands, config.NamedCommand{Key: checkOf + t.ID, Value: check, File: file})
		}
	}
	return commands
}

// KeptTaskCommands returns the tasks' own checks for a resumed run. They come from the run's own
// copy if the file is broken, or if the run was killed before it judged the agent's edits: then the
// file is restored before anything in it counts.
func KeptTaskCommands(w workspace.Workspace, s config.Settings, keep string, state *fold.State) []config.NamedCommand {
	unjudged := state.Stopped == nil &&
		(state.Phase != fold.PhaseNone || state.History.Now.Agent.End == ralph.EndInterrupted)
	if _, err := TaskList(w, s); err == nil && !unjudged {
		return TaskCommands(w, s)
	}
	book, err := plan.OpenTracker(w.Dir, s.Tasks.File, keep, "")
	if err != nil {
		return nil
	}
	return ownChecks(book.List(), book.File())
}

const mostOpenItems = 100

// openItems returns the titles of the open items of a plan, up to a limit. A file without items has none.
func openItems(dir, file string) ([]string, error) {
	switch _, err := textfile.ReadInside(dir, file); {
	case errors.Is(err, textfile.ErrEmpty):
		return nil, nil
	case err != nil:
		return nil, err
	}
	list, err := plan.Open(dir, file)
	if _, bad := errors.AsType[plan.Problems](err); list == nil || err != nil && !bad {
		return nil, err
	}
	var open []string
	for _, t := range list.Tasks() {
		if t.Status != ralph.TaskDone && !t.Human && !t.Optional && len(open) < mostOpenItems {
			open = append(open, t.Title)
		}
	}
	return open, nil
}

// findTasks opens the list that the run works through. It rejects a broken one before a token is
// spent.
func (p *Plan) findTasks() error {
	if p.Resumed { // an agent may have broken the file; the run has its own copy
		p.TaskFile = p.Settings.Tasks.File
		return nil
	}
	list, err := TaskList(p.Workspace, p.Settings)
	if bad, ok := errors.AsType[plan.Problems](err); ok {
		return &config.UsageError{Msg: "the task list has errors (" + lintCommand(p.Settings.Tasks.File) + " shows all):\n" +
			indentLines(bad)}
	}
	if err != nil && !errors.Is(err, ralph.ErrIO) {
		return &config.UsageError{Msg: err.Error()}
	}
	if err != nil || list == nil {
		return err
	}
	p.list, p.TaskFile = list, list.Path()
	p.notice("tasks", fmt.Sprintf("working through %s (%s)%s", list.Path(), list.Format(), p.otherLists()))
	return nil
}

// lintCommand is how the user checks the list of a run; file is "" for the project's own.
func lintCommand(file string) string {
	if file != "" {
		return process.Words([]string{"ralph", "tasks", "lint", "--tasks", file})
	}
	return "ralph tasks lint"
}

// otherLists names the lists that the run ignores, because the user may have meant one of them. A user who named one
// did not.
func (p *Plan) otherLists() string {
	if p.Settings.Tasks.File != "" {
		return ""
	}
	var others []string
	for _, place := range plan.Places {
		if _, err := os.Stat(filepath.Join(p.Workspace.Dir, filepath.FromSlash(place))); err == nil && place != p.TaskFile {
			others = append(others, place)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "; ignoring " + strings.Join(others, ", ") + " (use --tasks to choose)"
}

// lintTasks adds a notice about tasks that are likely to cause trouble.
func (p *Plan) lintTasks() {
	if p.list == nil {
		return
	}
	switch warnings := p.list.Lint(lintOptions(p.Checks, p.Settings)); len(warnings) {
	case 0:
	case 1:
		p.notice("tasks_lint", warnings[0].String())
	default:
		more := text.Count(len(warnings)-1, "more warning")
		p.notice("tasks_lint", fmt.Sprintf("%s (and %s: %s)", warnings[0], more, lintCommand(p.Settings.Tasks.File)))
	}
}

// unprovenTasks returns the tasks that nothing could prove in a run without its own checks, and
// whether a required task has its own checks. Without a list, both are empty.
func unprovenTasks(list *plan.List) (ids []string, anyProven bool) {
	if list == nil {
		return nil, false
	}
	for _, t := range list.Tasks() {
		anyProven = anyProven || t.Blocks() && len(t.Checks) > 0 // an optional task proves nothing
		if t.Blocks() && t.Status != ralph.TaskDone && len(t.Checks) == 0 {
			ids = append(ids, t.ID)
		}
	}
	return ids, anyProven
}

func indentLines(problems plan.Problems) string {
	return "  " + strings.ReplaceAll(problems.Error(), "\n", "\n  ")
}

// AddTask adds a task to the project's list, or creates one in our own format. It returns the
// list's path and the task's id.
func AddTask(w workspace.Workspace, s config.Settings, t ralph.Task) (path, id string, err error) {
	list, err := TaskList(w, s)
	if _, bad := errors.AsType[plan.Problems](err); err != nil && !bad {
		return "", "", err
	}
	if list == nil {
		if list, err = plan.Create(w.Dir, []ralph.Task{t}); err != nil {
			return "", "", err
		}
		return list.Path(), list.Tasks()[0].ID, nil
	}
	id, err = list.Add(t)
	return list.Path(), id, err
}

// ImportTasks copies a list of any format into a new list in our own format. It fails if that
// exists already.
func ImportTasks(w workspace.Workspace, file string) (path string, tasks []ralph.Task, err error) {
	from, err := plan.Open(w.Dir, file)
	if err != nil {
		return "", nil, err
	}
	list, err := plan.Create(w.Dir, from.Tasks())
	if errors.Is(err, fs.ErrExist) {
		return "", nil, &config.UsageError{
			Msg:  plan.OwnPath + " already exists; nothing was imported",
			Hint: "move it away first",
		}
	}
	if err != nil {
		return "", nil, err
	}
	return list.Path(), list.Tasks(), nil
}

// readOnlyList is a list that only the preview of a prompt uses.
type readOnlyList struct{ list *plan.List }

func (l readOnlyList) File() string                              { return l.list.Path() }
func (l readOnlyList) List() []ralph.Task                        { return l.list.Tasks() }
func (readOnlyList) Adopt(map[string]ralph.TaskStatus) error     { return nil }
func (readOnlyList) Inspect() (edits ralph.TaskEdits, err error) { return edits, nil }
func (readOnlyList) Write(map[string]ralph.TaskStatus) error     { return nil }

// EditKeptList lets the user edit the list of a run that was interrupted. It first reverts what the
// run's agent left in the list, and then puts the user's change into the run's own copy. keep is
// the folder of that copy.
func EditKeptList(w workspace.Workspace, state *fold.State, keep string, edit func() error) error {
	book, err := plan.OpenTracker(w.Dir, state.Started.TaskFile, keep, "")
	if err != nil || len(book.List()) == 0 { // without a copy, the agent's edits are unknown
		return edit()
	}
	known := map[string]ralph.TaskStatus{}
	for _, t := range state.History.Tasks {
		known[t.ID] = t.Status
	}
	if err := book.Write(known); err != nil {
		return err
	}
	if err := edit(); err != nil {
		return err
	}
	return book.Adopt(known)
}

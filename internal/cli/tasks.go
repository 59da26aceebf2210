package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/trust"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

// tasksCommand is `ralph tasks` and its subcommands.
type tasksCommand struct {
	*app
	file string // the list, "" for the project's own
}

func newTasksCommand(a *app) *cobra.Command {
	c := &tasksCommand{app: a}
	cmd := &cobra.Command{
		Use:         "tasks",
		Short:       "Show and edit the task list",
		GroupID:     "work",
		Annotations: map[string]string{wordsAreArguments: "yes"},
		Long: `Show and edit the project's task list: the first of .ralph/tasks.json,
.agent/tasks.json, prd.json, IMPLEMENTATION_PLAN.md, .ralph/fix_plan.md and
.taskmaster/tasks/tasks.json, or the one named with --tasks, which may also be a
YAML list of ralphy. Ralph keeps each list's own format.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("ralph tasks %s: choose one of: list, add, done, reopen, import, lint", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return c.list(cmd.Context()) },
	}
	cmd.PersistentFlags().StringVar(&c.file, "tasks", "", "use the task list `FILE`")
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "Show the list", Args: noArguments,
			RunE: func(cmd *cobra.Command, _ []string) error { return c.list(cmd.Context()) }},
		newAddTaskCommand(c),
		&cobra.Command{Use: "done ID...", Short: "Mark tasks done without proof", Annotations: byPeople,
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.mark(cmd.Context(), ralph.TaskDone, args)
			}},
		&cobra.Command{Use: "reopen ID...", Short: "Reopen tasks", Annotations: outside,
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.mark(cmd.Context(), ralph.TaskPending, args)
			}},
		&cobra.Command{
			Use:         "import FILE",
			Short:       "Import a list of any known format into .ralph/tasks.json",
			Args:        exactlyOne("needs the file to import"),
			Annotations: outside,
			RunE:        func(cmd *cobra.Command, args []string) error { return c.importFile(cmd.Context(), args[0]) },
		},
		&cobra.Command{Use: "lint [FILE]", Short: "Check the list for problems", Args: atMostOne,
			RunE: func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					c.file = args[0]
				}
				return c.lint(cmd.Context())
			}},
	)
	return cmd
}

// listSettings returns the workspace and its settings. A file that is not empty replaces the
// configured task list.
func (c *tasksCommand) listSettings(ctx context.Context, file string) (workspace.Workspace, config.Settings, error) {
	workspace, loaded, err := c.settings(ctx, map[string][]string{})
	if err != nil {
		return workspace, config.Settings{}, err
	}
	if file != "" {
		loaded.Settings.Tasks.File = c.fromHere(workspace, map[string][]string{"tasks": {file}})["tasks"][0]
	}
	return workspace, loaded.Settings, nil
}

// settingsForEdit is listSettings for a change of the list. It refuses while an agent is running.
func (c *tasksCommand) settingsForEdit(ctx context.Context, file string) (workspace.Workspace, config.Settings, error) {
	workspace, settings, err := c.listSettings(ctx, file)
	if err == nil {
		err = c.mayEdit(workspace)
	}
	return workspace, settings, err
}

func (c *tasksCommand) list(ctx context.Context) error {
	workspace, settings, err := c.listSettings(ctx, c.file)
	if err != nil {
		return err
	}
	list, err := assembly.ExistingTaskList(workspace, settings)
	if err != nil {
		return asUsage(err)
	}
	left := c.forPerson(workspace, list.Path(), list.Tasks())
	err = c.table(taskFile{Version: 1, Tasks: list.Tasks()}, func(out io.Writer) {
		fmt.Fprintf(c.streams.Err, "%s (%s)\n", list.Path(), list.Format())
		for _, t := range list.Tasks() {
			if slices.Contains(left.unconfirmed, t.ID) {
				t.Status = ralph.TaskUnconfirmed
			}
			status := t.Status.Word()
			if slices.ContainsFunc(left.questions, func(asked fold.Question) bool { return asked.Task == t.ID }) {
				status += ", waits"
			}
			fmt.Fprintf(out, "%s\t%s\t%s%s\n", t.ID, status, term.Clean(t.Title), taskMarks(t))
		}
	})
	if err != nil || c.wantsJSON() {
		return err
	}
	if left.next != "" {
		fmt.Fprintf(c.errLines(), "unconfirmed: %s\n", left.next)
	}
	for _, asked := range left.questions {
		fmt.Fprintf(c.errLines(), "%s waits for an answer: %s  (%s)\n",
			asked.Task, term.Clean(asked.Text), term.AnswerCommand(asked))
	}
	return nil
}

func taskMarks(t ralph.Task) string {
	var marks []string
	if t.Optional {
		marks = append(marks, "optional")
	}
	if t.Human {
		marks = append(marks, "human")
	}
	if t.Priority != nil {
		marks = append(marks, "priority "+strconv.Itoa(*t.Priority))
	}
	if len(t.DependsOn) > 0 {
		marks = append(marks, "after "+strings.Join(t.DependsOn, ", "))
	}
	if n := len(t.Checks); n > 0 {
		marks = append(marks, fmt.Sprintf("own checks: %d", n))
	}
	if t.Proof != "" {
		marks = append(marks, "proof: "+string(t.Proof))
	}
	if len(marks) == 0 {
		return ""
	}
	return " (" + strings.Join(marks, "; ") + ")"
}

// proofRules are what a task may ask for; "" asks for what the run asks for.
var proofRules = []string{"", string(ralph.ProofShown), string(ralph.ProofUnbroken)}

func newAddTaskCommand(c *tasksCommand) *cobra.Command {
	var t ralph.Task
	var priority, proof string
	cmd := &cobra.Command{
		Use:         "add TITLE",
		Short:       "Add a task",
		Annotations: outside,
		Args:        exactlyOne(`needs a title in quotes: ralph tasks add "what to do"`),
		Example: `  ralph tasks add "the parser keeps comments"` +
			` --accept "a comment survives a round trip" --check "go test ./parser"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t.Title = strings.TrimSpace(args[0])
			if priority != "" {
				n, err := strconv.Atoi(priority)
				if err != nil || n < 0 {
					return usage("--priority %s: choose a whole number; 1 comes before 2", priority)
				}
				t.Priority = &n
			}
			if t.Proof = ralph.ProofRule(proof); !slices.Contains(proofRules, proof) {
				return usage("--proof %s: choose one of: %s", proof, strings.Join(proofRules[1:], ", "))
			}
			return c.add(cmd.Context(), t)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&t.ID, "id", "", "the task's `ID` (default: the next number)")
	flags.StringVar(&t.Description, "description", "", "description: `TEXT`")
	flags.StringArrayVar(&t.Acceptance, "accept", nil, "acceptance criterion: `TEXT`")
	flags.StringArrayVar(&t.DependsOn, "after", nil, "work on task `ID` first")
	flags.StringArrayVar(&t.Checks, "check", nil, "check for this task: `CMD`")
	flags.StringVar(&priority, "priority", "", "priority `N`; lowest first")
	flags.StringVar(&proof, "proof", "",
		"`WORD`: shown, or unbroken if checks that pass before and after are enough (default: as the run)")
	flags.BoolVar(&t.Optional, "optional", false, "the run can complete without it")
	flags.BoolVar(&t.Human, "human", false, "for a person; the run does not wait for it")
	return cmd
}

func (c *tasksCommand) add(ctx context.Context, t ralph.Task) error {
	if t.Title == "" {
		return usage("the title is empty")
	}
	t.Status = ralph.TaskPending
	workspace, settings, err := c.settingsForEdit(ctx, c.file)
	if err != nil {
		return err
	}
	var path, id string
	err = c.editWithTrust(workspace, settings, func() error {
		return c.editList(workspace, func() (err error) {
			path, id, err = assembly.AddTask(workspace, settings, t)
			return err
		})
	})
	if err != nil {
		return asUsage(err)
	}
	return c.print(map[string]string{"id": id, "file": path}, "added %s to %s\n", id, path)
}

// editWithTrust changes the task list. The user typed the new commands, so Ralph trusts them,
// unless an agent did, or the list had commands that were not trusted.
func (c *tasksCommand) editWithTrust(workspace workspace.Workspace, settings config.Settings, edit func() error) error {
	store, id := trust.In(c.streams.Env.StateDir), runlog.WorkspaceID(workspace.Dir)
	before := assembly.TaskCommands(workspace, settings)
	agreed := !agentCalls(c.app, workspace)
	if agreed && len(before) > 0 {
		var err error
		if agreed, err = store.Trusted(id, trust.Digest(before)); err != nil {
			return err
		}
	}
	if err := edit(); err != nil || !agreed {
		return err
	}
	if now := assembly.TaskCommands(workspace, settings); len(now) > 0 {
		return store.Grant(id, trust.Tasks, trust.Digest(now), time.Now())
	}
	return nil
}

func (c *tasksCommand) mark(ctx context.Context, status ralph.TaskStatus, ids []string) error {
	if len(ids) == 0 {
		return usage("name the tasks; list them with ralph tasks list")
	}
	workspace, settings, err := c.settingsForEdit(ctx, c.file)
	if err != nil {
		return err
	}
	states := map[string]ralph.TaskStatus{}
	for _, id := range ids {
		states[id] = status
	}
	path, tasks := "", []ralph.Task{}
	err = c.editList(workspace, func() error {
		list, err := assembly.ExistingTaskList(workspace, settings)
		if err == nil {
			err = list.Set(states)
		}
		if err != nil {
			return err
		}
		path, tasks = list.Path(), list.Tasks()
		return nil
	})
	if err != nil {
		return asUsage(err)
	}
	return c.print(taskFile{Version: 1, Tasks: tasks}, "%s: %s in %s\n", strings.Join(ids, ", "), status, path)
}

// editList lets the user change the list. If the newest run was interrupted while its agent was
// running, Ralph first restores the recorded status of the tasks. It then updates the run's own
// copy of the list: otherwise a resume would blame the agent for the user's change.
func (a *app) editList(workspace workspace.Workspace, edit func() error) error {
	store, err := a.storeOf(workspace)
	if err != nil {
		return err
	}
	runs, err := store.Runs()
	if err != nil {
		return err
	}
	if len(runs) == 0 || runs[0].Reason != "" || runs[0].Live || runs[0].Broken != "" {
		return edit()
	}
	state, err := stateOf(store, runs[0].Run)
	if err != nil {
		return err
	}
	if state.Started.TaskFile == "" || state.Started.Worktree != nil || state.Phase == fold.PhaseNone {
		return edit()
	}
	return assembly.EditKeptList(workspace, state, filepath.Join(store.RunDir(runs[0].Run), "tasks"), edit)
}

// mayEdit refuses while an agent is running in the workspace: Ralph would blame the agent for a
// change of the list or the learnings. A paused run accepts the change.
func (a *app) mayEdit(workspace workspace.Workspace) error {
	store, err := a.storeOf(workspace)
	if err != nil {
		return err
	}
	owner, live := store.Holder()
	if !live {
		return nil
	}
	state, err := stateOf(store, owner.Run)
	if err == nil && (state.LiveStatus() == ralph.StatusPaused || state.Started.Worktree != nil) {
		return nil
	}
	locked := &runlog.Locked{Path: store.Dir(), Owner: owner}
	return fmt.Errorf("%w; to change it now, use ralph pause, then ralph resume", locked)
}

func (c *tasksCommand) importFile(ctx context.Context, file string) error {
	workspace, settings, err := c.settingsForEdit(ctx, file)
	if err != nil {
		return err
	}
	path, tasks, err := assembly.ImportTasks(workspace, settings.Tasks.File)
	if err != nil {
		return asUsage(err)
	}
	return c.print(taskFile{Version: 1, Tasks: tasks}, "imported %d tasks from %s into %s\n",
		len(tasks), filepath.ToSlash(file), path)
}

// problem is one finding of `ralph tasks lint --json`.
type problem struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Task  string `json:"task,omitempty"`
	Level string `json:"level"` // error, warning
	Text  string `json:"text"`
}

func (c *tasksCommand) lint(ctx context.Context) error {
	workspace, settings, err := c.listSettings(ctx, c.file)
	if err != nil {
		return err
	}
	list, err := assembly.ExistingTaskList(workspace, settings)
	if list == nil {
		return asUsage(err)
	}
	problems, bad := []problem{}, 0
	for _, p := range list.Lint(assembly.Around(workspace, settings)) {
		level := "error"
		if p.Warning {
			level = "warning"
		} else {
			bad++
		}
		problems = append(problems, problem{p.File, p.Line, p.Task, level, p.Text})
	}
	err = c.show(problems, func(out io.Writer) {
		for _, p := range problems {
			fmt.Fprintf(out, "%s:%d: %s: %s\n", p.File, p.Line, p.Level, term.Clean(p.Text))
		}
		if len(problems) == 0 {
			fmt.Fprintf(out, "%s: no problems found\n", list.Path())
		}
	})
	if err == nil && bad > 0 {
		return exitStatus(ralph.ExitUsage)
	}
	return err
}

// asUsage turns a problem with a list, or with the requested change, into a usage error. It does
// not change I/O errors.
func asUsage(err error) error {
	if err == nil || errors.Is(err, ralph.ErrIO) || is[*config.UsageError](err) {
		return err
	}
	return usage("%v", err)
}

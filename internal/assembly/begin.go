package assembly

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/hooks"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/evaluate"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/signals"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/plan"
	"github.com/ralphloop/ralph/verify"
)

// Places has the folders and files that a run keeps outside of its workspace.
type Places struct {
	Tasks     string           // the run's copies of the task list
	Snapshots string           // git folder for snapshots
	Run       string           // the run's folder
	Views     string           // files of open views
	Proofs    string           // results of checks at the base
	Around    string           // original files from outside the workspace
	Before    pristine.Earlier // those of the last run, if it did not prove its work
	Given     string           // tests that an author wrote before any work
	Earlier   string           // Proofs of the last run in the workspace, if it did not prove its work; otherwise ""
	Rows      string           // results of checks for the next run; "" keeps none, and uses none
	LastRows  string           // those of the last run in the workspace; "" if there are none
	RowsSum   string           // digest of LastRows, from the log of that run
}

// lacksGit reports whether the workspace is a repository, and only git is missing.
func (r Request) lacksGit() bool {
	_, repository := os.Lstat(filepath.Join(r.Workspace.Dir, ".git"))
	_, program := process.LookPath("git")
	return repository == nil && program != nil
}

// checkRepository rejects, before an agent starts, a repository in which the first commit would
// fail. It adds notices about lesser problems.
func (p *Plan) checkRepository(ctx context.Context) error {
	commits := p.Settings.CommitRule() != ralph.CommitOff
	if !commits && p.Settings.Worktree == "" {
		return nil
	}
	if p.Workspace.Repo == nil && p.lacksGit() {
		return &Missing{Program: "git", Hint: "--worktree and --commit need it"}
	}
	if p.Workspace.Repo == nil {
		return &config.UsageError{
			Msg:  "--worktree and --commit need a git repository",
			Hint: "run git init and make a first commit",
		}
	}
	switch {
	case p.Resumed && commits:
		return workspace.Refusal(p.Workspace.Repo.Unlocked(ctx))
	case p.Resumed:
		return nil
	}
	problems, err := p.Workspace.Repo.Ready(ctx, gitrepo.Needs{
		Commit: commits, Worktree: p.Settings.Worktree != "", IncludeDirty: p.Settings.IncludeDirty,
	})
	if err != nil {
		return fmt.Errorf("look at the repository: %w", err)
	}
	for _, problem := range problems {
		dirty := problem.Kind == gitrepo.ProblemDirty
		switch {
		case problem.Stops && dirty && p.TaskFile != "" && strings.Contains(problem.Text, p.TaskFile):
			return &config.UsageError{
				Msg:  problem.Text,
				Hint: "commit the list first, or let the run commit it with --include-dirty",
			}
		case problem.Stops:
			return &config.UsageError{Msg: problem.Text, Hint: problem.Hint}
		case p.Settings.Worktree != "": // EnterWorktree reports it
		case dirty:
			p.notice("git_dirty", problem.Text+"; the first commit will include them")
		default:
			p.notice("git_"+string(problem.Kind), problem.Error())
		}
	}
	return nil
}

// EnterWorktree moves a new run into its own worktree below folder, if the settings ask for one.
// Its branch is named after the run, or as the user chose.
func (p *Plan) EnterWorktree(ctx context.Context, folder, run string) error {
	if p.Settings.Worktree == "" {
		return nil
	}
	name := p.Settings.Worktree
	if name == "true" {
		name = run
	}
	home := p.Workspace.Repo
	made, said, err := home.Worktrees().Add(ctx, gitrepo.WorktreeInput{
		Path:   filepath.Join(folder, strings.ReplaceAll(name, "/", "-")),
		Branch: "ralph/" + name,
		// The caller holds the lock of the workspace, so no other run uses a worktree in folder.
		Idle: func(path string) bool { return workspace.LiesIn(folder, path) },
	})
	if err != nil {
		return workspace.Refusal(err)
	}
	for _, text := range said {
		p.notice("worktree", text)
	}
	if err := p.requireFiles(made.Dir()); err != nil {
		return errors.Join(err, home.Worktrees().Remove(ctx, made, gitrepo.RemoveMerged))
	}
	p.Request.Worktree = &ralph.Worktree{Path: made.Path, Branch: made.Branch, Base: made.Base}
	p.Workspace, err = workspace.At(ctx, made.Dir(), p.Env)
	return err
}

// requireFiles rejects a worktree without the files that the run works on: they are not committed.
func (p *Plan) requireFiles(dir string) error {
	for _, name := range []string{p.Settings.Spec, p.PromptFile, p.TaskFile} {
		if name == "" || !filepath.IsLocal(name) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return &config.UsageError{
				Msg:  name + " is not committed, so a worktree would not have it",
				Hint: "commit it first, or run in place",
			}
		}
	}
	return nil
}

// Loop creates the loop for the run with that id. The caller adds the recorder and the views.
func (p *Plan) Loop(ctx context.Context, run string, places Places, options ...loop.Option) (*loop.Loop, error) {
	settings, err := json.Marshal(p.Settings)
	if err != nil {
		return nil, fmt.Errorf("record settings: %w", err)
	}
	p.run = run
	if err := p.Walls.open(ctx, p); err != nil {
		return nil, err
	}
	inside := []string{config.InsideRunVariable + "=" + run}
	for i := range p.agents {
		p.agents[i].options.Env = append(p.agents[i].options.Env, inside...)
	}
	for _, other := range []*chosenAgent{p.evaluator, p.author} {
		if other != nil {
			other.options.Env = append(other.options.Env, inside...)
		}
	}
	about := ralph.RunStarted{
		Ralph: p.Version, Profile: p.Settings.Profile, Demo: p.Demo, Settings: settings, PID: os.Getpid(), Marker: run,
		InSession: p.Session != "", Sandbox: sandboxName(p),
	}
	shell := p.shell(inside...)
	wall, err := p.Walls.aroundChecks(ctx, p, places)
	if err != nil {
		return nil, err
	}
	shell.Wall, shell.WallFailed, shell.Hides, shell.Keeps = wall.enter, wall.failed, wall.hides, wall.keeps
	all := []loop.Option{loop.WithPolicy(p.Policy), loop.WithChecker(shell), loop.WithRun(run, about)}
	if p.Request.Worktree != nil {
		all = append(all, loop.WithWorktree(*p.Request.Worktree))
	}
	tree, err := p.keptTree(ctx, places)
	if err != nil {
		return nil, err
	}
	parts, err := p.keepers(ctx, places, tree)
	if err != nil {
		return nil, err
	}
	all = append(all, parts...)
	proof, err := p.proof(places, tree, shell)
	if err != nil {
		return nil, err
	}
	all = append(all, proof...)
	if len(p.Settings.Hooks.Commands()) > 0 {
		all = append(all, loop.WithHooks(p.hookSet()))
	}
	all = append(all, toolOptions(p.Request, run)...)
	for _, n := range p.Notices {
		all = append(all, loop.WithNotice(n))
	}
	return loop.New(p.loopConfig(), append(all, options...)...)
}

// toolOptions returns the option that lets agents signal with tools.
func toolOptions(r Request, run string) []loop.Option {
	if r.Settings.Agent.MCP == "off" || r.Self == "" || r.Demo {
		return nil
	}
	return []loop.Option{loop.WithTools(signals.Server{Run: run})}
}

func (p *Plan) loopConfig() loop.Config {
	first := p.agents[0]
	var fallbacks []loop.Fallback
	var escalation *loop.Fallback
	for _, c := range p.agents[1:] {
		further := loop.Fallback{Name: c.name, Model: c.model, Agent: p.guard(c)}
		if c.escalation {
			escalation = &further
		} else {
			fallbacks = append(fallbacks, further)
		}
	}
	var works ralph.Agent
	if p.Session == "" { // Ralph does not start the agent of a live session
		works = p.guard(first)
	}
	return loop.Config{
		Task:       p.Goal,
		SpecFile:   p.Settings.Spec,
		PromptFile: p.PromptFile,
		Agent:      works,
		AgentName:  first.name,
		Model:      p.Settings.Agent.Model,
		Fallbacks:  fallbacks,
		Escalation: escalation,
		Checks:     p.Checks,
		Hidden:     p.Settings.Checks.Hidden,
		Dir:        p.Workspace.Dir,
		WhoCommits: p.Settings.Committer(),
		Mask:       p.Mask.String,
		Agreed:     p.agreed(),
	}
}

// agreed returns a function that reports whether the user agreed to a task's own check. nil allows
// all of them.
func (r Request) agreed() func(string) bool {
	if r.Trusting {
		return nil
	}
	known := map[string]bool{}
	for _, c := range r.Agreed {
		known[c.Value] = true
	}
	return func(check string) bool { return known[check] }
}

// keptTree returns the workspace's tree, with snapshots. Without the snapshot of a run's base, changes
// to protected files would go unnoticed. So if git cannot keep it, it is kept without git, and if
// that fails as well, the run does not start.
func (p *Plan) keptTree(ctx context.Context, places Places) (ralph.Tree, error) {
	if places.Snapshots == "" {
		return p.Workspace.Tree, nil
	}
	// git may ignore a list that an agent leaves for the next run
	tree, err := p.Workspace.Keep(ctx, places.Snapshots, append(p.Literal(), plan.Places...))
	if err == nil {
		err = p.keepsBase(ctx, tree)
	}
	if err == nil {
		return tree, nil
	}
	if errors.Is(err, gitrepo.ErrInside) {
		return nil, &config.UsageError{
			Msg:  "the workspace " + p.Workspace.Dir + " contains Ralph's state folder " + p.Env.StateDir,
			Hint: "set RALPH_STATE_DIR to a folder outside of it, or work in another folder",
		}
	}
	if p.Workspace.Repo != nil && ctx.Err() == nil {
		plain, failed := p.Workspace.KeepPlain(places.Snapshots)
		if failed == nil {
			failed = p.keepsBase(ctx, plain)
		}
		if failed == nil {
			p.notice("plain_snapshots", fmt.Sprintf("snapshots are kept without git, so ralph restore and ralph diff "+
				"cannot use them: %v", err))
			return plain, nil
		}
	}
	return nil, fmt.Errorf("%w: no snapshot of the workspace can be kept: %w; repair or free %s, or move it away",
		ralph.ErrIO, err, filepath.Dir(places.Snapshots))
}

// keepsBase reports an error unless the base of the run is among the snapshots. A new run takes a
// snapshot, which is its base.
func (p *Plan) keepsBase(ctx context.Context, tree ralph.Tree) error {
	if p.Resumed {
		if p.Base == "" {
			return nil // nothing can be proven in this run
		}
		_, err := tree.(ralph.Snapshots).Files(ctx, p.Base)
		return err
	}
	state, err := tree.Fingerprint(ctx, ralph.TreeInput{Run: p.run})
	if err == nil && state.Snapshot == "" {
		err = errors.New(strings.Join(state.Omitted, "; "))
	}
	return err
}

// proof returns the options that examine the work where the agent cannot reach it.
func (p *Plan) proof(places Places, tree ralph.Tree, shell verify.Shell) ([]loop.Option, error) {
	copies, _ := tree.(ralph.Snapshots)
	examiner, err := p.examiner(places, copies, shell)
	if err != nil {
		return nil, err
	}
	var options []loop.Option
	if examiner != nil {
		watcher, err := p.watch(examiner, places)
		if err != nil {
			return nil, err
		}
		if examiner.Rows, err = openRows(p, places, watcher); err != nil {
			return nil, err
		}
		options = append(options, loop.WithExaminer(watcher))
		if p.author != nil {
			author := testAuthor{plan: p, chosen: *p.author, examiner: examiner}
			options = append(options, loop.WithTestAuthor(p.author.name, author))
		}
	}
	if p.evaluator != nil {
		ledger := evaluate.NewLedger(places.Run, p.Mask)
		evaluator := isolatedEvaluator{plan: p, chosen: *p.evaluator, examiner: examiner, ledger: ledger}
		options = append(options, loop.WithEvaluator(p.evaluator.name, evaluator))
	}
	return options, nil
}

// keepers returns the options for the tree, the task list and the commits.
func (p *Plan) keepers(ctx context.Context, places Places, tree ralph.Tree) ([]loop.Option, error) {
	options := []loop.Option{loop.WithTree(tree)}
	if p.TaskFile != "" {
		book, err := plan.OpenTracker(p.Workspace.Dir, p.TaskFile, places.Tasks, p.Settings.Checks.TaskTests)
		if err == nil && !p.Resumed {
			err = book.Adopt(nil)
		}
		if err != nil {
			return nil, fmt.Errorf("open task list: %w", err)
		}
		options = append(options, loop.WithTasks(book))
	}
	if file := p.Settings.Tasks.Plan; file != "" {
		options = append(options, loop.WithPlan(file, openItems))
	}
	if when := p.Settings.CommitRule(); when != ralph.CommitOff {
		committer, err := p.Workspace.Repo.Committer(ctx, gitrepo.CommitOptions{})
		if err != nil {
			return nil, err
		}
		options = append(options, loop.WithCommits(committer, when, commitMessage(p.Settings.CommitMessage)))
	}
	return options, nil
}

// hookSet returns the hooks in the settings. They get the environment of checks, because they may
// run code that an agent wrote, and the agent reads their output. So they get no API keys of
// models, and programs that an agent puts into the workspace do not shadow those on PATH.
func (p *Plan) hookSet() *hooks.Set {
	h, timeout := p.Settings.Hooks, p.Settings.Hooks.Timeout.Duration()
	if timeout == 0 { // no limit
		timeout = -1
	}
	env := append(verify.WithoutWorkspace(p.checkEnv(), p.Workspace.Dir), config.InsideRunVariable+"="+p.run)
	return &hooks.Set{
		PreTool: hooks.Hooks[hooks.ToolCall]{Commands: h.PreTool}, PostEdit: hooks.Hooks[hooks.Edit]{Commands: h.PostEdit},
		PreIteration:  hooks.Hooks[ralph.IterationAhead]{Commands: h.PreIteration},
		PostIteration: hooks.Hooks[ralph.IterationJudged]{Commands: h.PostIteration},
		OnStop:        hooks.Hooks[ralph.RunEnd]{Commands: h.OnStop},
		Env:           env, Mask: p.Mask, Home: p.Env.Home, Marker: p.run, Timeout: timeout, Strict: p.Settings.Worker.Strict,
	}
}

// warnUnusedHooks warns about hooks that never run, and about strict mode: only the built-in worker
// asks about its tool calls.
func warnUnusedHooks(p *Plan) {
	h := p.Settings.Hooks
	var clis []string
	for _, c := range p.agents {
		if c.by == nil {
			clis = append(clis, c.name)
		}
	}
	if len(h.PreTool)+len(h.PostEdit) > 0 && len(clis) > 0 {
		p.notice("hooks_unused", "hooks.pre_tool and hooks.post_edit work only with the built-in worker; "+
			"no effect with "+strings.Join(clis, ", "))
	}
	if p.Settings.Worker.Strict && len(clis) > 0 {
		p.notice("strict_unused", "--strict works only with the built-in worker; no effect with "+strings.Join(clis, ", "))
	}
}

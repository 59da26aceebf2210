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
	"github.com/ralphloop/ralph/internal/proof/evaluate"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/plan"
	"github.com/ralphloop/ralph/verify"
)

// Places is where a run keeps what must not lie in its workspace.
type Places struct {
	Tasks     string // copies of the task list's files
	Snapshots string // the harness-owned git folder
	Run       string // the run's folder
	Views     string // what views of the workspace need while they are open
	Journal   string // what a view in place has to put back
	Proofs    string // what is known of checks at the base
	Around    string // files around the workspace as they were
}

// checkRepository refuses, before an agent starts, what would end a run at its first commit, and says aloud what should be known.
func (p *Plan) checkRepository(ctx context.Context) error {
	commits := p.Settings.CommitRule() != ralph.CommitOff
	if !commits && p.Settings.Worktree == "" {
		return nil
	}
	if p.Workspace.Repo == nil {
		return &config.UsageError{
			Msg:  "--worktree and --commit need a git repository",
			Hint: "run git init and make a first commit",
		}
	}
	if p.Resumed {
		return nil
	}
	problems, err := p.Workspace.Repo.Ready(ctx, gitrepo.Needs{
		Commit: commits, Worktree: p.Settings.Worktree != "", IncludeDirty: p.Settings.IncludeDirty,
	})
	if err != nil {
		return fmt.Errorf("look at the repository: %w", err)
	}
	for _, problem := range problems {
		switch {
		case problem.Stops && problem.Kind == gitrepo.ProblemDirty && p.TaskFile != "" && strings.Contains(problem.Text, p.TaskFile):
			return &config.UsageError{
				Msg:  problem.Text,
				Hint: "commit the list first, or let the run commit it with --include-dirty",
			}
		case problem.Stops:
			return &config.UsageError{Msg: problem.Text, Hint: problem.Hint}
		case p.Settings.Worktree != "": // making one says it
		case problem.Kind == gitrepo.ProblemDirty:
			p.notice("git_dirty", problem.Text+"; the first commit will include them")
		default:
			p.notice("git_"+string(problem.Kind), problem.Error())
		}
	}
	return nil
}

// EnterWorktree moves a new run into a worktree of its own below folder, where the settings ask for one. Its branch is named after the run, or as
// the user wants.
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
		Idle:   func(path string) bool { return workspace.LiesIn(folder, path) }, // whoever gets here holds the workspace's lock
	})
	if err != nil {
		return workspace.Refusal(err)
	}
	for _, text := range said {
		p.notice("worktree", text)
	}
	if err := p.mustBeIn(made.Dir()); err != nil {
		return errors.Join(err, home.Worktrees().Remove(ctx, made, gitrepo.RemoveMerged))
	}
	p.Request.Worktree = &ralph.Worktree{Path: made.Path, Branch: made.Branch, Base: made.Base}
	p.Workspace, err = workspace.At(ctx, made.Dir(), p.Env)
	return err
}

// mustBeIn refuses a worktree without the files that the run works on: they are not committed.
func (p *Plan) mustBeIn(dir string) error {
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

// Loop makes the loop for the run of that id. Whoever calls it brings the recorder and the views.
func (p *Plan) Loop(ctx context.Context, run string, places Places, options ...loop.Option) (*loop.Loop, error) {
	settings, err := json.Marshal(p.Settings)
	if err != nil {
		return nil, fmt.Errorf("record settings: %w", err)
	}
	p.run = run
	inside := []string{config.InsideRunVariable + "=" + run}
	for i := range p.agents {
		p.agents[i].options.Env = append(p.agents[i].options.Env, inside...)
	}
	if p.evaluator != nil {
		p.evaluator.options.Env = append(p.evaluator.options.Env, inside...)
	}
	checkEnv := append(p.checkEnv(), inside...)
	about := ralph.RunStarted{
		Ralph: p.Version, Profile: p.Settings.Profile, Demo: p.Demo, Settings: settings, PID: os.Getpid(), Marker: run,
	}
	shell := verify.Shell{Env: checkEnv}
	all := []loop.Option{loop.WithPolicy(p.Policy), loop.WithChecker(shell), loop.WithRun(run, about)}
	if p.Request.Worktree != nil {
		all = append(all, loop.WithWorktree(*p.Request.Worktree))
	}
	tree := p.keptTree(ctx, places)
	parts, err := p.keepers(ctx, places, tree)
	if err != nil {
		return nil, err
	}
	all = append(all, parts...)
	proof, err := p.proof(ctx, places, tree, shell)
	if err != nil {
		return nil, err
	}
	all = append(all, proof...)
	if len(p.Settings.Hooks.Commands()) > 0 {
		all = append(all, loop.WithHooks(p.hookSet()))
	}
	for _, n := range p.Notices {
		all = append(all, loop.WithNotice(n))
	}
	return loop.New(p.loopConfig(), append(all, options...)...)
}

func (p *Plan) loopConfig() loop.Config {
	first := p.agents[0]
	fallbacks := text.Mapped(p.agents[1:], func(c chosenAgent) loop.Fallback {
		return loop.Fallback{Name: c.name, Model: c.model, Agent: p.guard(c)}
	})
	return loop.Config{
		Task:       p.Goal,
		SpecFile:   p.Settings.Spec,
		PromptFile: p.PromptFile,
		Agent:      p.guard(first),
		AgentName:  first.name,
		Model:      p.Settings.Agent.Model,
		Fallbacks:  fallbacks,
		Checks:     p.Checks,
		Hidden:     p.Settings.Checks.Hidden,
		Dir:        p.Workspace.Dir,
		WhoCommits: p.Settings.Committer(),
		Agreed:     p.agreed(),
	}
}

// agreed tells which own checks of tasks the user has agreed to; nil is all of them.
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

// keptTree is the workspace's tree, with copies if they can be kept.
func (p *Plan) keptTree(ctx context.Context, places Places) ralph.Tree {
	if places.Snapshots == "" {
		return p.Workspace.Tree
	}
	tree, err := p.Workspace.Keep(ctx, places.Snapshots, p.literal())
	if err != nil {
		p.notice("no_snapshots", fmt.Sprintf("snapshots are off, so changes to protected files go unnoticed: %v", err))
		return p.Workspace.Tree
	}
	return tree
}

// proof are the parts of a loop that look at the work where the agent cannot reach it.
func (p *Plan) proof(ctx context.Context, places Places, tree ralph.Tree, shell verify.Shell) ([]loop.Option, error) {
	copies, _ := tree.(ralph.Snapshots)
	examiner, err := p.examiner(ctx, places, copies, shell)
	if err != nil {
		return nil, err
	}
	var options []loop.Option
	if examiner != nil {
		watcher, err := p.watch(examiner, places)
		if err != nil {
			return nil, err
		}
		options = append(options, loop.WithExaminer(watcher))
	}
	if p.evaluator != nil {
		opinion := secondOpinion{plan: p, chosen: *p.evaluator, examiner: examiner, ledger: evaluate.NewLedger(places.Run)}
		options = append(options, loop.WithEvaluator(p.evaluator.name, opinion))
	}
	return options, nil
}

// keepers are the parts of a loop that look after the tree, the list and the commits.
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
	if when := p.Settings.CommitRule(); when != ralph.CommitOff {
		committer, err := p.Workspace.Repo.Committer(ctx, gitrepo.CommitOptions{})
		if err != nil {
			return nil, err
		}
		options = append(options, loop.WithCommits(committer, when, commitMessage(p.Settings.CommitMessage)))
	}
	return options, nil
}

// hookSet is the hooks that the settings name. They have the environment of checks, since they may run what an agent wrote, and what they say goes back
// to it: no key of a model, and programs that an agent leaves in the workspace do not come before those on PATH.
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
		Env:           env, Home: p.Env.Home, Marker: p.run, Timeout: timeout,
	}
}

// sayWhatHooksCannot tells of hooks that nobody will ask: a CLI makes its tool calls without asking here.
func (p *Plan) sayWhatHooksCannot() {
	h := p.Settings.Hooks
	var deaf []string
	for _, c := range p.agents {
		if c.by == nil {
			deaf = append(deaf, c.name)
		}
	}
	if len(h.PreTool)+len(h.PostEdit) > 0 && len(deaf) > 0 {
		p.notice(
			"hooks_unused",
			"hooks.pre_tool and hooks.post_edit work only with the built-in worker; no effect with "+strings.Join(deaf, ", "),
		)
	}
}

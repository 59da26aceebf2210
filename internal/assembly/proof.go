package assembly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/models"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/evaluate"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/proof/protect"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/internal/textfile"
	"github.com/ralphloop/ralph/plan"
	"github.com/ralphloop/ralph/sandbox"
	"github.com/ralphloop/ralph/verify"
)

// ownFiles are Ralph's files in a project: its configuration and the files that go into the prompt.
var ownFiles = []string{config.ProjectFile, ".ralph/PROMPT.md", ".agent/PROMPT.md", ralph.LearningsFile}

// exemptFiles are never protected: there, an agent's edit is only a claim.
var exemptFiles = append([]string{".ralph/STEERING.md", ".agent/STEERING.md"}, plan.Places...)

// prepareProof finds out what is protected and whether everything that a proof needs is there.
func (p *Plan) prepareProof() error {
	s := p.Settings
	if len(p.Protected) == 0 { // a resumed run protects what it began with, even if its agent changed it
		p.Protected = p.toProtect()
	}
	rules, err := p.rules()
	if err != nil {
		return &config.UsageError{
			Msg:  "--protect: " + err.Error(),
			Hint: "use .gitignore patterns, such as tests/**; tests = test files and test configuration",
		}
	}
	p.Policy.Protects = p.Protected
	p.protect = rules
	if err := p.checkHidden(); err != nil {
		return err
	}
	if s.Checks.Network == "off" && s.Checks.Isolation != "auto" && s.Checks.Isolation != string(pristine.Overlay) {
		return &config.UsageError{Msg: "checks.network: off needs an overlay, but checks.isolation is " + s.Checks.Isolation}
	}
	if s.Gate.TestChange == string(ralph.TestsEvaluate) && !s.Evaluator.Enabled() {
		return &config.UsageError{
			Msg:  "gate.test_change is evaluate, but there is no evaluator",
			Hint: "name one with --evaluator, or use warn or refuse",
		}
	}
	return p.findEvaluator()
}

// toProtect returns Ralph's own files, what the user named, and the scripts that a check or a hook
// starts, because they are part of the proof.
func (p *Plan) toProtect() []string {
	literal := slices.Clone(ownFiles)
	if longGoal(p.Request, p.Goal) {
		literal = append(literal, ralph.GoalFile)
	}
	for _, name := range []string{p.PromptFile, p.Settings.Spec} {
		file, links := textfile.Inside(p.Workspace.Dir, name)
		if file != "" {
			links = append(links, file)
		}
		literal = append(literal, links...)
	}
	s := p.Settings
	checks := slices.Concat(p.Checks, s.Hooks.Commands(), s.Checks.Hidden)
	checks = append(checks, s.Checks.Setup, s.Checks.Canary, s.Evaluator.Command)
	if p.list != nil {
		for _, t := range p.list.Tasks() {
			checks = append(checks, t.Checks...)
		}
	}
	literal = append(literal, protect.CheckScripts(p.Workspace.Dir, checks)...)
	slices.Sort(literal)
	return append(slices.Compact(literal), p.Settings.Protect...)
}

// IsProtected returns a function that reports whether a run protects a file of that name, with these names and the
// user's patterns. Patterns that cannot match protect nothing.
func IsProtected(names, globs []string) func(name string) bool {
	rules, err := protect.New(protect.Config{Globs: globs, Literal: names, Exempt: exemptFiles})
	if err != nil {
		return func(string) bool { return false }
	}
	return rules.Protected
}

// Literal returns the protected names that are not patterns of the user.
func (r Request) Literal() []string {
	isPattern := func(name string) bool { return slices.Contains(r.Settings.Protect, name) }
	return slices.DeleteFunc(slices.Clone(r.Protected), isPattern)
}

func (p *Plan) rules() (protect.Rules, error) {
	notProtected := slices.Clone(exemptFiles)
	if p.TaskFile != "" {
		notProtected = append(notProtected, filepath.ToSlash(p.TaskFile))
	}
	return protect.New(protect.Config{
		Globs: p.Settings.Protect, Literal: p.Literal(), Exempt: notProtected, Checks: p.Checks,
	})
}

// checkHidden rejects hidden checks in a folder where an agent could find them.
func (p *Plan) checkHidden() error {
	dir := p.Settings.Checks.HiddenDir
	if dir == "" {
		return nil
	}
	if len(p.Settings.Checks.Hidden) == 0 {
		return &config.UsageError{
			Msg:  "checks.hidden_dir is set, but checks.hidden is empty",
			Hint: `checks.hidden: [". $RALPH_HIDDEN_DIR/check.sh"]`,
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a folder", dir)
		}
	}
	if err != nil || !filepath.IsAbs(real) {
		return &config.UsageError{Msg: fmt.Sprintf("checks.hidden_dir %s: must be the absolute path of a folder", dir)}
	}
	if inside, err := filepath.Rel(p.Workspace.Dir, real); err == nil && filepath.IsLocal(inside) {
		return &config.UsageError{
			Msg:  fmt.Sprintf("checks.hidden_dir %s is in the workspace, where the agent can read it", dir),
			Hint: "move it elsewhere",
		}
	}
	if above, err := filepath.Rel(real, p.Workspace.Dir); err == nil && filepath.IsLocal(above) {
		return &config.UsageError{
			Msg:  fmt.Sprintf("checks.hidden_dir %s contains the workspace", dir),
			Hint: "put the hidden files into a folder of their own",
		}
	}
	if inside, err := filepath.Rel(p.Workspace.Top(), real); err == nil && filepath.IsLocal(inside) {
		const text = "checks.hidden_dir is in the same repository as the workspace, where the agent may read it"
		p.notice("hidden_in_reach", text)
	}
	p.hiddenDir = real
	return nil
}

// EarlierSurroundings are the files outside of the tree as the last run here knows them.
type EarlierSurroundings = pristine.Earlier

// NoteSurroundings records how a run leaves the files outside of the tree that changed while it worked.
func NoteSurroundings(places Places) error { return pristine.NoteLeft(places.Around) }

// RemoveCaches removes what checks compiled before any agent worked.
func RemoveCaches(places Places) error { return verify.RemoveCaches(places.Views) }

// examiner returns what examines the work where the agent cannot reach it. snapshots is nil if none
// are kept. If it could not protect checks from files outside of the tree, it returns an error.
func (p *Plan) examiner(places Places, snapshots ralph.Snapshots, shell verify.Shell) (*verify.Examiner, error) {
	if places.Views == "" {
		return nil, nil
	}
	if err := pristine.Sweep(places.Views); err != nil {
		p.notice("views_left", fmt.Sprintf("cannot remove files of an interrupted check: %v", err))
	}
	s := p.Settings.Checks
	e := &verify.Examiner{
		Shell:     shell,
		Dir:       p.Workspace.Dir,
		Snapshots: snapshots,
		Rules:     p.protect,
		Folder:    places.Views,
		NoNetwork: s.Network == "off",
		HiddenDir: p.hiddenDir,
		OfTree:    verify.OfTree{Setup: s.Setup},
	}
	if p.Settings.Tests.Enabled() {
		e.GivenDir, e.GivenHidden = places.Given, p.Settings.Tests.Hidden
	}
	e.Quick = p.Settings.Gate.Proof == string(ralph.ProofQuick)
	if s.Isolation != "auto" {
		e.Isolation = pristine.Mode(s.Isolation)
	}
	if s.Canary != "auto" && s.Canary != "off" {
		e.Canary = s.Canary
	}
	if e.NoNetwork {
		e.Isolation = pristine.Overlay
	}
	var gitDirs []string
	if p.Workspace.Repo != nil {
		gitDirs = p.Workspace.Repo.GitDirs()
	}
	var err error
	var kept []string
	if e.Surroundings, kept, err = pristine.SaveAfter(places.Around, p.Env.Environ, gitDirs, places.Before); err != nil {
		return nil, fmt.Errorf("%w: configuration files outside the workspace cannot be kept: %w", ralph.ErrIO, err)
	}
	if len(kept) > 0 {
		p.notice("surroundings_kept", fmt.Sprintf("the last run here did not prove its work, and %s changed meanwhile, so "+
			"checks see them as before that run; if the changes are yours: %s, then start again",
			text.List(kept), text.AcceptFiles(kept)))
	}
	if e.Ignored, err = watchIgnored(p, places); err != nil {
		return nil, fmt.Errorf("%w: the ignored files cannot be recorded: %w", ralph.ErrIO, err)
	}
	return e, nil
}

// Examiner returns what examines the work of a run that has ended. req.Settings are the run's own
// settings. The workspace stays as it is.
func Examiner(ctx context.Context, req Request, state *fold.State, places Places) (*verify.Examiner, error) {
	if err := req.MaskSecrets(); err != nil {
		return nil, err
	}
	shell := req.shell()
	req.Settings.Evaluator = config.EvaluatorSettings{}
	req.Settings.Gate.TestChange = ""
	req.Resumed, req.Protected, req.Base = true, state.Policy.Protects, state.History.Base.Snapshot
	p := &Plan{
		Request:    req,
		Policy:     state.Policy,
		Checks:     state.Started.Checks,
		PromptFile: state.Started.PromptFile,
		TaskFile:   state.Started.TaskFile,
	}
	if err := p.prepareProof(); err != nil {
		return nil, err
	}
	kept, err := p.keptTree(ctx, places)
	if err != nil {
		return nil, err
	}
	snapshots, ok := kept.(ralph.Snapshots)
	if !ok {
		return nil, &config.UsageError{Msg: "snapshots cannot be read here"}
	}
	examiner, err := p.examiner(places, snapshots, shell)
	if err != nil {
		return nil, err
	}
	asIs, err := kept.Fingerprint(ctx, ralph.TreeInput{Run: "verify-" + state.Run})
	if err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	examiner.WorkspaceSnapshot = asIs.Snapshot
	if err := examiner.Ignored.AdoptInMemory(); err != nil {
		return nil, fmt.Errorf("look at the workspace: %w", err)
	}
	return examiner, nil
}

// findEvaluator selects the evaluator, if the run has one.
func (p *Plan) findEvaluator() error {
	s := p.Settings
	if !s.Evaluator.Enabled() {
		return nil
	}
	chosen, err := p.chooseEvaluator(p.Walls.tier)
	if err != nil {
		return err
	}
	chosen = p.withEnvironment(chosen)
	if err := checkMeters(s, []chosenAgent{chosen}); err != nil {
		return err
	}
	p.evaluator = &chosen
	p.notice("evaluator", chosen.name+" reviews passing claims, read-only")
	p.Notices = withOwn(p.Notices, p.Workspace.Dir, chosen)
	s.IterationCost = 0 // it belongs to no iteration
	p.noticeLate(s, chosen)
	return nil
}

func (r Request) chooseEvaluator(tier sandbox.Tier) (chosenAgent, error) {
	s := r.Settings.Evaluator
	base := agent.Options{Permissions: agent.PermitReading, Sandbox: tier}
	switch {
	case s.Command != "":
		dialect, _ := agent.Find("command")
		base.Dialect, base.CommandLine = dialect, s.Command
		return chosenAgent{name: "command", model: s.Model, options: base}, nil
	case isModel(s.Agent):
		if !r.Resumed && !models.Knows(r.Settings, s.Agent) {
			return chosenAgent{}, &config.UsageError{
				Msg:  fmt.Sprintf("--evaluator %s: no such agent or model", s.Agent),
				Hint: "choose one of: " + strings.Join(config.AgentCLIs, ", ") + ", worker:MODEL",
			}
		}
		by, err := models.Choose(r.ForModels(), models.Evaluator)
		return chosenAgent{name: by.Model, model: by.Model, by: &by}, err
	}
	name, model, _ := strings.Cut(s.Agent, ":")
	chosen, err := namedAgent(name, base)
	if missing, ok := errors.AsType[*Missing](err); ok {
		missing.Hint = "install it, or name another evaluator"
	}
	chosen.name, chosen.model = s.Agent, cmp.Or(s.Model, model)
	return chosen, err
}

// isolatedEvaluator is an evaluator that works in its own view, so that nothing it writes reaches
// the workspace.
type isolatedEvaluator struct {
	plan     *Plan
	chosen   chosenAgent
	examiner *verify.Examiner
	ledger   evaluate.Ledger
}

// Evaluate implements ralph.Evaluator.
func (e isolatedEvaluator) Evaluate(ctx context.Context, in ralph.EvaluationInput) (ralph.Evaluation, error) {
	chosen := e.chosen
	leave, enter := func() error { return nil }, (func(*process.Spec))(nil)
	if e.examiner != nil {
		var err error
		view := ralph.ViewInput{Dir: in.Dir, Marker: in.Marker, Base: in.Base, Now: in.Now}
		if enter, leave, err = e.examiner.OpenForReview(ctx, view); err != nil {
			if errors.Is(err, ralph.ErrIO) || ctx.Err() != nil {
				return ralph.Evaluation{}, err
			}
			return ralph.Evaluation{Agent: chosen.name, Model: chosen.model, End: ralph.EndSandbox, Error: err.Error()}, nil
		}
	}
	chosen.options.Enter = enter
	asked := evaluate.Evaluator{
		Agent:       e.plan.guard(chosen),
		Name:        chosen.name,
		Model:       chosen.model,
		IdleTimeout: e.plan.Settings.IdleTimeout.Duration(),
	}
	verdict, err := asked.Evaluate(ctx, in)
	if left := leave(); err == nil {
		err = left
	}
	verdict.Task = in.Task
	if err == nil && verdict.End == ralph.EndOK {
		err = e.ledger.Append(evaluate.Entry{
			Time: time.Now().UTC(), Iteration: in.Iteration, Case: in.Case, Evaluation: verdict,
		})
	}
	return verdict, err
}

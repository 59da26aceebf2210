package assembly

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// Walls are what a run's agents run in.
type Walls struct {
	tier sandbox.Tier
	room *containment.Room // once the run has begun
	git  gitrepo.Guarded
	// hidesFromChecks says that checks, which run what the agents wrote, cannot reach the state folder.
	hidesFromChecks bool
}

// chooseWalls finds the tier of a run, and says if there is none although there could be. Agents that
// Ralph does not start have none.
func chooseWalls(ctx context.Context, r Request) (w Walls, said []ralph.Notice, err error) {
	w.tier = sandbox.None
	if r.Session != "" || r.Demo {
		return w, nil, nil
	}
	choice, err := containment.Choose(ctx, r.Settings.Sandbox.Mode, containment.Place{
		Home: r.Env.Home, Workspace: r.Workspace.Dir, Env: r.Env.Environ, Own: r.Env.OwnFolders(),
		Network: sandbox.Network(r.Settings.Sandbox.Network),
	})
	if err != nil {
		return w, nil, err
	}
	w.tier = choice.Tier
	if w.tier != sandbox.None {
		if len(choice.PassedOver) > 0 {
			said = append(said, ralph.Notice{
				Code: "weaker_sandbox", Text: "a stronger sandbox does not work: " + choice.Reasons(),
			})
		}
		return w, append(said, missingPaths(r)...), nil
	}
	if needed := needsSandbox(r.Settings.Sandbox); needed != "" {
		return w, nil, &config.UsageError{
			Msg:  needed + " needs a sandbox, and this run has none",
			Hint: "choose one with --sandbox, or leave it out",
		}
	}
	if len(choice.PassedOver) > 0 {
		said = append(said, ralph.Notice{
			Code: "no_sandbox", Text: "no sandbox: the agent runs with your permissions (" + choice.Reasons() + ")",
		})
	}
	return w, said, nil
}

// sandboxName is what the log calls the sandbox of a run. Ralph does not know what a live session runs in, and the demo
// has no agent.
func sandboxName(p *Plan) string {
	if p.Session != "" || p.Demo {
		return ""
	}
	return string(p.Walls.tier)
}

// missingPaths says which paths of sandbox.read and sandbox.write do not exist, and so have no effect.
func missingPaths(r Request) (said []ralph.Notice) {
	add := func(key, fix string, paths []string) {
		for _, path := range r.Env.Paths(paths) {
			if _, err := os.Stat(path); err != nil {
				said = append(said, ralph.Notice{
					Code: "sandbox_path_missing",
					Text: key + ": " + path + " does not exist, so it has no effect in this run; " + fix,
				})
			}
		}
	}
	add("sandbox.read", "correct it, or leave it out", r.Settings.Sandbox.Read)
	add("sandbox.write", "create the folder first", r.Settings.Sandbox.Write)
	return said
}

// needsSandbox names a setting that has no effect without a sandbox; "" if there is none.
func needsSandbox(s config.SandboxSettings) string {
	switch {
	case s.Network == string(sandbox.Off):
		return "--network off"
	case s.Memory != "":
		return "sandbox.memory"
	case s.Processes != 0:
		return "sandbox.processes"
	case s.FileSize != "":
		return "sandbox.file_size"
	case s.Checks == "on":
		return "sandbox.checks=on"
	}
	return ""
}

// tryAgents makes sure that the agents are in what a tier has instead of the host's programs, and that
// they can call this program.
func tryAgents(ctx context.Context, p *Plan) error {
	if !p.Walls.tier.HasPrograms() {
		return nil
	}
	if p.Walls.tier == sandbox.Sbx && p.Settings.Sandbox.Network == string(sandbox.Off) {
		return &containment.Unavailable{
			Tier: p.Walls.tier, Why: "--network off has no effect: the policy of Docker Sandboxes decides about the network",
			Fix: "leave it out and set a policy with sbx policy, or choose another sandbox",
		}
	}
	if set := p.Settings.Sandbox; set.FileSize != "" || p.Walls.tier == sandbox.Sbx &&
		(set.Memory != "" || set.Processes != 0) {
		return &containment.Unavailable{
			Tier: p.Walls.tier, Why: "it cannot keep the limits in sandbox.memory, sandbox.processes or sandbox.file_size",
			Fix: "leave them out, or choose another sandbox",
		}
	}
	noTools := ""
	for _, c := range everyAgent(p) {
		place := placeOf(p, *c)
		if p.Walls.tier == sandbox.Sbx {
			noTools = "this program is outside of the microVM"
			if _, err := containment.ReadyMicroVM(ctx, place, p.Env.StateDir, p.Env.Environ); err != nil {
				return err
			}
			continue
		}
		trial := containment.Trial{Image: place.Image, Agent: c.imageAgent(), Self: c.options.Tools, Place: place}
		if c.by == nil && c.about().Program != "" {
			trial.Programs = []string{c.about().Program}
		}
		why, err := containment.TryImage(ctx, trial, p.Env.Environ)
		if err != nil {
			return err
		}
		noTools = cmp.Or(noTools, why)
	}
	if noTools != "" && p.Self != "" && p.Settings.Agent.MCP != "off" {
		p.Self = ""
		for _, c := range everyAgent(p) {
			c.options.Tools = ""
		}
		p.notice("no_tools", "the agent has no tools of Ralph, and signals with tags: "+noTools)
	}
	return nil
}

// everyAgent returns the agents of the plan, with those that only review or write tests.
func everyAgent(p *Plan) (all []*chosenAgent) {
	for i := range p.agents {
		all = append(all, &p.agents[i])
	}
	for _, c := range []*chosenAgent{p.evaluator, p.author} {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

// imageAgent returns the agent whose image has the agent's program.
func (c chosenAgent) imageAgent() string {
	if c.options.Dialect == nil || c.about().Program == "" {
		return "command"
	}
	return c.options.Dialect.Name()
}

// open makes what a run needs in its tier.
func (w *Walls) open(ctx context.Context, p *Plan) (err error) {
	w.room, err = containment.Open(ctx, containment.Options{
		Tier: w.tier, Run: p.run, Env: p.Env.Environ, Workspace: p.Workspace.Dir, State: p.Env.StateDir,
	})
	if err != nil {
		return err
	}
	if repo := p.Workspace.Repo; repo != nil && w.tier != sandbox.None {
		w.git = repo.Guarded(ctx)
		w.room.KeepAbsent(w.git.Absent)
	}
	for i, c := range everyAgent(p) {
		place := placeOf(p, *c)
		err := containment.Check(w.tier, place)
		if err == nil && i == 0 { // all have the same limits
			err = containment.TryLimits(ctx, w.tier, place, p.Env.Environ)
		}
		if err != nil {
			return errors.Join(err, w.Close())
		}
		if w.tier.Contains() {
			noticeLinks(p, place.LooseLinks())
		}
	}
	return nil
}

// noticeLinks says which links to settings an agent could replace.
func noticeLinks(p *Plan, links []string) {
	if len(links) > 0 {
		p.notice("sandbox_links", "the agent can replace "+strings.Join(links, ", ")+
			" during the run, because a sandbox cannot keep a link; Ralph restores it at the end")
	}
}

// Close removes what the run needed while it was running.
func (w *Walls) Close() error {
	if w.room == nil {
		return nil
	}
	return w.room.Close()
}

// enclose puts an agent behind the wall of the run, if it has one. An agent that works in a view of the
// workspace enters the view first.
func (w *Walls) enclose(c *chosenAgent, place containment.Place) {
	behind, view := w.room.Enter(place), c.options.Enter
	switch {
	case behind == nil:
		return
	case view == nil:
		c.options.Enter = behind
	default:
		c.options.Enter = func(s *process.Spec) {
			view(s)
			behind(s)
		}
	}
	c.options.Sandbox = w.tier
}

// checkWall is what checks run behind.
type checkWall struct {
	enter        func(*process.Spec)    // nil without a wall
	hides, keeps func(path string) bool // nil if the wall hides, or keeps, nothing of the user
	failed       func(status int, complaint string) bool
}

// aroundChecks returns the wall that the settings want for checks: the agent's own, or one that keeps what
// Ralph relies on. A check sees what Ralph made for it, and no hidden checks but its own.
func (w *Walls) aroundChecks(ctx context.Context, p *Plan, places Places) (checkWall, error) {
	if p.Settings.Sandbox.Checks == "off" || w.tier == sandbox.None {
		return checkWall{}, nil
	}
	place := placeOf(p, chosenAgent{})
	place.Env, place.Own = p.checkEnv(), []string{p.Env.StateDir, p.Env.ConfigDir, p.hiddenDir}
	if p.Settings.Sandbox.Checks == "on" {
		w.hidesFromChecks = true
		place.Write = append(place.Write, places.Views)
		place.Read = append(place.Read, places.Around)
		return checkWall{enter: w.room.Enter(place), hides: place.Hider(), failed: w.tier.Failed}, nil
	}
	place.Needs, place.Kept, place.Network = []string{places.Views}, w.git.ReadOnly, sandbox.Open
	place.Read, place.Programs = []string{places.Around}, nil
	if program, err := os.Executable(); err == nil {
		place.Programs = []string{program}
	}
	enter, err := w.room.EnterThin(ctx, place)
	if unavailable, ok := errors.AsType[*containment.Unavailable](err); ok {
		if w.tier == sandbox.Bwrap {
			p.notice("checks_reach_state", "checks, which run what the agent wrote, can reach Ralph's state: "+unavailable.Why)
		}
		return checkWall{}, nil
	}
	w.hidesFromChecks = err == nil
	return checkWall{enter: enter, keeps: place.Keeper(), failed: sandbox.Bwrap.Failed}, err
}

// placeOf describes what an agent of the run needs.
func placeOf(p *Plan, c chosenAgent) containment.Place {
	env := p.Env
	needs := agent.HomeIn(c.options.CommandLine, c.options.Env)
	if c.options.Dialect != nil && c.about().Home != nil {
		needs = c.about().Home(agent.LookAround(c.options.Env))
	}
	if p.Walls.tier != sandbox.None && p.Walls.tier != "" { // a plan that was not made has none
		makeFolders(needs.Change)
	}
	place := agentPlace(env, p.Workspace.Dir, needs, p.Walls.git)
	place.Env = c.options.Env
	place.Own = append(place.Own, p.hiddenDir)
	place.Read = append(env.Paths(p.Settings.Sandbox.Read), named(c.options.CommandLine, p.Workspace.Dir, env)...)
	place.Write = append(place.Write, env.Paths(p.Settings.Sandbox.Write)...)
	set := p.Settings.Sandbox
	place.Network, place.FileSize = sandbox.Network(set.Network), config.Bytes(set.FileSize)
	place.Limits = sandbox.Limits{Memory: config.Bytes(set.Memory), Processes: set.Processes}
	place.Image = cmp.Or(p.Settings.Sandbox.Image, containment.ImageOf(c.imageAgent()))
	place.Agent = c.imageAgent()
	if p.Self != "" {
		place.Programs = []string{p.Self}
	}
	return place
}

// agentPlace describes what every agent with such files below home needs.
func agentPlace(env config.Env, workspace string, needs agent.Home, git gitrepo.Guarded) containment.Place {
	place := containment.Place{
		Home:      env.Home,
		Workspace: workspace,
		Kept: slices.Concat([]string{filepath.Join(workspace, config.ProjectFile)}, needs.Keep,
			containment.ProgramsIn(needs.Change), git.ReadOnly),
		Git:   git.Writable,
		Own:   env.OwnFolders(),
		Write: slices.Clone(needs.Change),
	}
	for _, path := range needs.Copy {
		place.Copies = append(place.Copies, containment.Copy{Of: path})
	}
	return place
}

// ClaudePlace describes what Claude Code needs in a workspace, without settings of the user. The program is
// what else it can start.
func ClaudePlace(ctx context.Context, env config.Env, workspace, program string) containment.Place {
	var git gitrepo.Guarded
	if repo, found, err := gitrepo.Find(ctx, gitrepo.Git{Env: env.Environ}, workspace); err == nil && found {
		git = repo.Guarded(ctx)
	}
	place := agentPlace(env, workspace, agent.HomeIn("claude", env.Environ), git)
	place.Programs = []string{program}
	return place
}

// named returns the folders of the files that a command line names: what the user starts, the agent can
// read. A file that is in home itself, among temporary files, or in a folder above the workspace, is alone.
func named(commandLine, workspace string, env config.Env) (paths []string) {
	for _, word := range agent.Words(commandLine) {
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			word = filepath.Join(env.Home, rest)
		} else if !filepath.IsAbs(word) && strings.Contains(word, "/") {
			word = filepath.Join(workspace, word)
		}
		info, err := os.Stat(word)
		if !filepath.IsAbs(word) || err != nil || word == env.Home {
			continue
		}
		folder := filepath.Dir(word)
		inside, err := filepath.Rel(folder, workspace)
		isAbove := err == nil && filepath.IsLocal(inside)
		if !info.IsDir() && folder != env.Home && folder != filepath.Clean(os.TempDir()) && !isAbove {
			word = folder
		}
		paths = append(paths, word)
	}
	return paths
}

// makeFolders makes the folders that a CLI would make at its first start: what it writes there must
// outlive the sandbox.
func makeFolders(paths []string) {
	for _, path := range paths {
		if filepath.Ext(path) != ".json" {
			_ = os.MkdirAll(path, 0o700) // without it, the CLI has a folder of its own for a run
		}
	}
}

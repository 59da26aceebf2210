package assembly

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// chooseSandbox finds the tier that the agents run in. Agents that Ralph does not start have none.
func (p *Plan) chooseSandbox(ctx context.Context) error {
	p.tier = sandbox.None
	if p.Session != "" || p.Demo {
		return nil
	}
	choice, err := containment.Choose(ctx, p.Settings.Sandbox.Mode, p.Env.Environ)
	if err != nil {
		return err
	}
	p.tier = choice.Tier
	if p.tier == sandbox.None && p.Settings.Sandbox.Mode == containment.Auto {
		why := make([]string, len(choice.PassedOver))
		for i, reason := range choice.PassedOver {
			why[i] = strings.TrimPrefix(reason.Error(), "sandbox ")
		}
		p.notice("no_sandbox", "no sandbox: the agent runs with your permissions ("+strings.Join(why, "; ")+")")
	}
	if p.tier == sandbox.None && p.Settings.Sandbox.Network == string(sandbox.Off) {
		return &config.UsageError{
			Msg:  "--network off needs a sandbox, and this run has none",
			Hint: "choose one with --sandbox, or leave --network out",
		}
	}
	return nil
}

// openRoom makes what the run needs in its tier. Close removes it.
func (p *Plan) openRoom() (err error) {
	p.room, err = containment.Open(p.tier, p.run)
	return err
}

// Close removes what the run needed while it was running.
func (p *Plan) Close() error {
	if p.room == nil {
		return nil
	}
	return p.room.Close()
}

// enter returns a function that puts an agent behind the wall of the run; nil if it has none. An agent
// that works in a view of the workspace enters the view first.
func (p *Plan) enter(c chosenAgent) func(*process.Spec) {
	behind := p.room.Enter(p.place(c))
	view := c.options.Enter
	if behind == nil || view == nil {
		if behind == nil {
			return view
		}
		return behind
	}
	return func(s *process.Spec) {
		view(s)
		behind(s)
	}
}

// place describes what an agent needs.
func (p *Plan) place(c chosenAgent) containment.Place {
	env := p.Env
	needs := agent.HomeIn(c.options.CommandLine, c.options.Env)
	if c.by == nil {
		if of := c.about().Home; of != nil {
			needs = of(agent.LookAround(c.options.Env))
		}
	}
	makeFolders(needs.Change)
	place := containment.Place{
		Home:      env.Home,
		Workspace: p.Workspace.Dir,
		Kept:      append([]string{filepath.Join(p.Workspace.Dir, config.ProjectFile)}, needs.Keep...),
		Own:       []string{env.StateDir, env.ConfigDir, env.CacheDir, p.hiddenDir},
		Read:      env.Paths(p.Settings.Sandbox.Read),
		Write:     append(slices.Clone(needs.Change), env.Paths(p.Settings.Sandbox.Write)...),
		Network:   sandbox.Network(p.Settings.Sandbox.Network),
	}
	if p.Self != "" {
		place.Programs = []string{p.Self}
	}
	place.Read = append(place.Read, named(c.options.CommandLine, env)...)
	return place
}

// named returns the folders of the files that a command line names: what the user starts, the agent can
// read. A file that is in home itself, or among temporary files, is alone.
func named(commandLine string, env config.Env) (paths []string) {
	for _, word := range agent.Words(commandLine) {
		if rest, ok := strings.CutPrefix(word, "~/"); ok {
			word = filepath.Join(env.Home, rest)
		}
		info, err := os.Stat(word)
		if !filepath.IsAbs(word) || err != nil || word == env.Home {
			continue
		}
		if folder := filepath.Dir(word); !info.IsDir() && folder != env.Home && folder != filepath.Clean(os.TempDir()) {
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

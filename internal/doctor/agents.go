package doctor

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/models"
	"github.com/ralphloop/ralph/internal/probe"
	"github.com/ralphloop/ralph/internal/process"
)

// Probing selects the agents to probe.
type Probing string

// The agents to probe.
const (
	ProbeNew  Probing = ""     // agents without a cached report
	ProbeAll  Probing = "all"  // all agents, even those with a cached report
	ProbeNone Probing = "none" // no agents; only shows cached reports
)

// atOnce is how many agents are examined at the same time, because a probe keeps a core busy.
const atOnce = 2

// AgentFinding describes one installed agent CLI.
type AgentFinding struct {
	Name    string `json:"name"`
	Version string `json:"version"` // "unknown" if the CLI does not print it
	Path    string `json:"path"`
	agent.Account
	Broken   string        `json:"broken,omitempty"` // known fault of this version
	Probe    *probe.Report `json:"probe"`            // null if there was none
	ProbedAt *time.Time    `json:"probed_at,omitempty"`
}

// agents examines every known CLI. Installed ones come first, in the order in which a run looks for
// them, then the missing ones.
func (x Examination) agents(ctx context.Context, inUse []string) []Finding {
	var installed, missing []Finding
	var dialects []agent.Dialect
	for _, d := range agent.Known() {
		program := d.About().Program
		if program == "" {
			continue
		}
		path, err := process.LookPath(program)
		if err != nil {
			missing = append(missing, Finding{What: "agent " + d.Name(), State: Missing, Detail: "not installed"})
			continue
		}
		dialects = append(dialects, d)
		installed = append(installed, Finding{
			What:   "agent " + d.Name(),
			Agent:  &AgentFinding{Name: d.Name(), Path: path},
			Needed: slices.Contains(inUse, d.Name()),
		})
	}
	if len(installed) == 0 {
		missing = append(
			missing,
			Finding{
				What:   "agents",
				State:  Note,
				Detail: "no agent CLI on PATH; pass any command with --agent-cmd; ralph demo needs no agent",
			},
		)
	}
	troubles := make([]error, len(installed))
	places := make(chan struct{}, atOnce)
	var looking sync.WaitGroup
	for i := range installed {
		looking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			troubles[i] = x.agent(ctx, dialects[i], &installed[i])
		})
	}
	looking.Wait()
	if trouble := cmp.Or(troubles...); trouble != nil {
		missing = append(missing, Finding{What: "probe", State: Note, Detail: trouble.Error()})
	}
	return append(installed, missing...)
}

// worker says which model the built-in worker would use.
func (x Examination) worker() Finding {
	const what, how = "worker", "built in, for --agent worker; "
	if x.Trouble != nil {
		return Finding{What: what, State: Unknown, Detail: how + "the configuration cannot be read"}
	}
	text, ready := models.BuiltIn(models.Request{Settings: x.Settings, Env: x.Env, Dir: x.Workspace.Dir})
	return Finding{What: what, State: map[bool]State{true: OK, false: Note}[ready], Detail: how + text}
}

// agent fills in the finding of one CLI. Its error is about the probe or the cache of reports.
func (x Examination) agent(ctx context.Context, d agent.Dialect, f *Finding) error {
	a, about := f.Agent, d.About()
	version := probe.AskVersion(ctx, a.Path, config.AgentEnv(x.Env, config.Passes{Own: about.Env, When: about.EnvWhen}))
	a.Version = cmp.Or(version, "unknown")
	a.Account = x.account(about)
	a.Broken = probe.WhyBroken(version, about.Broken)
	err := x.probe(ctx, d, a, version)
	f.State = a.state()
	if f.Needed && a.Login == agent.LoggedOut {
		f.State = Bad
	}
	f.Detail = fmt.Sprintf("%s at %s", a.Version, a.Path)
	if version == "" {
		f.Detail = a.Path + " does not report its version"
	}
	if about.Shared {
		f.Detail += "; it may be another program with this name"
	}
	return err
}

func (x Examination) account(about agent.About) agent.Account {
	if about.Account == nil {
		return agent.Account{Login: agent.LoginUnknown, Billing: agent.BillingUnknown}
	}
	return about.Account(agent.LookAround(x.Env.Environ))
}

// probe uses the cached report, or makes a new one.
func (x Examination) probe(ctx context.Context, d agent.Dialect, a *AgentFinding, version string) error {
	cache := probe.Cache{Now: time.Now}
	if x.Env.CacheDir != "" {
		cache.Dir = filepath.Join(x.Env.CacheDir, "probes")
	}
	key := probe.Key{Agent: a.Name, Program: a.Path, Version: version, Revision: probe.Revision(d), Ralph: x.Version}
	if kept, ok := cache.Find(key); ok && x.Probing != ProbeAll {
		a.Probe, a.ProbedAt = &kept.Report, &kept.ProbedAt
		return nil
	}
	if x.Probing == ProbeNone {
		return nil
	}
	if !probe.Possible(d) {
		report := probe.Impossible()
		a.Probe = &report
		return nil
	}
	x.Tell(
		fmt.Sprintf(
			"probing %s against a scripted model on this machine, up to %s",
			strings.TrimSpace(a.Name+" "+version),
			probe.DefaultLimit,
		),
	)
	report, err := probe.Run(
		ctx,
		probe.Subject{Dialect: d, Path: a.Path, Version: version, Env: config.AgentEnv(x.Env, config.Passes{})},
	)
	if err != nil {
		return fmt.Errorf("probe %s: %w", a.Name, err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	a.Probe, a.ProbedAt = &report, &now
	return cache.Keep(probe.Kept{Key: key, ProbedAt: now, Report: report})
}

// state returns the worst state of the finding. A failed isolation is only a note: a run with the
// user's own hooks in it still works. Without output that Ralph understands, there is no run.
func (a AgentFinding) state() State {
	r := a.Probe
	switch {
	case a.Broken != "",
		r != nil && (r.Stream.State == probe.Failed || r.Tag.State == probe.Failed || r.Permission.State == probe.Failed):
		return Bad
	case r != nil && r.Isolation.State == probe.Failed, a.Warning != "", a.Login == agent.LoggedOut:
		return Note
	case a.Version == "unknown":
		return Unknown
	}
	return OK
}

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

// Probing says which agents are probed.
type Probing string

// Which agents are probed.
const (
	ProbeNew  Probing = ""     // those of which nothing is kept
	ProbeAll  Probing = "all"  // everyone, whatever is kept
	ProbeNone Probing = "none" // nobody; what is kept is told
)

// atOnce is how many agents are looked at side by side: a probe keeps a core busy.
const atOnce = 2

// AgentFinding is what is known of one installed agent CLI.
type AgentFinding struct {
	Name    string `json:"name"`
	Version string `json:"version"` // "unknown" if it does not tell
	Path    string `json:"path"`
	agent.Account
	Broken   string        `json:"broken,omitempty"` // what is known to be wrong with this version
	Probe    *probe.Report `json:"probe"`            // null if there was none
	ProbedAt *time.Time    `json:"probed_at,omitempty"`
}

// agents looks at every known CLI. Those that are there come in the order in which a run looks for them, those that are not after them.
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

// worker tells which model the agent that is always there would ask.
func (x Examination) worker() Finding {
	const what, how = "worker", "built in, for --agent worker; "
	if x.Trouble != nil {
		return Finding{What: what, State: Unknown, Detail: how + "the configuration cannot be read"}
	}
	text, ready := models.BuiltIn(models.Request{Settings: x.Settings, Env: x.Env, Dir: x.Workspace.Dir})
	return Finding{What: what, State: map[bool]State{true: OK, false: Note}[ready], Detail: how + text}
}

// agent fills in what is known of one CLI. An error is trouble with a probe, or with keeping it.
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
		f.Detail = a.Path + " does not tell its version"
	}
	if about.Shared {
		f.Detail += "; another program has this name, too"
	}
	return err
}

func (x Examination) account(about agent.About) agent.Account {
	if about.Account == nil {
		return agent.Account{Login: agent.LoginUnknown, Billing: agent.BillingUnknown}
	}
	return about.Account(agent.LookAround(x.Env.Environ))
}

// probe takes the report that is kept, or makes one.
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

// state is the worst that is known. A run with the user's own hooks in it is still a run; one whose output is not understood is none.
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

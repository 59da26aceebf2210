package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// DefaultLimit is how long a probe may take. The slowest CLI measured needed a third of it on a
// busy machine.
const DefaultLimit = 60 * time.Second

// Subject is an installed CLI.
type Subject struct {
	Dialect agent.Dialect
	Path    string
	Version string // as it reports it to the user; "" if it does not
	// Env is what programs need to work here. Locations of the user's files in it do not reach the
	// CLI.
	Env   []string
	Limit time.Duration // default: DefaultLimit
}

// Possible reports whether a CLI can be probed here.
func Possible(d agent.Dialect) bool {
	_, ok := rows[d.Name()]
	// the scripted model's commands are written for a POSIX shell
	return ok && runtime.GOOS != "windows"
}

// Impossible returns the report of a CLI that cannot be probed.
func Impossible() Report {
	a := Aspect{Unknown, "cannot be pointed at a local model"}
	if runtime.GOOS == "windows" {
		a.Detail = "not tried on Windows"
	}
	return Report{Stream: a, Tag: a, Permission: a, Isolation: a, Settled: true}
}

// Run probes a CLI. It blocks until all of its processes are gone and everything that it wrote is
// removed. The result is a value; an error means that the probe itself failed. A canceled ctx gives
// a report that is not settled.
func Run(ctx context.Context, s Subject) (report Report, err error) {
	if !Possible(s.Dialect) {
		return Impossible(), nil
	}
	scene, err := newScene()
	if err != nil {
		return Report{}, err
	}
	defer scene.remove()
	saw := newWitness(scene.firstPrompt, scene.firstAnswer, scene.noted)
	model, err := scriptedmodel.Listen("127.0.0.1:0", scriptedmodel.New(scene.script(), scriptedmodel.Observe(saw.record)))
	if err != nil {
		return Report{}, fmt.Errorf("start local model: %w", err)
	}
	defer func() { err = errors.Join(err, model.Close()) }()

	p := &probing{
		Subject:  s,
		row:      rows[s.Dialect.Name()],
		scene:    scene,
		saw:      saw,
		url:      model.URL(),
		deadline: time.Now().Add(cmp.Or(s.Limit, DefaultLimit)),
	}
	if err := p.runAll(ctx); err != nil {
		return Report{}, err
	}
	return p.report(), nil
}

// probing is one probe in progress.
type probing struct {
	Subject
	row      row
	scene    *scene
	saw      *witness
	url      string
	deadline time.Time

	free, edits, control *ralph.AgentOutcome // nil if not run
	// things of the user's that were started although they should not have been
	started      []string
	needsOwnHome bool // it does not start at all with a different home folder
}

// runAll makes the runs. The next one is pointless if the one before did not succeed.
func (p *probing) runAll(ctx context.Context) error {
	var err error
	if p.free, err = p.run(ctx, free, agent.Options{Permissions: agent.PermitAll}); err != nil {
		return err
	}
	if p.free.End != ralph.EndOK || p.bypassedModel() {
		p.needsOwnHome = p.saw.of(free).requests == 0 && p.Version != "" &&
			AskVersion(ctx, p.Path, p.environment()) != p.Version
		return nil
	}
	if p.edits, err = p.run(ctx, edits, agent.Options{
		Permissions:     agent.PermitEdits,
		AllowedCommands: []string{allowed},
	}); err != nil {
		return err
	}
	p.started = p.scene.marked(p.row.plants)
	if p.edits.End != ralph.EndOK || len(p.started) > 0 || len(p.row.plants) == 0 {
		return nil
	}
	p.control, err = p.run(ctx, control, agent.Options{Permissions: agent.PermitEdits, InheritSettings: true})
	return err
}

// run lets the CLI work on one scenario, as an iteration of a run would.
func (p *probing) run(ctx context.Context, scenario string, o agent.Options) (*ralph.AgentOutcome, error) {
	set := p.row.set(place{home: p.scene.home, url: p.url + "/" + scenario, mark: p.scene.mark})
	o.Env = slices.Concat(p.environment(), set.env)
	if err := p.scene.furnish(ctx, o.Env, set.files); err != nil {
		return nil, err
	}
	folder := filepath.Join(p.scene.root, "iteration-"+scenario)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make probe folder: %w", err)
	}
	word := scenario
	if scenario == free {
		word = p.scene.firstPrompt
	}
	o.Dialect, o.Path, o.Linger = p.Dialect, p.Path, 5*time.Second
	outcome, err := agent.New(o).Run(ctx, ralph.AgentInput{
		Iteration: 1, Prompt: "This is a probe: whatever you say was written before. Word of the day: " + word + ".\n",
		Dir:     p.scene.work,
		Folder:  folder,
		Model:   set.model,
		Timeout: max(time.Until(p.deadline), time.Millisecond),
		Live:    func(ralph.Activity) {},
	})
	if err != nil {
		return nil, fmt.Errorf("probe %s: %w", p.Dialect.Name(), err)
	}
	return &outcome, nil
}

// private are the variables that lead to the user's files, or away from this machine.
var private = []string{
	"HOME", "USERPROFILE", "XDG_*", "SSH_AUTH_SOCK", "GIT_*", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
	"http_proxy", "https_proxy", "all_proxy",
	"TMPDIR", "RALPH_*", "EDITOR",
}

// environment returns the user's environment with the temporary home.
func (p *probing) environment() []string {
	env := slices.DeleteFunc(slices.Clone(p.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(private, func(pattern string) bool {
			prefix, star := strings.CutSuffix(pattern, "*")
			return name == pattern || star && strings.HasPrefix(name, prefix)
		})
	})
	home := p.scene.home
	return append(env,
		"HOME="+home, "USERPROFILE="+home, "TMPDIR="+p.scene.temp,
		"XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "XDG_DATA_HOME="+filepath.Join(home, ".local", "share"),
		"XDG_STATE_HOME="+filepath.Join(home, ".local", "state"), "XDG_CACHE_HOME="+filepath.Join(home, ".cache"),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	)
}

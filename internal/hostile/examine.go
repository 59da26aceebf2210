package hostile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// attackTimeout is long enough for every attack.
const attackTimeout = 20 * time.Second

// atOnce is how many probes run at the same time: they mostly wait.
const atOnce = 4

// Verdict says what became of an attack.
type Verdict string

// The verdicts.
const (
	Stopped    Verdict = "stopped"
	NotStopped Verdict = "not stopped"
	NotTried   Verdict = "not tried"
)

// Outcome is the verdict on one probe in one tier.
type Outcome struct {
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"` // it was not tried, or what the attacker was told
}

// Row is one probe in all tiers, in their order.
type Row struct {
	Probe
	Outcomes []Outcome `json:"outcomes"`
}

// Trial says what to attack with.
type Trial struct {
	Folder string         // for scratch files
	Self   []string       // the command that starts Attack
	Path   string         // the PATH of the attacker
	Tiers  []sandbox.Tier // that work here
	// Place returns the wall of an agent in a scene, without its network.
	Place func(*Scene) containment.Place
}

// Examine tries the probes in each tier. It returns the context's error if that ends first.
func Examine(ctx context.Context, t Trial, probes []Probe) ([]Row, error) {
	rows := make([]Row, len(probes))
	var all sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for i, p := range probes {
		free <- struct{}{}
		all.Go(func() {
			rows[i] = Row{Probe: p, Outcomes: t.outcomes(ctx, p)}
			<-free
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return rows, nil
}

// outcomes tries one probe without a sandbox, and if it works there, in each tier.
func (t Trial) outcomes(ctx context.Context, p Probe) (all []Outcome) {
	control := t.try(ctx, p, sandbox.None)
	for _, tier := range t.Tiers {
		outcome := control
		switch {
		case control.Verdict == Stopped:
			outcome = Outcome{NotTried, "it does not work without a sandbox: " + control.Why}
		case control.Verdict == NotTried:
		case tier == sandbox.None && p.offline:
			outcome = Outcome{NotTried, "--network off needs a sandbox"}
		case tier != sandbox.None:
			outcome = t.try(ctx, p, tier)
		}
		all = append(all, outcome)
	}
	return all
}

// try makes one attempt.
func (t Trial) try(ctx context.Context, p Probe, tier sandbox.Tier) Outcome {
	outcome, err := t.attack(ctx, p, tier)
	if err != nil {
		return Outcome{NotTried, err.Error()}
	}
	return outcome
}

func (t Trial) attack(ctx context.Context, p Probe, tier sandbox.Tier) (Outcome, error) {
	scene, err := newScene(t.Folder, t.Self, t.Path)
	if err != nil {
		return Outcome{}, err
	}
	defer scene.close()
	at, err := p.aim(ctx, scene)
	if err != nil {
		return Outcome{}, err
	}
	room, err := containment.Open(ctx, containment.Options{
		Tier: tier, Run: "test", Env: scene.Env, Workspace: scene.Workspace,
	})
	if err != nil {
		return Outcome{}, err
	}
	defer room.Close()
	place := t.Place(scene)
	if p.offline {
		place.Network = sandbox.Off
	}
	if p.act == "fork" || p.act == "memory" {
		place.Limits = sandbox.Limits{Memory: muchMemory << 20 / 2, Processes: manyProcesses / 2}
	}
	var said, complaint strings.Builder
	spec := process.Spec{
		Argv: append(t.Self[:len(t.Self):len(t.Self)], p.act, at.name, scene.token),
		Dir:  scene.Workspace, Env: scene.Env, Timeout: attackTimeout, Grace: -1,
		Stdout: process.Sink{Tap: &said}, Stderr: process.Sink{Tap: &complaint},
	}
	if enter := room.Enter(place); enter != nil {
		enter(&spec)
	}
	if at.enter != nil {
		spec.Argv = append(append(t.Self[:len(t.Self):len(t.Self)], append(at.enter, "--")...), spec.Argv...)
	}
	ended, err := process.Run(ctx, spec)
	if err != nil {
		return Outcome{}, err
	}
	why := cmp.Or(lastLine(complaint.String()), fmt.Sprintf("it ended with %d", ended.ExitCode))
	if ended.StartError != nil || tier.Failed(ended.ExitCode, complaint.String()) {
		return Outcome{}, errors.Join(ended.StartError, errors.New(why))
	}
	hit := ended.ExitCode == 0
	if at.hit != nil {
		hit = at.hit(said.String())
	}
	switch {
	case hit:
		return Outcome{Verdict: NotStopped}, nil
	case ended.ExitCode == 0:
		why = "it had no effect outside"
	}
	return Outcome{Stopped, strings.ReplaceAll(why, scene.Root+string(os.PathSeparator), "")}, nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimPrefix(lines[len(lines)-1], "ralph: ")
}

package containment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// Modes that name no tier.
const (
	Auto    = "auto"    // bwrap, else landlock, else nothing
	Require = "require" // bwrap, else landlock, else an error
)

// trialTimeout is long enough for a tier that works.
const trialTimeout = 20 * time.Second

// Unavailable says why a tier does not work on this machine.
type Unavailable struct {
	Tier sandbox.Tier
	Why  string
	Fix  string
}

func (u *Unavailable) Error() string { return "sandbox " + u.Reason() + "; " + u.Fix }

// Reason names the tier and why it does not work.
func (u *Unavailable) Reason() string { return string(u.Tier) + ": " + u.Why }

// Choice is the tier of a run.
type Choice struct {
	Tier sandbox.Tier
	// PassedOver are the reasons against the stronger tiers, if the tier was not named.
	PassedOver []*Unavailable
}

// Reasons says why the stronger tiers were passed over.
func (c Choice) Reasons() string {
	reasons := make([]string, len(c.PassedOver))
	for i, tier := range c.PassedOver {
		reasons[i] = tier.Reason()
	}
	return strings.Join(reasons, "; ")
}

// Choose finds the tier that a mode names, for a workspace. Auto and Require take the first tier that
// works of bwrap and landlock; none of the others is ever chosen. No tier protects a home folder that is,
// or is in, the workspace. The error is an *Unavailable, or the context's.
func Choose(ctx context.Context, mode string, place Place) (Choice, error) {
	if mode != string(sandbox.None) && isWithin(real(place.Home), real(place.Workspace)) {
		refusal := &Unavailable{
			Tier: sandbox.Tier(mode), Why: "the workspace is your home folder, or contains it",
			Fix: "work in a folder of its own, or pass --sandbox none",
		}
		if mode == Auto {
			refusal.Tier = "all"
			return Choice{Tier: sandbox.None, PassedOver: []*Unavailable{refusal}}, nil
		}
		return Choice{}, refusal
	}
	if mode != Auto && mode != Require {
		tier := sandbox.Tier(mode)
		return Choice{Tier: tier}, tryFor(ctx, tier, place)
	}
	var choice Choice
	for _, tier := range []sandbox.Tier{sandbox.Bwrap, sandbox.Landlock} {
		err := tryFor(ctx, tier, place)
		if err == nil {
			choice.Tier = tier
			return choice, nil
		}
		if ctx.Err() != nil {
			return choice, context.Cause(ctx)
		}
		unavailable, ok := errors.AsType[*Unavailable](err)
		if !ok {
			return choice, err
		}
		choice.PassedOver = append(choice.PassedOver, unavailable)
	}
	choice.Tier = sandbox.None
	if mode == Require {
		return choice, &Unavailable{
			Tier: "require", Why: "none works here (" + choice.Reasons() + ")", Fix: fixes[sandbox.Bwrap],
		}
	}
	return choice, nil
}

// tryFor says why a tier does not work, or cannot hide what has to be hidden around a workspace.
func tryFor(ctx context.Context, tier sandbox.Tier, place Place) error {
	if err := Check(tier, place); err != nil {
		return err
	}
	return tryIn(ctx, tier, place)
}

// Check says why a tier that is a matter of this kernel cannot hide what has to be hidden; nil if it can.
func Check(tier sandbox.Tier, place Place) error {
	if !tier.IsLocal() {
		return nil
	}
	if err := tier.Check(place.Wall()); err != nil {
		return &Unavailable{
			Tier: tier, Why: err.Error(),
			Fix: "keep what has to be hidden outside of what the agent may change: the workspace " +
				"and sandbox.write",
		}
	}
	return nil
}

// TryLimits says why the limits of a place cannot be kept on this machine; nil if they can, or there are none.
func TryLimits(ctx context.Context, tier sandbox.Tier, place Place, env []string) error {
	limits := place.TreeLimits()
	if !tier.IsLocal() || limits == (process.Limits{}) {
		return nil
	}
	ended, err := process.Run(ctx, process.Spec{
		Argv: process.Shell("true"), Env: env, Guarded: true, Limits: limits, Timeout: trialTimeout,
	})
	if err == nil && ended.StartError != nil {
		err = &Unavailable{
			Tier: tier, Why: ended.StartError.Error(),
			Fix: "run Ralph as root or in a control group that the system delegates to you (systemd-run --user --scope " +
				"-p Delegate=yes), or unset sandbox.memory and sandbox.processes",
		}
	}
	return err
}

// fixes say what makes a tier work.
var fixes = map[sandbox.Tier]string{
	sandbox.Bwrap: "install bubblewrap (apt-get install bubblewrap, dnf install bubblewrap), and let the system allow " +
		"user namespaces; or choose another tier with --sandbox",
	sandbox.Landlock: "use a kernel from Linux 6.12 on with Landlock switched on, or choose another tier with --sandbox",
	sandbox.Docker: "install Docker (apt-get install docker.io, or Docker Desktop), or choose another tier with " +
		"--sandbox",
	sandbox.Sbx:      "install Docker Sandboxes (the sbx command) and log in with sbx login",
	sandbox.Seatbelt: "choose another tier with --sandbox",
}

// Try starts a program in a tier and says why it does not work; nil if it does.
func Try(ctx context.Context, tier sandbox.Tier, env []string) error {
	return tryIn(ctx, tier, Place{Env: env})
}

// tryIn starts no program of a workspace.
func tryIn(ctx context.Context, tier sandbox.Tier, place Place) error {
	env, workspace := place.Env, place.Workspace
	switch tier {
	case sandbox.None:
		return nil
	case sandbox.Docker:
		_, err := reachDocker(ctx, env, workspace)
		return err
	case sandbox.Sbx:
		return reachSbx(ctx, env, workspace)
	}
	folder, err := os.MkdirTemp("", "ralph-sandbox-")
	if err != nil {
		return fmt.Errorf("try sandbox: %w", err)
	}
	defer os.RemoveAll(folder)
	folder, err = filepath.EvalSymlinks(folder)
	if err != nil {
		return fmt.Errorf("try sandbox: %w", err)
	}
	shell := absolute(process.Shell("true"), env)
	wall := sandbox.Wall{Rules: []sandbox.Rule{{Path: folder, Access: sandbox.Write}}, Network: place.Network}
	command := tier.Enclose(sandbox.Command{Argv: shell, Dir: folder, Env: env}, wall)
	if tier == sandbox.Bwrap {
		if command.Argv[0], err = locateBwrap(env, workspace); err != nil {
			return err
		}
	}
	spec := process.Spec{
		Argv: command.Argv, Dir: command.Dir, Env: command.Env, Timeout: trialTimeout,
		Guarded: tier.IsLocal(), Filtered: tier.IsLocal(),
	}
	if command.Offline {
		spec.Enclosure = &process.Enclosure{NoNetwork: true}
	}
	return tryCommand(ctx, tier, spec)
}

// tryCommand runs a command behind a wall and says why that does not work; nil if it does.
func tryCommand(ctx context.Context, tier sandbox.Tier, spec process.Spec) error {
	unavailable := func(why string) error { return &Unavailable{Tier: tier, Why: why, Fix: fixes[tier]} }
	var said strings.Builder
	spec.Stdout, spec.StderrToStdout = process.Sink{Tap: &said}, true
	ended, err := process.Run(ctx, spec)
	switch {
	case err != nil:
		return fmt.Errorf("try sandbox: %w", err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ended.StartError != nil:
		return unavailable(ended.StartError.Error())
	case ended.ExitCode != 0:
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		first = strings.TrimPrefix(first, sandbox.Complaint)
		return unavailable(cmp.Or(first, fmt.Sprintf("it ended with %d", ended.ExitCode)))
	}
	return nil
}

// absolute returns a command with the path of its program, if that is on PATH.
func absolute(argv, env []string) []string {
	if program, err := process.Locate(argv[0], env, never); err == nil && !strings.Contains(argv[0], "/") {
		return append([]string{program}, argv[1:]...)
	}
	return argv
}

func never(string) bool { return false }

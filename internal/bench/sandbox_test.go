//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/dockertest"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// sandboxes measures what each tier adds to the start of an agent, beside the same agent without one, and what an
// agent that prints without end costs in one.
func (b *bench) sandboxes() {
	works := func(tier sandbox.Tier) bool {
		err := containment.Try(context.Background(), tier, plainEnv())
		if _, missing := errors.AsType[*containment.Unavailable](err); err != nil && !missing {
			b.Fatal(err)
		}
		if err != nil {
			b.Logf("not measured: %v", err)
		}
		return err == nil
	}
	place := containment.Place{Home: b.TempDir(), Workspace: b.TempDir(), Image: containment.ImageOf("command")}
	if works(sandbox.Landlock) {
		b.addedBy(sandbox.Landlock, place, plainEnv(), 2)
	}
	if works(sandbox.Bwrap) {
		b.addedBy(sandbox.Bwrap, place, plainEnv(), 25)
		b.flood()
	}
	switch missing := dockertest.Missing(); {
	case missing != "":
		b.Logf("docker is not measured: %s", missing)
	case *full: // an engine takes seconds to start
		b.addedBy(sandbox.Docker, place, dockertest.Start(b, plainEnv()).Env, 1500)
	}
}

// addedBy measures what a tier adds to the start of an agent. The aim is in milliseconds.
func (b *bench) addedBy(tier sandbox.Tier, place containment.Place, env []string, limit float64) {
	room, err := containment.Open(b.Context(), containment.Options{
		Tier: tier, Run: "bench", Env: env, Workspace: place.Workspace,
	})
	if err != nil {
		b.Fatal(err)
	}
	enter := room.Enter(place)
	var more, floors []float64
	for range b.starts {
		floor, value := b.startAgent(place.Workspace, nil), b.startAgent(place.Workspace, enter)
		more, floors = append(more, value-floor), append(floors, floor)
	}
	if err := room.Close(); err != nil {
		b.Error(err)
	}
	b.add(row{
		What: fmt.Sprintf("sandbox %s, added to the start of an agent (wall)", tier), Unit: "ms",
		Value: max(median(more), 0.01),
		Floor: median(floors), Of: "sh -c : without a sandbox", Aim: aim{valueAtMost, limit},
	})
}

func (b *bench) startAgent(dir string, enter func(*process.Spec)) float64 {
	spec := process.Spec{Argv: process.Shell(":"), Dir: dir, Env: plainEnv(), Guarded: true}
	if enter != nil {
		enter(&spec)
	}
	began := time.Now()
	ended, err := process.Run(context.Background(), spec)
	if err != nil || ended.ExitCode != 0 {
		b.Fatalf("exit status %d, %v, %v", ended.ExitCode, ended.StartError, err)
	}
	return milliseconds(time.Since(began))
}

// flood measures the memory of a run whose agent, in a sandbox, prints gigabytes before it claims. The claim must be
// found.
func (b *bench) flood() {
	noise := filepath.Join(b.TempDir(), "noise")
	writeFile(b.T, noise,
		fmt.Sprintf("#!/bin/sh\nyes 'a line of an agent that cannot stop talking' | head -c %d\n", b.flooded), 0o700)
	skim := start(b.T, "skim", task{Dir: b.TempDir(), Program: noise})
	floor := skim.play(b.T, 1)
	skim.end(b.T)
	dir := b.TempDir()
	const end = `; touch done; echo; echo "<promise>DONE</promise>"`
	writeFile(b.T, filepath.Join(dir, "agent.sh"),
		fmt.Sprintf("yes 'a line of an agent that cannot stop talking' | head -c %d", b.flooded)+end+"\n", 0o600)
	peak := b.peakOf(0, plainEnv(), "run", "print", "-C", dir, "--sandbox", "bwrap", "--agent-cmd", "sh agent.sh",
		"--check", "test -f done")
	b.add(row{
		What: fmt.Sprintf("peak memory of `ralph run`, %s of output in bwrap", megabytes(b.flooded)), Unit: "MB",
		Value: float64(peak) / 1e6, Floor: float64(floor.Peak) / 1e6,
		Of:  "reading it and looking for a tag",
		Aim: aim{valueAtMost, 64},
	})
}

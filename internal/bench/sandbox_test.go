//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// sandboxes measures what each tier adds to the start of an agent, beside the same agent without one.
func (b *bench) sandboxes() {
	for _, s := range []struct {
		tier sandbox.Tier
		aim  float64 // milliseconds more
	}{{sandbox.Landlock, 2}, {sandbox.Bwrap, 25}} {
		err := containment.Try(context.Background(), s.tier, plainEnv())
		if _, missing := errors.AsType[*containment.Unavailable](err); missing {
			b.Logf("not measured: %v", err)
			continue
		}
		if err != nil {
			b.Fatal(err)
		}
		room, err := containment.Open(b.Context(), containment.Options{Tier: s.tier, Run: "bench", Env: plainEnv()})
		if err != nil {
			b.Fatal(err)
		}
		home := b.TempDir()
		enter := room.Enter(containment.Place{Home: home, Workspace: b.TempDir()})
		var more, floors []float64
		for range b.starts {
			floor, value := b.startAgent(nil), b.startAgent(enter)
			more, floors = append(more, value-floor), append(floors, floor)
		}
		if err := room.Close(); err != nil {
			b.Error(err)
		}
		b.add(row{
			What: fmt.Sprintf("sandbox %s, added to the start of an agent (wall)", s.tier), Unit: "ms",
			Value: max(median(more), 0.01),
			Floor: median(floors), Of: "sh -c : without a sandbox", Aim: aim{valueAtMost, s.aim},
		})
	}
}

func (b *bench) startAgent(enter func(*process.Spec)) float64 {
	spec := process.Spec{Argv: process.Shell(":"), Env: plainEnv(), Guarded: true}
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

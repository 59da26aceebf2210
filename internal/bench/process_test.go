//go:build linux

package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// crowds measures the memory of many loops at once, each with a working agent.
func (b *bench) crowds() {
	work := task{Dir: b.TempDir(), State: b.TempDir(), Loops: b.crowd}
	var values, floors, resident []float64
	for range max(1, b.rounds/5) {
		work.State = b.TempDir()
		loops, bare := start(b.T, "crowd", work), start(b.T, "bare crowd", work)
		value, floor := loops.play(b.T, 1), bare.play(b.T, 1)
		values, floors = append(values, float64(value.Shared)/1e6), append(floors, float64(floor.Shared)/1e6)
		resident = append(resident, float64(value.Resident)/1e6)
		loops.end(b.T)
		bare.end(b.T)
	}
	b.add(row{
		What: fmt.Sprintf("%d loops in one process, each with an agent at work (PSS)",
			b.crowd), Unit: "MB", Value: median(values), Floor: median(floors),
		Of: "the same agents under a bare Go program", Aim: aim{
			valueAtMost, 40,
		}, Note: fmt.Sprintf("RSS is %.1f MB", median(resident)),
	})
}

// coldStart measures the minimum cost of every call of the program.
func (b *bench) coldStart() {
	var wall, wallFloor, cpu, cpuFloor, hook []float64
	state := b.TempDir()
	for range b.starts {
		trivial := exec.Command(b.stamp)
		trivial.Env = plainEnv()
		began := time.Now()
		if err := trivial.Run(); err != nil {
			b.Fatal(err)
		}
		wallFloor = append(wallFloor, milliseconds(time.Since(began)))
		cpuFloor = append(cpuFloor, milliseconds(trivial.ProcessState.UserTime()+trivial.ProcessState.SystemTime()))
		used := b.runRalph(state, 0, "version")
		wall, cpu = append(wall, milliseconds(used.wall)), append(cpu, milliseconds(used.cpu))
		hook = append(hook, milliseconds(b.idleHook(state)))
	}
	b.add(row{
		What: "`ralph version` (CPU)", Unit: "ms", Value: median(cpu), Floor: median(cpuFloor), Of: "the smallest Go program",
		Aim: aim{valueAtMost, 5},
	})
	b.add(row{
		What: "`ralph version` (wall)", Unit: "ms", Value: median(wall), Floor: median(wallFloor),
		Of: "the smallest Go program", Aim: aim{valueAtMost, 5},
		Note: fmt.Sprintf("the least of %d was %.1f ms", len(wall), slices.Min(wall)),
	})
	b.add(row{
		What: "`ralph hook stop` without a goal (wall)", Unit: "ms", Value: median(hook), Floor: median(wall),
		Of: "`ralph version`", Aim: aim{ratioAtMost, 3},
	})
}

// idleHook measures the Stop hook of a session without a goal, which every turn of every session pays for.
func (b *bench) idleHook(state string) time.Duration {
	b.Helper()
	command := exec.Command(b.ralph, "hook", "stop")
	command.Env = append(plainEnv(), "RALPH_STATE_DIR="+state)
	command.Stdin = strings.NewReader(`{"session_id":"S-1","cwd":"` + b.TempDir() + `","hook_event_name":"Stop"}`)
	began := time.Now()
	if out, err := command.CombinedOutput(); err != nil || len(out) > 0 {
		b.Fatalf("ralph hook stop: %v\n%s", err, out)
	}
	return time.Since(began)
}

// longRun measures a run that already has many iterations: the cost of the next ones, and of
// resuming it.
func (b *bench) longRun() {
	const slice = 10
	agent := filepath.Join(b.TempDir(), "agent.sh")
	writeFile(b.T, agent, talker+"\n", 0o600)
	work := task{Dir: b.TempDir(), State: b.TempDir(), Agent: ". " + agent}
	old := start(b.T, "loop", work)
	fresh := start(b.T, "loop", task{Dir: b.TempDir(), State: b.TempDir(), Agent: work.Agent})
	young := max(1, b.history/100)
	turns := max(1, b.history/50/slice)
	fresh.play(b.T, young)
	before := old.play(b.T, young)
	after := old.play(b.T, b.history-young-(turns+1)*slice)
	m := compete(b.T, old, fresh, turns, slice)
	b.add(row{
		What: fmt.Sprintf("CPU of iteration %d", b.history), Unit: "ms", Value: m.value, Floor: m.floor, Ratio: m.ratio,
		Of: fmt.Sprintf("iteration %d", young), Aim: aim{ratioAtMost, 1.1},
		Note: fmt.Sprintf("the last %d iterations of one run and, in turns, the %d after iteration %d of another; "+
			"resident memory %.1f MB after %d, %.1f MB at the end",
			turns*slice, turns*slice, young, float64(before.Resident)/1e6, young, float64(after.Resident)/1e6),
	})
	old.end(b.T)
	b.resume(work, agent)
}

// resume measures the time from the call to the start of the next agent: the whole log is read and
// verified before that.
func (b *bench) resume(work task, agent string) {
	stamps := b.stamper("'<promise>BLOCKED:that will do</promise>'")
	writeFile(b.T, agent, "exec "+stamps.command+"\n", 0o600)
	startOf := func(used usage) float64 { return milliseconds(stamps.take(b.T)[0].start.Sub(used.began)) }
	var values, floors, cpu, cpuFloor []float64
	for range max(1, b.starts/3) {
		used := b.runRalph(work.State, 2, "resume", "-C", work.Dir, "--quiet")
		values, cpu = append(values, startOf(used)), append(cpu, milliseconds(used.cpu))
		used = b.runRalph(b.TempDir(), 2, "run", "measure", "-C", b.TempDir(), "--quiet", "--allow-unverified", "--agent-cmd",
			work.Agent)
		floors, cpuFloor = append(floors, startOf(used)), append(cpuFloor, milliseconds(used.cpu))
	}
	b.add(row{
		What: fmt.Sprintf("resume of a run of %d iterations, to the agent's start (wall)",
			b.history), Unit: "ms", Value: median(values), Floor: median(floors),
		Of: "`ralph run`, to the agent's start", Aim: aim{ratioAtMost, 10},
		Note: fmt.Sprintf("the whole log is read and verified; the least of %d was %.0f ms", len(values), slices.Min(values)),
	})
	b.add(row{
		What: "the same, CPU of the whole call with one iteration", Unit: "ms", Value: median(cpu), Floor: median(cpuFloor),
		Of: "`ralph run` of one iteration",
	})
}

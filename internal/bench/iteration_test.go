//go:build linux

package bench

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// transcript is the output of a small agent: two kilobytes of text without a claim.
var transcript = strings.Repeat("I looked at the handler and at the tests beside it; the method check comes too "+
	"late.\n", 24)

// talker is the command line of an agent that prints the transcript. It is the cheapest agent
// possible, the shell itself, so that the agent's cost does not hide the harness's.
var talker = "echo '" + transcript + "'"

// iteration measures a plain iteration: agent and durable log.
func (b *bench) iteration() {
	work := task{Dir: b.TempDir(), State: b.TempDir(), Agent: talker}
	m := compete(b.T, start(b.T, "loop", work), start(b.T, "bare loop", work), b.rounds, b.iterations)
	b.add(row{
		What: "CPU of an iteration, 2 KB transcript, durable log", Unit: "ms", Value: m.value, Floor: m.floor, Ratio: m.ratio,
		Of: "bare Go loop, same sh -c", Aim: aim{ratioAtMost, 2.5},
	})
}

// checkedIteration adds a check and a fingerprint.
func (b *bench) checkedIteration() {
	work := task{Dir: repository(b.T), State: b.TempDir(), Agent: talker, Tree: true, Checks: []string{"true"}}
	work.Commands = [][]string{{"sh", "-c", "true"}, {"git", "status"}}
	m := compete(b.T, start(b.T, "loop", work), start(b.T, "bare loop", work), b.rounds, b.iterations)
	b.add(row{
		What: "the same with one check and the fingerprint", Unit: "ms", Value: m.value, Floor: m.floor, Ratio: m.ratio,
		Of: "that + sh -c true + git status", Aim: aim{ratioAtMost, 1.5},
	})
}

// repository creates a small repository: fifty files, one of them changed, one new.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 50 {
		writeFile(t, filepath.Join(dir, fmt.Sprintf("file%02d.txt", i)), transcript, 0o600)
	}
	git := func(args ...string) {
		t.Helper()
		command := exec.Command("git",
			append([]string{"-C", dir, "-c", "user.name=bench", "-c", "user.email=bench@example.com"}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "base")
	writeFile(t, filepath.Join(dir, "file07.txt"), "changed\n", 0o600)
	writeFile(t, filepath.Join(dir, "new.txt"), "new\n", 0o600)
	return dir
}

// wholeProgram measures `ralph run` from start to end, divided by its iterations.
func (b *bench) wholeProgram() {
	work := task{Dir: b.TempDir(), State: b.TempDir(), Agent: talker}
	bare := start(b.T, "bare loop", work)
	iterations := 5 * b.iterations
	var values, floors, ratios []float64
	for range max(1, b.rounds/3) {
		args := []string{
			"run", "measure", "-C", work.Dir, "--quiet", "--allow-unverified", "--agent-cmd", work.Agent, "-n",
			fmt.Sprint(iterations),
		}
		for _, off := range breakerOff {
			args = append(args, "--set", off)
		}
		used := b.runRalph(work.State, 1, args...)
		value, floor := perIteration(used.cpu, iterations), perIteration(bare.play(b.T, iterations).cpu(), iterations)
		values, floors, ratios = append(values, value), append(floors, floor), append(ratios, value/floor)
	}
	b.add(row{
		What: fmt.Sprintf("CPU of an iteration, `ralph run` of %d, start and end included", iterations), Unit: "ms",
		Value: median(values), Floor: median(floors), Ratio: median(ratios), Of: "bare Go loop, same sh -c",
	})
}

// usage is the cost of one call of a program.
type usage struct {
	began time.Time
	wall  time.Duration
	cpu   time.Duration
}

// runRalph runs the program and requires the given exit code.
func (b *bench) runRalph(state string, code int, args ...string) usage {
	b.Helper()
	command := exec.Command(b.ralph, args...)
	command.Env = append(plainEnv(), "RALPH_STATE_DIR="+state)
	began := time.Now()
	out, _ := command.CombinedOutput()
	wall := time.Since(began)
	if got := command.ProcessState.ExitCode(); got != code {
		b.Fatalf("ralph %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return usage{began, wall, command.ProcessState.UserTime() + command.ProcessState.SystemTime()}
}

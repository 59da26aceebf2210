package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/runlog"
)

// workPieces is how many pieces of work the run under test takes, and its limit. If an interrupted
// iteration counted, or work counted twice, the run would end with 1 before the work is done.
const workPieces = 5

// TestKillNine kills a run with SIGKILL at a random moment and resumes it, again and again. Nothing
// may be lost, nothing may be counted twice, no budget may shrink, and no process may stay behind.
//
// An iteration that was interrupted before its agent exited does not count, although its piece of
// work may be in the tree: a fresh agent finds it there. One that was interrupted after its agent
// exited is judged once, by what it left.
func TestKillNine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent is a shell script")
	}
	kills := killCount(t)
	whole := newVictim(t)
	began := time.Now()
	if code, _ := whole.ralph("run", "--json"); code != 0 {
		t.Fatalf("the run without a kill ended with %d", code)
	}
	duration := time.Since(began)
	dice := rand.New(rand.NewPCG(2, 9))
	for i := range kills {
		delay := time.Duration(dice.Float64() * float64(duration))
		t.Run(fmt.Sprintf("%03d", i), func(t *testing.T) {
			t.Parallel()
			newVictim(t).killAndResume(delay)
		})
	}
}

// defaultKills is how many kills fit into a run of all tests; the long run raises it.
var defaultKills = 20

// killCount returns the usual number, fewer in a short run, or what the environment asks for.
func killCount(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("RALPH_TEST_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return 5
	}
	return defaultKills
}

// victim is a workspace with a fake claude. Each of its iterations adds a line to a file, and it
// claims completion at the fifth.
type victim struct {
	t         *testing.T
	workspace string
	state     string
	env       []string
}

// victimAgent adds the number of its iteration and reports a cost. It knows the number from the
// folder that Ralph keeps for the iteration.
const victimAgent = `#!/bin/sh
cat >/dev/null
n=$(ls %[1]s/*/runs/*/iterations | tail -n 1)
test $(cat work 2>/dev/null | wc -l) -ge %[2]d || echo $n >>work
sleep 0.02
text="One more piece."
test $(wc -l <work) -ge %[2]d && text='All done.\n\n<promise>COMPLETE</promise>'
printf '{"type":"assistant","message":{"id":"m","role":"assistant",'\
'"content":[{"type":"text","text":"%%s"}]},"parent_tool_use_id":null,"session_id":"s"}\n' "$text"
printf '{"type":"result","subtype":"success","is_error":false,"session_id":"s","num_turns":1,'\
'"result":"","total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":1},"permission_denials":[]}\n'
`

func newVictim(t *testing.T) *victim {
	t.Helper()
	base := t.TempDir()
	v := &victim{t: t, workspace: filepath.Join(base, "project"), state: filepath.Join(base, "state")}
	bin := filepath.Join(base, "bin")
	for _, dir := range []string{v.workspace, bin} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	agent := fmt.Sprintf(victimAgent, v.state, workPieces)
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte(agent), 0o755); err != nil {
		t.Fatal(err)
	}
	v.env = []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + base,
		"RALPH_STATE_DIR=" + v.state,
		"RALPH_SANDBOX__MODE=none", "RALPH_AGENT__ENV=*",
		"TMPDIR=" + base,
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GORACE=" + raceOptions,
	}
	git := exec.Command("git", "init", "-q", v.workspace)
	git.Env = v.env
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return v
}

func (v *victim) command(args ...string) *exec.Cmd {
	if args[0] == "run" {
		args = append(args, "goal", "--agent", "claude", "-n", strconv.Itoa(workPieces), "--max-cost", "100",
			"--check", fmt.Sprintf("test $(wc -l <work) -ge %d", workPieces))
	}
	cmd := exec.Command("ralph", args...)
	cmd.Dir, cmd.Env = v.workspace, v.env
	return cmd
}

// ralph runs a command to its end and returns its status and output.
func (v *victim) ralph(args ...string) (int, []byte) {
	v.t.Helper()
	cmd := v.command(args...)
	var out, chatter bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &chatter
	err := cmd.Run()
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		v.t.Fatalf("ralph %s: %v", args[0], err)
	}
	v.t.Logf("ralph %s: exit status %d\n%s%s", args[0], cmd.ProcessState.ExitCode(), &chatter, &out)
	return cmd.ProcessState.ExitCode(), out.Bytes()
}

func (v *victim) killAndResume(delay time.Duration) {
	t := v.t
	run := v.command("run", "--json")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(delay) // this test varies the moment of the kill
	_ = run.Process.Kill()
	_ = run.Wait()
	t.Logf("killed after %s", delay)

	store, err := runlog.Open(v.state, v.workspace)
	if err != nil {
		t.Fatal(err)
	}
	id, err := store.Resolve("")
	// killed before it printed anything: there is nothing to resume, and nothing in the way
	if errors.Is(err, runlog.ErrNoRun) {
		if code, _ := v.ralph("resume", "--json"); code != ralph.ExitUsage {
			t.Fatalf("resume of nothing ended with %d", code)
		}
		if code, _ := v.ralph("run", "--json"); code != 0 {
			t.Fatalf("the next run ended with %d", code)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := recordedState(store, id)
	if err != nil {
		t.Fatalf("read the log that the kill left: %v", err)
	}
	code, out := v.ralph("resume", "--json")
	if code != 0 {
		t.Fatalf("resume ended with %d", code)
	}
	var result ralph.Result
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatal(err)
	}
	v.checkResult(before, result)
	v.checkLog(store, result)
	v.checkNoProcessesLeft(id)
}

// checkResult compares the end with what was known at the kill, and with the work in the tree.
func (v *victim) checkResult(state *fold.State, after ralph.Result) {
	t := v.t
	t.Helper()
	before := state.Result()
	if after.RunID != before.RunID || after.Status != ralph.StatusCompleted || !after.Verified {
		t.Errorf("ended as %s %s, verified %t", after.RunID, after.Status, after.Verified)
	}
	if after.TotalDuration < before.TotalDuration {
		t.Errorf("the time went down from %s to %s", before.TotalDuration, after.TotalDuration)
	}
	for i, was := range state.Iterations { // only judged iterations; an open one is not included
		if diff := cmp.Diff(was, after.Iterations[i]); diff != "" {
			t.Errorf("iteration %d changed (-before +after):\n%s", i+1, diff)
		}
	}
	text, err := os.ReadFile(filepath.Join(v.workspace, "work"))
	if err != nil {
		t.Fatal(err)
	}
	worked := strings.Fields(string(text))
	if len(worked) != workPieces || !slices.IsSorted(worked) || len(slices.Compact(slices.Clone(worked))) != workPieces {
		t.Errorf("pieces of work by iteration: %v, want %d different ones in order", worked, workPieces)
	}
	counted := 0
	for i, iteration := range after.Iterations {
		if iteration.Iteration != i+1 {
			t.Errorf("iteration %d stands at place %d", iteration.Iteration, i+1)
		}
		cut := iteration.Error != nil && *iteration.Error == "interrupted"
		if iteration.Counted == cut {
			t.Errorf("iteration %d: counted %t, error %v", i+1, iteration.Counted, iteration.Error)
		}
		if iteration.Counted {
			counted++
		}
		last := i == len(after.Iterations)-1
		if number := fmt.Sprintf("%04d", i+1); iteration.Counted && !last && !slices.Contains(worked, number) {
			t.Errorf("iteration %d is counted, and its work is lost: %v", i+1, worked)
		}
	}
	if want := 0.25 * float64(counted); after.TotalCost == nil || *after.TotalCost != want ||
		before.TotalCost != nil && *before.TotalCost > want {
		t.Errorf("cost %v of %d counted iterations, before %v", after.TotalCost, counted, before.TotalCost)
	}
}

// checkLog reads the log once more: it must have numbers without a gap, one verdict for each
// iteration that was not cut, and the same decisions again.
func (v *victim) checkLog(store *runlog.Store, result ralph.Result) {
	t := v.t
	t.Helper()
	var started, judged, cut []int
	var stops, seq int64
	var events []ralph.Event
	err := store.Read(result.RunID, func(e ralph.Event, _ []byte) error {
		events = append(events, e)
		if seq++; e.Seq != seq {
			t.Errorf("event %d stands at place %d", e.Seq, seq)
		}
		switch data := e.Data.(type) {
		case ralph.IterationStarted:
			started = append(started, e.Iteration)
		case ralph.VerdictReached:
			judged = append(judged, e.Iteration)
		case ralph.RunStopped:
			stops++
		case ralph.RunResumed:
			if data.Interrupted > 0 {
				cut = append(cut, data.Interrupted)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if stops != 1 {
		t.Errorf("the run was stopped %d times", stops)
	}
	var numbers []int
	for i := range result.TotalIterations {
		numbers = append(numbers, i+1)
	}
	if diff := cmp.Diff(numbers, started); diff != "" {
		t.Errorf("iterations started (-want +got):\n%s", diff)
	}
	ended := slices.Sorted(slices.Values(append(judged, cut...)))
	if diff := cmp.Diff(numbers, ended); diff != "" {
		t.Errorf("iterations judged or cut (-want +got):\n%s", diff)
	}
	v.checkReplay(events)
}

func (v *victim) checkReplay(events []ralph.Event) {
	v.t.Helper()
	again, err := fold.Replay(func(yield func(ralph.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}, func(p ralph.Policy) ralph.Policy { return p })
	if err != nil {
		v.t.Fatal(err)
	}
	for _, j := range again {
		if !j.Same() {
			v.t.Errorf("iteration %d: the log says %+v, and a replay %+v", j.Iteration, j.Recorded, j.Again)
		}
	}
}

// checkNoProcessesLeft looks for processes with the marker of the run.
func (v *victim) checkNoProcessesLeft(run string) {
	v.t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		v.t.Fatal(err)
	}
	for _, path := range environs {
		environ, err := os.ReadFile(path)
		if err == nil && bytes.Contains(environ, []byte(run)) {
			v.t.Errorf("a process of the run is alive: %s", path)
		}
	}
}

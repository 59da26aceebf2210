//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// escaping is a tool that runs forever and leaves children outside of any known process group.
// Claude Code refuses to wait for a sleep, hence the loops.
const escaping = `setsid sh -c 'while :; do sleep 1; done' >/dev/null 2>&1 & sh -c 'while :; do sleep 1; done' & ` +
	`touch started; while :; do sleep 1; done`

// interruptible returns a model that is silent, one that answers slowly, and one that runs a tool.
func interruptible(t *testing.T) scriptedmodel.Script {
	t.Helper()
	return parse(t, `{
		"call": {"conversations": [[{"faults": [{"do": "hang", "forever": true}]}]]},
		"text": {"conversations": [[{"text": "`+strings.Repeat("One word after the other. ", 20)+`", "pace": "30ms"}]]},
		"tool": {"conversations": [[{"tools": [{"shell": `+strconv.Quote(escaping)+`}]}, {"text": "over"}]]}
	}`)
}

func TestInterruptedTool(t *testing.T) {
	both(t, func(t *testing.T, cli agentCLI) {
		w := newWorld(t, cli, interruptible(t), "tool")
		r := w.start("--check", "true", "--yolo")
		w.untilFile("started")
		if len(w.processes()) < 4 {
			t.Errorf("the tool runs, but only %v are there", w.processes())
		}
		r.send(syscall.SIGINT, syscall.SIGINT)
		o := r.wait()
		if o.code != 130 || o.result.StopReason != "interrupted" {
			t.Errorf("exit status %d: %s\n%s", o.code, o.stdout, o.stderr)
		}
		w.mustBeQuiet()
	})
}

// send sends signals one after another. It waits until the first one was noticed, because two pending signals of one
// kind count as one. A run that ends early, or does not handle signals yet, never says so; then it gives up waiting.
func (r *running) send(signals ...syscall.Signal) {
	for i, signal := range signals {
		for deadline := time.Now().Add(3 * time.Second); i > 0 && time.Now().Before(deadline) &&
			!strings.Contains(r.stderr.String(), "press Ctrl-C again"); {
			time.Sleep(20 * time.Millisecond)
		}
		r.signal(signal)
	}
}

// untilFile waits for a file of the project.
func (w *world) untilFile(name string) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(w.project, name)); err == nil {
			return
		}
	}
	w.t.Fatalf("%s did not appear\n%s", name, w.agentLog())
}

// processes returns the processes whose environment names this world's home: everything that
// belongs to the run.
func (w *world) processes() []string {
	w.t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || entries == nil {
		w.t.Skip("there is no /proc to look for processes in")
	}
	var found []string
	for _, entry := range entries {
		environ, err := os.ReadFile(entry)
		if err != nil || !bytes.Contains(environ, []byte("HOME="+w.home)) {
			continue // gone, or owned by another user
		}
		dir := filepath.Dir(entry)
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if stat, _ := os.ReadFile(filepath.Join(dir, "stat")); !bytes.Contains(stat, []byte(") Z ")) && len(stat) > 0 {
			found = append(found, filepath.Base(dir)+" "+string(bytes.ReplaceAll(command, []byte{0}, []byte(" "))))
		}
	}
	return found
}

// mustBeQuiet gives the system one second to clean up killed processes.
func (w *world) mustBeQuiet() {
	w.t.Helper()
	for deadline := time.Now().Add(time.Second); len(w.processes()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Errorf("processes of the run are alive: %q", w.processes())
			return
		}
	}
}

// stop is one way and moment to end a run.
type stop struct {
	number  int
	cli     agentCLI
	state   string        // what the model does
	reached bool          // wait for that state before the delay
	delay   time.Duration // then
	signals []syscall.Signal
}

func (s stop) String() string {
	return fmt.Sprintf("%d: %s, %s reached %v, after %s, %v", s.number, s.cli.name, s.state, s.reached, s.delay, s.signals)
}

// randomStops returns the same stops for the same seed.
func randomStops(seed uint64, each int) []stop {
	random := rand.New(rand.NewPCG(seed, 0))
	ways := [][]syscall.Signal{{syscall.SIGTERM}, {syscall.SIGINT, syscall.SIGINT}, {syscall.SIGINT}}
	var stops []stop
	for i := range each {
		for _, cli := range []agentCLI{claude, codex} {
			s := stop{
				number: len(stops), cli: cli, state: []string{"call", "text", "tool", "tool"}[random.IntN(4)],
				reached: random.IntN(2) == 0, signals: ways[i%len(ways)],
			}
			if len(s.signals) == 1 && s.signals[0] == syscall.SIGINT {
				s.state = "text" // it lets the iteration finish, so there must be one
			}
			longest := 1500 * time.Millisecond
			if s.reached {
				longest = 300 * time.Millisecond
			}
			s.delay = time.Duration(random.Int64N(int64(longest)))
			stops = append(stops, s)
		}
	}
	return stops
}

// Whenever and however a run is stopped, it leaves no process behind.
func TestStoppedAtRandomMoments(t *testing.T) {
	seed := uint64(20261115)
	if given, err := strconv.ParseUint(os.Getenv("RALPH_E2E_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("seed %d", seed)
	script := interruptible(t)
	turns := make(chan struct{}, 3) // number of concurrent runs
	var all sync.WaitGroup
	for _, s := range randomStops(seed, 25) {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			t.Run(s.String(), func(t *testing.T) { s.try(t, script) })
		})
	}
	all.Wait()
}

func (s stop) try(t *testing.T, script scriptedmodel.Script) {
	asked := make(chan struct{}, 1)
	w := newWorld(t, s.cli, script, s.state, scriptedmodel.Observe(func(scriptedmodel.Request) {
		select {
		case asked <- struct{}{}:
		default: // reported already
		}
	}))
	r := w.start("--check", "false", "--yolo", "-n", "1")
	if s.reached && s.state == "tool" {
		w.untilFile("started")
	} else if s.reached {
		select {
		case <-asked:
		case <-time.After(2 * time.Minute):
			t.Fatal("the CLI never asked its model")
		}
	}
	time.Sleep(s.delay)
	r.send(s.signals...)
	code := r.end()
	w.mustBeQuiet()
	started := w.events("agent_started") != nil
	switch {
	case !started && code == -1: // it did not handle signals yet
	case s.signals[0] == syscall.SIGTERM && code == 143, s.signals[0] == syscall.SIGINT && code == 130:
	case len(s.signals) == 1 && code == 1: // the only iteration had already ended
	default:
		t.Errorf("exit status %d, agent started %v\n%s", code, started, r.stderr.String())
	}
}

//go:build linux

package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// task is a player's assignment. Not every role needs all of it.
type task struct {
	Dir      string     // the workspace
	State    string     // the state folder
	Agent    string     // the agent's command line
	Program  string     // the agent's program, if it is a known CLI
	Checks   []string   // the loop's checks
	Commands [][]string // what the bare loop runs in addition to the agent
	Tree     bool       // the loop examines the workspace
	Loops    int        // how many at once
}

// turn is what a player used in one turn.
type turn struct {
	Own      time.Duration // CPU of the player's process
	Children time.Duration // CPU of its child processes
	Resident int64         // bytes, at the end of the turn
	Shared   int64         // the same, with shared pages counted in part
	Peak     int64         // the peak
	Bytes    int64         // output read
}

func (t turn) cpu() time.Duration { return t.Own + t.Children }

// player is a process that does a number of iterations on request, and nothing else.
type player struct {
	command *exec.Cmd
	orders  io.WriteCloser
	answers *bufio.Reader
}

// start starts a player, which ends with the test.
func start(t *testing.T, role string, task task) *player {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{command: exec.Command(self(t), string(text))}
	p.command.Env = append(plainEnv(), roleVariable+"="+role)
	p.command.Stderr = os.Stderr
	if p.orders, err = p.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	answers, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.answers = bufio.NewReader(answers)
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(t) })
	return p
}

// end stops the player. A second call does nothing.
func (p *player) end(t *testing.T) {
	t.Helper()
	if p.command.ProcessState != nil {
		return
	}
	p.orders.Close()
	if err := p.command.Wait(); err != nil {
		t.Errorf("player: %v", err)
	}
}

// play makes the player do the given number of iterations and returns what they used.
func (p *player) play(t *testing.T, iterations int) turn {
	t.Helper()
	if _, err := fmt.Fprintln(p.orders, iterations); err != nil {
		t.Fatal(err)
	}
	line, err := p.answers.ReadString('\n')
	if err != nil {
		t.Fatalf("player: %v", err)
	}
	var used turn
	if err := json.Unmarshal([]byte(line), &used); err != nil {
		t.Fatal(err)
	}
	return used
}

// match is the result of two players that took turns: medians of the rounds, in milliseconds of CPU
// per iteration.
type match struct{ value, floor, ratio float64 }

// compete lets two players take turns.
func compete(t *testing.T, a, b *player, rounds, iterations int) match {
	t.Helper()
	a.play(t, iterations) // the first turn of both warms the caches
	b.play(t, iterations)
	var values, floors, ratios []float64
	for range rounds {
		value, floor := perIteration(a.play(t, iterations).cpu(),
			iterations), perIteration(b.play(t, iterations).cpu(), iterations)
		values, floors, ratios = append(values, value), append(floors, floor), append(ratios, value/floor)
	}
	return match{median(values), median(floors), median(ratios)}
}

// perIteration returns the share of one iteration, in milliseconds.
func perIteration(total time.Duration, iterations int) float64 {
	return milliseconds(total) / float64(iterations)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// plainEnv returns the environment without variables that affect ralph.
func plainEnv() []string {
	env := []string{
		"RALPH_SANDBOX__MODE=none", "RALPH_AGENT__ENV=*",
		"GORACE=atexit_sleep_ms=0", // with the race detector every process would sleep for a second at its end
	}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "RALPH_") {
			env = append(env, entry)
		}
	}
	return env
}

// clock is the player's side of the connection.
type clock struct {
	orders        *bufio.Scanner
	own, children time.Duration // when the turn began
	bytes         int64         // read in this turn
}

func newClock() *clock { return &clock{orders: bufio.NewScanner(os.Stdin)} }

// begin waits for the player's turn and returns the number of iterations; false when there are no
// more turns.
func (c *clock) begin() (iterations int, ok bool) {
	if !c.orders.Scan() {
		return 0, false
	}
	if _, err := fmt.Sscan(c.orders.Text(), &iterations); err != nil {
		return 0, false
	}
	c.own, c.children, c.bytes = cpuOf(syscall.RUSAGE_SELF), cpuOf(syscall.RUSAGE_CHILDREN), 0
	return iterations, true
}

// finish ends the turn.
func (c *clock) finish() error {
	used := turn{
		Own: cpuOf(syscall.RUSAGE_SELF) - c.own, Children: cpuOf(syscall.RUSAGE_CHILDREN) - c.children, Bytes: c.bytes,
		Resident: memoryOf("self", "status", "VmRSS"), Peak: memoryOf("self", "status", "VmHWM"),
		Shared: memoryOf("self", "smaps_rollup", "Pss"),
	}
	text, err := json.Marshal(used)
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(text))
	return err
}

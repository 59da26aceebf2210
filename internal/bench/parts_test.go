//go:build linux

package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/cli"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/loop"
	"github.com/ralphloop/ralph/runlog"
)

// parts are the roles that take turns. Each plays until no more turns are requested.
var parts = map[string]func(task) error{
	"loop": playLoop, "bare loop": playBareLoop,
	"listen": playListen, "skim": playSkim,
	"crowd": playCrowd, "bare crowd": playBareCrowd,
	"keeper": playKeeper,
	"worker": playWorker, "bare client": playBareClient,
}

// playLoop runs the product, assembled as the command line does it.
func playLoop(task task) error {
	if err := process.OwnOrphans(); err != nil {
		return err
	}
	clock := newClock()
	left, ok := clock.begin()
	if !ok {
		return nil
	}
	loop, err := makeLoop(context.Background(), task, loop.WithObserver(func(e ralph.Event) {
		if e.Type != ralph.EvIterationStarted {
			return
		}
		for left == 0 {
			if err := clock.finish(); err != nil {
				panic(err)
			}
			if left, ok = clock.begin(); !ok {
				os.Exit(0) // like a power cut: the log of this run will be resumed
			}
		}
		left--
	}))
	if err != nil {
		return err
	}
	result, err := loop.Run(context.Background())
	return errors.Join(err, fmt.Errorf("the run ended by itself: %s", result.Summary))
}

// makeLoop returns a loop with a durable log.
func makeLoop(ctx context.Context, task task, more ...loop.Option) (*loop.Loop, error) {
	env := config.NewEnv(append(plainEnv(), "RALPH_STATE_DIR="+task.State))
	loaded, err := config.Load(config.Input{
		Env: env, Set: breakerOff,
		Flags: map[string][]string{
			"agent-cmd": {task.Agent}, "max-iterations": {"1000000"}, "check": task.Checks, "allow-unverified": {"true"},
		},
	})
	if err != nil {
		return nil, err
	}
	workspace, err := workspace.Find(ctx, task.Dir, task.Dir, env)
	if err != nil {
		return nil, err
	}
	goal := "measure"
	plan, err := assembly.Prepare(ctx, assembly.Request{
		Env: env, Settings: loaded.Settings, Workspace: workspace, Goal: &goal, Version: "bench",
	})
	if err != nil {
		return nil, err
	}
	store, err := runlog.Open(task.State, workspace.Dir)
	if err != nil {
		return nil, err
	}
	run := ralph.NewRunID(time.Now())
	log, err := store.Create(run) // closed when the process ends
	if err != nil {
		return nil, err
	}
	options := []loop.Option{loop.WithRecorder(log), loop.WithInbox(log)}
	if !task.Tree {
		options = append(options, loop.WithTree(nil))
	}
	return plan.Loop(ctx, run, assembly.Places{Snapshots: store.SnapshotsOf(nil)}, append(options, more...)...)
}

// breakerOff lets an agent continue although it does nothing.
var breakerOff = []string{
	"breaker.no_progress=0", "breaker.same_error=0", "breaker.permission_denials=0", "breaker.output_decline=0",
}

// playBareLoop starts the same processes and reads their output, and nothing else.
func playBareLoop(task task) error {
	commands := append([][]string{{"sh", "-c", task.Agent}}, task.Commands...)
	for clock := newClock(); ; {
		iterations, ok := clock.begin()
		if !ok {
			return nil
		}
		for range iterations {
			for _, argv := range commands {
				if _, err := spawn(argv, task.Dir, io.Discard); err != nil {
					return err
				}
			}
		}
		if err := clock.finish(); err != nil {
			return err
		}
	}
}

// spawn runs one command and returns how much it printed.
func spawn(argv []string, dir string, to io.Writer) (int64, error) {
	command := exec.Command(argv[0], argv[1:]...)
	command.Dir = dir
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := command.Start(); err != nil {
		return 0, err
	}
	n, err := io.Copy(to, out)
	return n, errors.Join(err, command.Wait())
}

// playListen reads an agent that prints stream-json, as an iteration does. An iteration is one
// complete stream.
func playListen(task task) error {
	if err := process.OwnOrphans(); err != nil {
		return err
	}
	dialect, _ := agent.Find("claude")
	listener := agent.New(agent.Options{Dialect: dialect, Path: task.Program, Env: plainEnv()})
	for clock := newClock(); ; {
		iterations, ok := clock.begin()
		if !ok {
			return nil
		}
		for range iterations {
			outcome, err := listener.Run(context.Background(), ralph.AgentInput{
				Dir: task.Dir, Folder: task.Dir, Live: func(ralph.Activity) {},
			})
			if err != nil {
				return err
			}
			if outcome.End != ralph.EndOK || outcome.Tools["Write"] == 0 || outcome.Tokens == nil || !outcome.Said.Text {
				return fmt.Errorf("the stream was not understood: %+v", outcome)
			}
			clock.bytes += outcome.OutputBytes
		}
		if err := clock.finish(); err != nil {
			return err
		}
	}
}

// playSkim reads the same stream and searches its bytes for a tag.
func playSkim(task task) error {
	for clock := newClock(); ; {
		iterations, ok := clock.begin()
		if !ok {
			return nil
		}
		for range iterations {
			n, err := spawn([]string{task.Program}, task.Dir, tagFinder{})
			if err != nil {
				return err
			}
			clock.bytes += n
		}
		if err := clock.finish(); err != nil {
			return err
		}
	}
}

type tagFinder struct{}

func (tagFinder) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("<promise>")) {
		return 0, errors.New("the stream should hold no tag")
	}
	return len(p), nil
}

// waiting is an agent that prints something and then waits for a long time.
const waiting = "echo thinking; exec sleep 1000"

// playCrowd runs many loops at once, each with a working agent.
func playCrowd(task task) error {
	if err := process.OwnOrphans(); err != nil {
		return err
	}
	clock := newClock()
	ctx, stop := context.WithCancel(context.Background())
	var atWork, done sync.WaitGroup
	defer done.Wait()
	defer stop()
	for {
		if _, ok := clock.begin(); !ok {
			return nil
		}
		for i := range task.Loops {
			own := task
			own.Agent, own.Dir = waiting, filepath.Join(task.Dir, fmt.Sprint(i))
			if err := os.MkdirAll(own.Dir, 0o700); err != nil {
				return err
			}
			atWork.Add(1)
			loop, err := makeLoop(ctx, own, loop.WithActivity(func(ralph.Activity) { atWork.Done() }))
			if err != nil {
				return err
			}
			done.Go(func() { _, _ = loop.Run(ctx) })
		}
		atWork.Wait()
		if err := clock.finish(); err != nil {
			return err
		}
	}
}

// playBareCrowd starts the same agents and waits for them.
func playBareCrowd(task task) error {
	clock := newClock()
	ctx, stop := context.WithCancel(context.Background())
	var atWork, done sync.WaitGroup
	defer done.Wait()
	defer stop()
	for {
		if _, ok := clock.begin(); !ok {
			return nil
		}
		for range task.Loops {
			atWork.Add(1)
			command := exec.CommandContext(ctx, "sh", "-c", waiting)
			command.Stdout = writerFunc(func() { atWork.Done() })
			if err := command.Start(); err != nil {
				return err
			}
			done.Go(func() { _ = command.Wait() })
		}
		atWork.Wait()
		if err := clock.finish(); err != nil {
			return err
		}
	}
}

// writerFunc is called when something is written.
type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// playRalph is the command line, for runs without a separate program to measure.
func playRalph() int { return cli.Main(context.Background(), cli.System()) }

// playStamp does what testdata/stamp does.
func playStamp() int {
	began := time.Now().UnixNano()
	if len(os.Args) < 2 {
		return 0
	}
	fmt.Println(strings.Join(os.Args[2:], " "))
	file, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	fmt.Fprintln(file, began, time.Now().UnixNano())
	return 0
}

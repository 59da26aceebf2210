package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/term"
)

// agentLog prints what the agent of a run said and did, one line per message or tool call. With
// raw, it copies the recorded output of the agent.
type agentLog struct {
	out    io.Writer
	output func(iteration int) string // the file with an iteration's output
	raw    bool

	agents    []string // of the run; an iteration names its agent by its index
	iteration int
	agent     string
	file      *os.File
	listener  io.WriteCloser
}

// see follows the run's events to know which agent's output comes next.
func (l *agentLog) see(e ralph.Event) error {
	switch data := e.Data.(type) {
	case ralph.RunStarted:
		l.agents = agentsOf(data.Agent, data.Policy)
	case ralph.RunResumed:
		l.agents = agentsOf(data.Agent, data.Policy)
	case ralph.IterationStarted:
		if err := l.close(); err != nil {
			return err
		}
		l.iteration, l.agent = e.Iteration, l.agents[min(data.Agent, len(l.agents)-1)]
		if !l.raw {
			fmt.Fprintf(l.out, "iteration %d, agent %s\n", l.iteration, term.Clean(l.agent))
		}
	case ralph.AgentOutcome:
		return l.close()
	}
	return nil
}

func agentsOf(first string, policy ralph.Policy) []string {
	if len(policy.Agents) > 0 {
		return policy.Agents
	}
	return []string{first}
}

// drain prints what the agent has written since the last call.
func (l *agentLog) drain() error {
	if l.iteration == 0 {
		return nil
	}
	if l.file == nil {
		file, err := os.Open(l.output(l.iteration))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read agent's output: %w", err)
		}
		l.file, l.listener = file, l.listen()
	}
	if _, err := io.Copy(l.listener, l.file); err != nil {
		return fmt.Errorf("read agent's output: %w", err)
	}
	return nil
}

func (l *agentLog) listen() io.WriteCloser {
	show := func(a ralph.Activity) {
		if line := term.ActivityLine(a); line != "" {
			fmt.Fprintln(l.out, line)
		}
	}
	if l.raw {
		return copier{l.out}
	}
	return assembly.ListenTo(l.agent, show)
}

// close prints the rest of an iteration's output and closes its file.
func (l *agentLog) close() error {
	err := l.drain()
	if l.file != nil {
		err = errors.Join(err, l.listener.Close(), l.file.Close())
	}
	l.file, l.iteration = nil, 0
	return err
}

// copier is a writer whose Close does nothing.
type copier struct{ io.Writer }

func (copier) Close() error { return nil }

// showAgent is `ralph logs --agent`.
func (c *logsCommand) showAgent(ctx context.Context, run foundRun) error {
	log := &agentLog{out: c.streams.Out, raw: c.wantsJSON(), output: func(iteration int) string {
		return run.store.AgentOutput(run.id, iteration)
	}}
	if !c.follow {
		err := run.store.Read(run.id, func(e ralph.Event, _ []byte) error { return log.see(e) })
		return errors.Join(err, log.close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, ended := make(chan ralph.Event), make(chan error, 1)
	go func() {
		ended <- run.store.Follow(ctx, run.id, func(e ralph.Event, _ []byte) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		var err error
		select {
		case e := <-events:
			err = log.see(e)
		case <-tick.C:
			err = log.drain()
		case err := <-ended:
			return errors.Join(err, log.close())
		}
		if err != nil {
			return err
		}
	}
}

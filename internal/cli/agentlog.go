package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/runlog"
)

// agentLog prints what the agent of a run said and did, one line per message or tool call, and what it printed on
// standard error. With raw, it copies the recorded output of the agent.
type agentLog struct {
	out   io.Writer
	store *runlog.Store
	run   string
	raw   bool

	agents     []string // of the run; an iteration names its agent by its index
	recordings []*recording
}

// recording is a file that grows while an agent works.
type recording struct {
	path string
	to   io.WriteCloser
	file *os.File
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
		l.open(e.Iteration, l.agents[min(data.Agent, len(l.agents)-1)])
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

func (l *agentLog) open(iteration int, agent string) {
	outputPath, complaintsPath := l.store.AgentOutput(l.run, iteration)
	output := &recording{path: outputPath}
	l.recordings = []*recording{output}
	if l.raw {
		output.to = copier{l.out}
		return
	}
	fmt.Fprintf(l.out, "iteration %d, agent %s\n", iteration, term.Clean(agent))
	if output.to = (&lineWriter{out: l.out, prefix: "    "}); agent != "command" {
		output.to = assembly.ListenTo(agent, l.show)
	}
	complaints := &lineWriter{out: l.out, prefix: "    stderr: "}
	l.recordings = append(l.recordings, &recording{path: complaintsPath, to: complaints})
}

func (l *agentLog) show(a ralph.Activity) {
	if line := term.ActivityLine(a); line != "" {
		fmt.Fprintln(l.out, line)
	}
}

// drain prints what the agent has written since the last call.
func (l *agentLog) drain() error {
	var failed error
	for _, r := range l.recordings {
		failed = errors.Join(failed, r.drain())
	}
	return failed
}

func (r *recording) drain() error {
	if r.file == nil {
		file, err := os.Open(r.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read agent's output: %w", err)
		}
		r.file = file
	}
	if _, err := io.Copy(r.to, r.file); err != nil {
		return fmt.Errorf("read agent's output: %w", err)
	}
	return nil
}

// close prints the rest of an iteration's output and closes its files.
func (l *agentLog) close() error {
	var failed error
	for _, r := range l.recordings {
		failed = errors.Join(failed, r.drain())
		if r.file != nil {
			failed = errors.Join(failed, r.to.Close(), r.file.Close())
		}
	}
	l.recordings = nil
	return failed
}

// lineWriter prints lines as they are, each after a prefix.
type lineWriter struct {
	out     io.Writer
	prefix  string
	pending []byte // an incomplete line
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.pending = append(w.pending, p...)
	for {
		line, rest, complete := bytes.Cut(w.pending, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		if err := w.print(line); err != nil {
			return 0, err
		}
		w.pending = rest
	}
}

func (w *lineWriter) print(line []byte) error {
	_, err := fmt.Fprintln(w.out, strings.TrimRight(w.prefix+term.Printable(string(line)), " \r"))
	return err
}

// Close prints the last line if it has no end.
func (w *lineWriter) Close() error {
	if len(w.pending) == 0 {
		return nil
	}
	return w.print(w.pending)
}

// copier is a writer whose Close does nothing.
type copier struct{ io.Writer }

func (copier) Close() error { return nil }

// showAgent is `ralph logs --agent`.
func (c *logsCommand) showAgent(ctx context.Context, run foundRun) error {
	log := &agentLog{out: c.streams.Out, raw: c.wantsJSON(), store: run.store, run: run.id}
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

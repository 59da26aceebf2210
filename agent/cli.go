package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/sandbox"
)

const (
	// DefaultOutputLimit is how much of each output stream is kept on disk.
	DefaultOutputLimit = 16 << 20
	// DefaultLinger is how long an agent may stay silent and alive after its closing event.
	DefaultLinger = 30 * time.Second
)

// Options are the same for all iterations of a run.
type Options struct {
	Dialect Dialect
	Name    string // what the log calls the agent; default: the dialect's name
	// the program of a known CLI; default: its name, looked up in the PATH of Env
	Path            string
	CommandLine     string      // of the dialects that have no program of their own
	Env             []string    // the complete environment; the dialect adds what its CLI needs
	Permissions     Permissions // default: PermitEdits
	AllowedCommands []string    // commands that edit mode also allows: the check commands
	ExtraArgs       []string
	InheritSettings bool
	Tools           string           // the program that serves the run's tools over MCP; "" offers none
	OutputLimit     int64            // default: DefaultOutputLimit
	Grace           time.Duration    // between TERM and KILL; default: that of the process package
	Linger          time.Duration    // default: DefaultLinger
	Now             func() time.Time // default: time.Now
	// Enter may change the command before it starts, so that it runs elsewhere than in the plain
	// workspace. nil changes nothing.
	Enter func(*process.Spec)
	// Sandbox is the tier that Enter puts the agent in.
	Sandbox sandbox.Tier
	// Mask masks secrets in the prompt and in what the agent prints; nil masks nothing.
	Mask *secrets.Masker
}

// CLI runs one agent CLI. It may be used by several goroutines at once.
type CLI struct{ o Options }

var (
	_ ralph.Agent      = (*CLI)(nil)
	_ ralph.ToolCaller = (*CLI)(nil)
)

// New makes an agent from a CLI. It does not start or look for anything yet.
func New(o Options) *CLI {
	o.Permissions = cmp.Or(o.Permissions, PermitEdits)
	o.OutputLimit = cmp.Or(o.OutputLimit, DefaultOutputLimit)
	o.Linger = cmp.Or(o.Linger, DefaultLinger)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &CLI{o}
}

// Command returns the command line of an iteration, to show it without running it.
func (c *CLI) Command(promptFile, model string) (Command, error) {
	return c.o.Dialect.Command(c.request(promptFile, model))
}

func (c *CLI) request(promptFile, model string) Request {
	return Request{
		Program: c.o.Path, CommandLine: c.o.CommandLine, PromptFile: promptFile, Model: model, Permissions: c.o.Permissions,
		AllowedCommands: c.o.AllowedCommands, ExtraArgs: c.o.ExtraArgs, InheritSettings: c.o.InheritSettings,
		Look: LookAround(c.o.Env), Tools: c.tools(),
	}
}

// tools returns the program that serves the run's tools, if the CLI can be given one.
func (c *CLI) tools() string {
	if !c.o.Dialect.About().MCP || c.o.Permissions == PermitReading {
		return ""
	}
	return c.o.Tools
}

// CallsTools implements ralph.ToolCaller.
func (c *CLI) CallsTools() bool { return c.tools() != "" }

// Run runs the agent to its end; see ralph.Agent.
func (c *CLI) Run(ctx context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	if in.Folder == "" {
		folder, err := os.MkdirTemp("", "ralph-agent-")
		if err != nil {
			return ralph.AgentOutcome{}, fmt.Errorf("make agent folder: %w: %w", ralph.ErrIO, err)
		}
		defer os.RemoveAll(folder)
		in.Folder = folder
	}
	spec, secrets, err := c.spec(in)
	defer remove(secrets)
	if err != nil {
		return ralph.AgentOutcome{}, err
	}
	r := c.newReading(in)
	reader, run := c.reader(r, in)
	r.Hear(in)

	running, stop := context.WithCancel(ctx)
	defer stop()
	watch := &watcher{Reading: r, to: reader, stop: stop, linger: c.o.Linger, budget: in.Budget}
	spec.Stdout.Tap = watch
	if c.o.Enter != nil {
		c.o.Enter(&spec)
	}
	result, err := run(running, spec)
	watch.end()
	reader.Close()
	if err != nil {
		if trouble, ok := errors.AsType[*process.IOError](err); ok {
			err = fmt.Errorf("%w: %w", ralph.ErrIO, trouble)
		}
		return ralph.AgentOutcome{}, fmt.Errorf("run agent: %w", err)
	}
	first, last := firstAndLastLine(spec.Stderr.Path)
	return c.outcome(r, ended{
		Result: result, interrupted: ctx.Err() != nil, program: cmp.Or(c.o.CommandLine, spec.Argv[0]),
		sandbox: c.o.Sandbox, complaint: first, stderr: worthQuoting(first, last), timeout: in.Timeout,
		idle: in.IdleTimeout, cut: watch.cut,
	}), nil
}

// runner runs an agent as process.Run does.
type runner func(context.Context, process.Spec) (process.Result, error)

// talker is a dialect that has to answer while it reads: it also gets the agent's standard input.
type talker interface {
	// talk returns the reader of one conversation, and the function that runs the agent. Nothing of
	// it outlives the runner.
	talk(r *stream.Reading, in ralph.AgentInput, o Options) (stream.Reader, runner)
}

func (c *CLI) reader(r *stream.Reading, in ralph.AgentInput) (stream.Reader, runner) {
	if t, ok := c.o.Dialect.(talker); ok {
		return t.talk(r, in, c.o)
	}
	return c.o.Dialect.newReader(r), process.Run
}

func remove(files []File) {
	for _, f := range files {
		_ = os.Remove(f.Path) // it is private in any case
	}
}

// spec writes the prompt and returns what to start, and the files to remove afterwards.
func (c *CLI) spec(in ralph.AgentInput) (spec process.Spec, secrets []File, err error) {
	promptFile := filepath.Join(in.Folder, "prompt.md")
	if err := os.WriteFile(promptFile, c.o.Mask.Bytes([]byte(in.Prompt)), 0o600); err != nil {
		return spec, nil, fmt.Errorf("write prompt: %w: %w", ralph.ErrIO, err)
	}
	if absolute, err := filepath.Abs(promptFile); err == nil {
		promptFile = absolute // the agent runs in another folder
	}
	request := c.request(promptFile, in.Model)
	request.Budget = in.Budget
	if in.ToolEnv == nil {
		request.Tools = ""
	}
	request.Dir, request.Folder = in.Dir, filepath.Dir(promptFile)
	cmd, err := c.o.Dialect.Command(request)
	if err != nil {
		return spec, nil, err
	}
	for _, f := range slices.Concat(cmd.Files, cmd.Secrets) {
		if err := os.WriteFile(f.Path, []byte(f.Text), 0o600); err != nil {
			return spec, cmd.Secrets, fmt.Errorf("write agent's settings: %w: %w", ralph.ErrIO, err)
		}
	}
	return process.Spec{
		Argv: cmd.Argv, Dir: in.Dir, StdinFile: cmd.Stdin, Marker: in.Marker, Guarded: true,
		Env:     slices.Concat(c.o.Env, cmd.Env, in.ToolEnv),
		Stdout:  process.Sink{Path: filepath.Join(in.Folder, "agent.jsonl"), Limit: c.o.OutputLimit},
		Stderr:  process.Sink{Path: filepath.Join(in.Folder, "agent.stderr"), Limit: c.o.OutputLimit},
		Timeout: in.Timeout, IdleTimeout: in.IdleTimeout, Grace: c.o.Grace,
		Needs: needs(request.Folder, in.ToolEnv),
		Mask:  c.mask(in.ToolEnv),
	}, cmd.Secrets, nil
}

// mask returns what masks the user's secrets in what the agent prints, and the token of its tools, which only this
// iteration has.
func (c *CLI) mask(toolEnv []string) func(io.Writer) io.WriteCloser {
	var token *secrets.Masker
	for _, entry := range toolEnv {
		if value, found := strings.CutPrefix(entry, ralph.ToolTokenVariable+"="); found {
			token = secrets.New([]secrets.Secret{{Label: ralph.ToolTokenVariable, Value: value}})
		}
	}
	if token == nil {
		return c.o.Mask.Writer
	}
	return func(out io.Writer) io.WriteCloser {
		user := c.o.Mask.Writer(out)
		return &twoMasks{WriteCloser: token.Writer(user), second: user}
	}
}

// twoMasks is a mask whose output goes through a second one.
type twoMasks struct {
	io.WriteCloser
	second io.Closer
}

func (m *twoMasks) Close() error { return errors.Join(m.WriteCloser.Close(), m.second.Close()) }

// needs returns the folders that the agent reads: its prompt and settings, and the socket of its tools.
func needs(folder string, toolEnv []string) []string {
	all := []string{folder}
	for _, entry := range toolEnv {
		if socket, found := strings.CutPrefix(entry, ralph.ToolSocketVariable+"="); found {
			all = append(all, filepath.Dir(socket))
		}
	}
	return all
}

func (c *CLI) newReading(in ralph.AgentInput) *stream.Reading {
	own := ""
	if d, ok := c.o.Dialect.(interface{ ownFolder(Look) string }); ok {
		own = d.ownFolder(LookAround(c.o.Env))
	}
	return &stream.Reading{
		OwnFolder: own,
		Live:      in.Live,
		Now:       c.o.Now,
		Folder:    in.Folder,
		ReadOnly:  c.o.Permissions == PermitReading,
		Figures:   stream.Figures{Model: in.Model},
	}
}

func (c *CLI) outcome(r *stream.Reading, e ended) ralph.AgentOutcome {
	o := ralph.AgentOutcome{
		Agent: cmp.Or(c.o.Name, c.o.Dialect.Name()), ExitCode: e.ExitCode, Duration: ralph.Span(e.Duration),
		OutputBytes:   e.StdoutBytes,
		Truncated:     e.StdoutTruncated || e.StderrTruncated,
		Survivors:     e.Survivors,
		SurvivorNames: e.SurvivorNames,
	}
	r.Fill(&o)
	f := e.withUnkillable(e.verdict(r, o.Said.Text))
	o.End, o.Error, o.Hint, o.RetryAfter = f.Class, f.Text, cmp.Or(f.Hint, r.Advice), ralph.Span(f.Wait)
	if o.End == ralph.EndModel {
		o.Hint = cmp.Or(o.Hint, hintModel(r.Model))
	}
	if (o.End.Failed() || o.End == ralph.EndCut) && !r.Closed { // its figures are those of some earlier moment
		o.CostPartial, o.TokensPartial = o.Cost != nil, o.Tokens != nil
	}
	if e.MemoryKills > 0 && !e.OutOfMemory {
		noteMemory(&o, e.MemoryKills)
	}
	if r.Lost > 0 {
		o.Truncated = true
		if o.End == ralph.EndOK {
			o.Error = fmt.Sprintf("lines of the agent's output that were too long to read: %d", r.Lost)
		}
	}
	return o
}

// noteMemory says that programs of the agent were killed for memory, which the agent survived.
func noteMemory(o *ralph.AgentOutcome, kills int) {
	text := fmt.Sprintf("programs of the agent that were killed for memory (sandbox.memory): %d", kills)
	if o.End == ralph.EndOK {
		o.Hint = cmp.Or(o.Hint, text)
		return
	}
	o.Error += "; " + text
}

// hintModel says what helps if the model's server does not know a model.
func hintModel(name string) string {
	hint := "choose another model with --model"
	if near := model.Nearest(name, 3); len(near) > 0 {
		hint += ", such as " + strings.Join(near, ", ")
	}
	return hint + "; or correct the base URL"
}

// watcher reads along while the agent runs and ends it when there is nothing to wait for.
type watcher struct {
	*stream.Reading
	to     stream.Reader
	stop   context.CancelFunc
	linger time.Duration
	timer  *time.Timer
	budget ralph.Budget
	cut    string // the limit at which the agent was stopped
}

// Write is called by one goroutine. It never fails.
func (w *watcher) Write(p []byte) (int, error) {
	_, _ = w.to.Write(p)
	if w.cut == "" && !w.Closed {
		w.cut = w.Exceeds(w.budget)
	}
	switch {
	case w.Hopeless, w.cut != "" && !w.Closed:
		w.stop()
	case w.Closed && w.timer == nil:
		w.timer = time.AfterFunc(w.linger, w.stop)
	case w.Closed:
		w.timer.Reset(w.linger)
	case w.timer != nil: // what looked like the end was not
		w.timer.Stop()
		w.timer = nil
	}
	return len(p), nil
}

// end is called when the agent is gone.
func (w *watcher) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

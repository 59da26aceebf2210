// Package acp talks to agents that speak the Agent Client Protocol: it opens a session, sends the
// prompt, decides what the agent may do, and reads what it says. It is the only user of the
// protocol's SDK.
package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/promise"
)

const (
	// defaultHandshake is how long an agent may take until its first answer. A package runner may
	// have to download the agent first.
	defaultHandshake = 3 * time.Minute
	// maxLinger is how long an agent may take to exit once its standard input is closed. Known ones
	// need at most two seconds on an idle machine.
	maxLinger = 5 * time.Second
	// cancelGrace is how long an agent may take to cancel its turn and exit.
	cancelGrace = 2 * time.Second
	// maxUnread is how many answers to its requests an agent may leave unread.
	maxUnread = 256
	// setModel is not in the SDK: newer agents offer models as a configuration option instead.
	setModel = "session/set_model"
)

// talk is one conversation with an agent: what is asked of it, and when it is over. It does not
// read; the reader does, and passes on what the connection waits for. So one goroutine reads
// everything that the agent sends in order, whatever the connection does.
type talk struct {
	prompt, model, dir string
	given              surroundings
	policy             policy
	reading            *stream.Reading
	handshake, linger  time.Duration
	cancelGrace        time.Duration

	conn  *sdk.Connection // nil if the conversation is only read
	heard *io.PipeWriter  // what the connection receives

	asked     atomic.Pointer[string] // the method of the last request
	session   atomic.Pointer[string] // set once a prompt was sent
	cancelled atomic.Bool

	unread        atomic.Int64  // requests of the agent whose answers it has not read yet
	tooManyUnread chan struct{} // closed when there are too many
	ignore        bool          // ignore further requests from then on; used by the reader only

	// Results of the conversation; read when it is over.
	hungUp bool          // we ended the conversation, not the agent
	fault  *stream.Fault // the reason, if the agent does not give it itself
	advice string
}

// surroundings are what the agent has to work with.
type surroundings struct {
	env     []string
	servers []sdk.McpServer
}

// Options are the same for all conversations of a run.
type Options struct {
	Env       []string      // of the agent; keys in it may serve as a login
	AllowAll  bool          // allow everything that the agent asks for
	ReadOnly  bool          // allow nothing but reading
	Commands  []string      // commands allowed in addition, unless ReadOnly
	Tools     string        // the program that serves the run's tools over MCP; "" offers none
	Handshake time.Duration // limit for the first answer; default: three minutes
	Grace     time.Duration // between TERM and KILL; default: that of the process package
	Linger    time.Duration // after the turn has ended
}

// ToolServer is the name of the server that offers the run's tools.
const ToolServer = "ralph"

// servers returns the server of the run's tools, with the variables that reach the loop.
func (o Options) servers(variables []string) []sdk.McpServer {
	if o.Tools == "" {
		return []sdk.McpServer{}
	}
	var env []sdk.EnvVariable
	for _, entry := range variables {
		name, value, _ := strings.Cut(entry, "=")
		env = append(env, sdk.EnvVariable{Name: name, Value: value})
	}
	stdio := &sdk.McpServerStdio{Name: ToolServer, Command: o.Tools, Args: []string{"mcp"}, Env: env}
	return []sdk.McpServer{{Stdio: stdio}}
}

// Converse returns the reader of one conversation, and the function that runs the agent. Nothing of
// it outlives the run.
func Converse(
	r *stream.Reading, in ralph.AgentInput, o Options,
) (stream.Reader, func(context.Context, process.Spec) (process.Result, error)) {
	t := newTalk(r, in, o)
	return newReader(r, t), t.run
}

// Listen reads a conversation without taking part in it.
func Listen(r *stream.Reading) stream.Reader { return newReader(r, &talk{}) }

func newTalk(r *stream.Reading, in ralph.AgentInput, o Options) *talk {
	dir := in.Dir
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	t := &talk{
		prompt: in.Prompt, model: in.Model, dir: dir, reading: r,
		given:         surroundings{env: o.Env, servers: o.servers(in.ToolEnv)},
		policy:        policy{all: o.AllowAll, readOnly: o.ReadOnly, commands: o.Commands, dir: dir, tools: o.Tools != ""},
		handshake:     cmp.Or(o.Handshake, defaultHandshake),
		linger:        min(o.Linger, maxLinger),
		cancelGrace:   cancelGrace,
		tooManyUnread: make(chan struct{}),
	}
	if o.Grace != 0 {
		t.cancelGrace = min(t.cancelGrace, max(o.Grace, 0))
	}
	return t
}

// run is process.Run for a conversation. The agent outlives a done context by the time that it
// takes to cancel its turn.
func (t *talk) run(ctx context.Context, spec process.Spec) (process.Result, error) {
	stdin, toAgent, err := os.Pipe()
	if err != nil {
		return process.Result{State: process.NotStarted, ExitCode: -1}, &process.IOError{Op: "make stdin pipe", Err: err}
	}
	spec.Stdin = stdin
	fromAgent, heard := io.Pipe()
	t.heard = heard
	t.conn = sdk.NewConnection(t.answer, answers{toAgent, &t.unread}, fromAgent)
	// set before it receives anything, because it is not guarded
	t.conn.SetLogger(slog.New(slog.DiscardHandler))

	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	over := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		defer close(over)
		t.converse(context.WithoutCancel(ctx))
		_ = toAgent.Close()
	})
	all.Go(func() {
		t.watch(ctx, alive, over, &all)
		kill()
	})
	all.Go(func() { // a connection that has given up must not block the reader
		<-t.conn.Done()
		_ = fromAgent.Close()
	})
	result, err := process.Run(alive, spec)
	kill()
	for _, end := range []io.Closer{stdin, toAgent, heard} { // release whatever still writes or waits
		_ = end.Close()
	}
	all.Wait()
	t.report()
	if result.State == process.Exited && (t.hungUp || ctx.Err() != nil && !t.reading.Closed) {
		// it exited because we hung up or told it to stop, so its status means nothing
		result.State = process.Canceled
	}
	return result, err
}

// watch returns when it is time to end the agent, or when it is gone.
func (t *talk) watch(ctx, alive context.Context, over <-chan struct{}, all *sync.WaitGroup) {
	select {
	case <-alive.Done():
	case <-t.tooManyUnread:
	case <-over:
		wait(t.linger, alive.Done(), ctx.Done())
	case <-ctx.Done():
		session := t.session.Load()
		if session == nil {
			return
		}
		t.cancelled.Store(true)
		// An agent that does not read could block this until it is killed, which is what this
		// goroutine must do.
		all.Go(func() {
			_ = t.conn.SendNotification(alive, sdk.AgentMethodSessionCancel, sdk.CancelNotification{
				SessionId: sdk.SessionId(*session),
			})
		})
		wait(t.cancelGrace, alive.Done(), nil) // once it has answered, it may exit by itself
	}
}

// wait returns after a time, or when one of two channels is closed; a nil channel never is.
func wait(limit time.Duration, one, other <-chan struct{}) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-one:
	case <-other:
	}
}

// converse runs the whole conversation. It returns when the turn has ended, or when nothing more
// can come of it. The reader judges what the agent says about that.
func (t *talk) converse(ctx context.Context) {
	session, ok := t.open(ctx)
	if ok {
		t.configure(ctx, session)
		id := session.SessionID
		t.session.Store(&id)
		_, _ = t.ask(ctx, sdk.AgentMethodSessionPrompt, sdk.PromptRequest{
			SessionId: sdk.SessionId(id), Prompt: []sdk.ContentBlock{sdk.TextBlock(t.prompt)},
		})
	}
	select {
	case <-t.conn.Done():
	default:
		t.hungUp = true
	}
}

// open greets the agent and starts a session, always a new one.
func (t *talk) open(ctx context.Context) (answer, bool) {
	greeting, err := t.greet(ctx)
	if err != nil {
		return answer{}, false
	}
	// Neither files nor terminals are offered: every agent has its own, which run in the same
	// sandbox as the agent.
	request := sdk.NewSessionRequest{Cwd: t.dir, McpServers: t.given.servers}
	session, err := t.ask(ctx, sdk.AgentMethodSessionNew, request)
	if refusal, ok := errors.AsType[*sdk.RequestError](err); ok && refusal.Code == authRequired {
		// No login is started here, because it would need a person. A key in a variable needs none.
		method, ok := greeting.keyMethod(t.given.env)
		if !ok {
			return answer{}, false
		}
		if _, err = t.ask(ctx, sdk.AgentMethodAuthenticate, sdk.AuthenticateRequest{MethodId: method}); err == nil {
			session, err = t.ask(ctx, sdk.AgentMethodSessionNew, request)
		}
	}
	if err != nil {
		return answer{}, false
	}
	if session.SessionID == "" {
		t.fault = &stream.Fault{
			Class: ralph.EndBroken,
			Text:  "the agent started a session without an id",
			Hint:  stream.BrokenHint,
		}
		return answer{}, false
	}
	return session, true
}

func (t *talk) greet(ctx context.Context) (answer, error) {
	limited, stop := context.WithTimeout(ctx, t.handshake)
	defer stop()
	greeting, err := t.ask(limited, sdk.AgentMethodInitialize, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber, ClientInfo: &sdk.Implementation{Name: "ralph", Version: "1"},
	})
	if limited.Err() != nil {
		t.fault = &stream.Fault{
			Class: ralph.EndBroken, Text: fmt.Sprintf("the agent did not answer within %s", t.handshake),
			Hint: "the command must start an agent that speaks the Agent Client Protocol, such as `gemini --experimental-acp`",
		}
		return answer{}, limited.Err()
	}
	if err != nil {
		return answer{}, err
	}
	if greeting.ProtocolVersion != sdk.ProtocolVersionNumber {
		t.fault = &stream.Fault{
			Class: ralph.EndBroken,
			Text: fmt.Sprintf(
				"the agent speaks version %d of the Agent Client Protocol, not %d", greeting.ProtocolVersion,
				sdk.ProtocolVersionNumber,
			),
		}
		return greeting, errors.New("greet agent: unsupported version")
	}
	return greeting, nil
}

// configure chooses the mode and the model. If the agent refuses, the run continues, but the user
// gets a notice.
func (t *talk) configure(ctx context.Context, session answer) {
	if session.inOtherMode() {
		if _, err := t.ask(ctx, sdk.AgentMethodSessionSetMode, sdk.SetSessionModeRequest{
			SessionId: sdk.SessionId(session.SessionID),
			ModeId:    askingMode,
		}); err != nil {
			t.advise(fmt.Sprintf(
				"the agent stayed in its mode %q, in which it may act without asking",
				promise.OneLine(session.Modes.Current, stream.DetailSize),
			))
		}
	}
	if t.model == "" {
		return
	}
	method, request, ok := session.modelRequest(t.model)
	if !ok {
		t.advise(fmt.Sprintf(
			"--model %s had no effect: the agent does not offer it", promise.OneLine(t.model, stream.DetailSize),
		))
		return
	}
	if _, err := t.ask(ctx, method, request); err != nil {
		t.advise(fmt.Sprintf("--model %s had no effect: the agent refused it", promise.OneLine(t.model, stream.DetailSize)))
	}
}

func (t *talk) advise(text string) { t.advice = strings.TrimPrefix(t.advice+"; "+text, "; ") }

// ask makes one request; there is never a second one at the same time. The context must not end
// with the run: a late answer still counts.
func (t *talk) ask(ctx context.Context, method string, request any) (a answer, err error) {
	t.asked.Store(&method)
	text, err := sdk.SendRequest[json.RawMessage](t.conn, ctx, method, request)
	stream.Decode(text, &a) // as far as possible
	return a, err
}

// asking returns the method of the current request, or "" if the conversation is only read.
func (t *talk) asking() string {
	if method := t.asked.Load(); method != nil {
		return *method
	}
	return ""
}

// report records the result of the conversation once it is over.
func (t *talk) report() {
	r := t.reading
	if t.ignore {
		t.fault = &stream.Fault{
			Class: ralph.EndBroken,
			Text:  fmt.Sprintf("the agent did not read the answers to %d of its requests", maxUnread),
		}
	}
	if t.fault != nil && !r.Closed {
		r.Fault, r.Hopeless = t.fault, true
	}
	if r.Closed || t.fault == nil {
		r.Advice = t.advice
	}
}

// forward passes a message on to the connection. Only messages that it waits for get there: its
// queue for others is short, and it gives up when that is full.
func (t *talk) forward(message []byte) {
	if t.heard == nil {
		return
	}
	_, _ = t.heard.Write(append(slices.Clip(message), '\n'))
}

// forwardRequest passes on a request of the agent, unless too many answers are unread: each is kept
// until the agent reads it.
func (t *talk) forwardRequest(request []byte) {
	if t.heard == nil || t.ignore {
		return
	}
	if t.unread.Add(1) > maxUnread {
		t.ignore = true
		close(t.tooManyUnread)
		return
	}
	t.forward(request)
}

// answers is the agent's standard input, and counts the answers that it reads.
type answers struct {
	io.Writer
	unread *atomic.Int64
}

func (a answers) Write(message []byte) (int, error) {
	n, err := a.Writer.Write(message)
	var request struct {
		Method string `json:"method"`
	}
	if stream.Decode(message, &request); request.Method == "" {
		a.unread.Add(-1)
	}
	return n, err
}

// decide makes the connection answer a permission request with one of its options, or with none if
// option is "".
func (t *talk) decide(request []byte, option string) {
	chosen, _ := json.Marshal(decision{option}) // a string can always be marshaled
	t.forwardRequest(fmt.Appendf(
		nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, request, sdk.ClientMethodSessionRequestPermission,
		chosen,
	))
}

// decision is all that the connection receives of a permission request: the reader, which knows the
// call, has decided.
type decision struct {
	Option string `json:"option"`
}

// answer is the connection's response to the agent's requests. Every one is answered immediately.
func (t *talk) answer(_ context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	if method != sdk.ClientMethodSessionRequestPermission {
		return nil, sdk.NewMethodNotFound(method)
	}
	var chosen decision
	if err := json.Unmarshal(params, &chosen); err != nil || chosen.Option == "" || t.cancelled.Load() {
		return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(
		sdk.PermissionOptionId(chosen.Option),
	)}, nil
}

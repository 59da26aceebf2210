package agent

import (
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

	"github.com/coder/acp-go-sdk"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/promise"
)

const (
	// acpHandshake is how long an agent may take until it answers at all. A package runner may have to fetch the agent first.
	acpHandshake = 3 * time.Minute
	// acpLinger is how long an agent may take to leave once its standard input is closed. The known ones need two seconds at most on an idle machine.
	acpLinger = 5 * time.Second
	// acpCancelGrace is how long an agent may take to cancel its turn and leave.
	acpCancelGrace = 2 * time.Second
	// acpBacklog is how many of its requests an agent may leave the answers to unread.
	acpBacklog = 256
	// acpSetModel is not in the SDK: newer agents offer models as a configuration option instead.
	acpSetModel = "session/set_model"
)

// acpTalk is one conversation with an agent: what is asked of it, and when it is over. It does not listen; the reader does, and passes on what
// the connection waits for. So all that the agent says is read in the order in which it came, by one goroutine, whatever the connection does.
type acpTalk struct {
	prompt, model, dir string
	env                []string
	policy             acpPolicy
	reading            *reading
	handshake, linger  time.Duration
	cancelGrace        time.Duration

	conn  *acp.Connection // nil if nobody takes part
	heard *io.PipeWriter  // what the connection hears

	asked     atomic.Pointer[string] // the method of the last request
	session   atomic.Pointer[string] // once a prompt is under way
	cancelled atomic.Bool

	unread atomic.Int64  // requests of the agent whose answers it has not taken yet
	deaf   chan struct{} // closed when there are too many
	ignore bool          // what it asks, from then on; the reader's

	// What the conversation came to; read when it is over.
	hungUp bool   // the agent was left, it did not leave
	fault  *fault // why, if it is not the agent who says so
	advice string
}

func newACPTalk(r *reading, in ralph.AgentInput, o Options) *acpTalk {
	dir := in.Dir
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	t := &acpTalk{
		prompt: in.Prompt, model: in.Model, dir: dir, env: o.Env, reading: r,
		policy:    acpPolicy{permissions: o.Permissions, commands: o.AllowedCommands, dir: dir},
		handshake: acpHandshake, linger: min(o.Linger, acpLinger), cancelGrace: acpCancelGrace, deaf: make(chan struct{}),
	}
	if o.Grace != 0 {
		t.cancelGrace = min(t.cancelGrace, max(o.Grace, 0))
	}
	return t
}

// run is process.Run for an agent that is talked to. The agent outlives a done context by the time that it takes to cancel its turn.
func (t *acpTalk) run(ctx context.Context, spec process.Spec) (process.Result, error) {
	stdin, toAgent, err := os.Pipe()
	if err != nil {
		return process.Result{State: process.NotStarted, ExitCode: -1}, &process.IOError{Op: "make stdin pipe", Err: err}
	}
	spec.Stdin = stdin
	fromAgent, heard := io.Pipe()
	t.heard = heard
	t.conn = acp.NewConnection(t.answer, acpAnswers{toAgent, &t.unread}, fromAgent)
	t.conn.SetLogger(slog.New(slog.DiscardHandler)) // before it hears anything, since it is not guarded

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
	all.Go(func() { // a connection that has given up must not hold up the reader
		<-t.conn.Done()
		_ = fromAgent.Close()
	})
	result, err := process.Run(alive, spec)
	kill()
	for _, end := range []io.Closer{stdin, toAgent, heard} { // whoever still writes or waits is let go
		_ = end.Close()
	}
	all.Wait()
	t.tell()
	if result.State == process.Exited && (t.hungUp || ctx.Err() != nil && !t.reading.closed) {
		result.State = process.Canceled // it left because it was left or told to stop: its status says nothing
	}
	return result, err
}

// watch returns when it is time to end the agent, or when it is gone.
func (t *acpTalk) watch(ctx, alive context.Context, over <-chan struct{}, all *sync.WaitGroup) {
	select {
	case <-alive.Done():
	case <-t.deaf:
	case <-over:
		wait(t.linger, alive.Done(), ctx.Done())
	case <-ctx.Done():
		session := t.session.Load()
		if session == nil {
			return
		}
		t.cancelled.Store(true)
		// An agent that does not read could hold this up until it is killed, which is what we are here for.
		all.Go(func() {
			_ = t.conn.SendNotification(alive, acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(*session)})
		})
		wait(t.cancelGrace, alive.Done(), nil) // once it has answered, it may leave by itself
	}
}

// wait returns after a time, or when one of two things happens, of which nil never does.
func wait(limit time.Duration, one, other <-chan struct{}) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-one:
	case <-other:
	}
}

// converse says all that is to be said and returns when the turn has ended, or nothing more can come of it. What the agent says about that is for
// the reader to judge.
func (t *acpTalk) converse(ctx context.Context) {
	session, ok := t.open(ctx)
	if ok {
		t.settle(ctx, session)
		id := session.SessionID
		t.session.Store(&id)
		_, _ = t.ask(ctx, acp.AgentMethodSessionPrompt, acp.PromptRequest{
			SessionId: acp.SessionId(id), Prompt: []acp.ContentBlock{acp.TextBlock(t.prompt)},
		})
	}
	select {
	case <-t.conn.Done():
	default:
		t.hungUp = true
	}
}

// open greets the agent and begins a session: always a new one.
func (t *acpTalk) open(ctx context.Context) (acpSession, bool) {
	greeting, err := t.greet(ctx)
	if err != nil {
		return acpSession{}, false
	}
	// Neither files nor terminals are offered: every agent has its own, and they are bounded by the same sandbox as the agent is.
	request := acp.NewSessionRequest{Cwd: t.dir, McpServers: []acp.McpServer{}}
	text, err := t.ask(ctx, acp.AgentMethodSessionNew, request)
	if refusal, ok := errors.AsType[*acp.RequestError](err); ok && refusal.Code == acpAuthRequired {
		// No login is begun here: it would want a person. A key in a variable wants none.
		method, ok := greeting.keyMethod(t.env)
		if !ok {
			return acpSession{}, false
		}
		if _, err = t.ask(ctx, acp.AgentMethodAuthenticate, acp.AuthenticateRequest{MethodId: method}); err == nil {
			text, err = t.ask(ctx, acp.AgentMethodSessionNew, request)
		}
	}
	if err != nil {
		return acpSession{}, false
	}
	session := parseACPSession(text)
	if session.SessionID == "" {
		t.fault = &fault{class: ralph.EndBroken, text: "the agent began a session without an id", hint: brokenHint}
		return acpSession{}, false
	}
	return session, true
}

func (t *acpTalk) greet(ctx context.Context) (acpGreeting, error) {
	limited, stop := context.WithTimeout(ctx, t.handshake)
	defer stop()
	text, err := t.ask(limited, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "ralph", Version: "1"},
	})
	if limited.Err() != nil {
		t.fault = &fault{
			class: ralph.EndBroken, text: fmt.Sprintf("the agent did not answer within %s", t.handshake),
			hint: "the command must start an agent that speaks the Agent Client Protocol, as `gemini --experimental-acp` does",
		}
		return acpGreeting{}, limited.Err()
	}
	if err != nil {
		return acpGreeting{}, err
	}
	greeting := parseACPGreeting(text)
	if greeting.ProtocolVersion != acp.ProtocolVersionNumber {
		t.fault = &fault{
			class: ralph.EndBroken,
			text:  fmt.Sprintf("the agent speaks version %d of the Agent Client Protocol, not %d", greeting.ProtocolVersion, acp.ProtocolVersionNumber),
		}
		return greeting, errors.New("greet agent: another version")
	}
	return greeting, nil
}

// settle chooses the mode and the model. An agent that will have neither is not worth stopping for, but worth a word.
func (t *acpTalk) settle(ctx context.Context, session acpSession) {
	if session.strays() {
		if _, err := t.ask(ctx, acp.AgentMethodSessionSetMode, acp.SetSessionModeRequest{SessionId: acp.SessionId(session.SessionID), ModeId: acpAskingMode}); err != nil {
			t.advise(fmt.Sprintf("the agent would not leave its mode %q, in which it may do things without asking", promise.OneLine(session.Modes.Current, detailSize)))
		}
	}
	if t.model == "" {
		return
	}
	method, request, ok := session.modelRequest(t.model)
	if !ok {
		t.advise(fmt.Sprintf("--model %s had no effect: the agent does not offer it", promise.OneLine(t.model, detailSize)))
		return
	}
	if _, err := t.ask(ctx, method, request); err != nil {
		t.advise(fmt.Sprintf("--model %s had no effect: the agent refused it", promise.OneLine(t.model, detailSize)))
	}
}

func (t *acpTalk) advise(text string) { t.advice = strings.TrimPrefix(t.advice+"; "+text, "; ") }

// ask makes one request; there is never a second one under way. The context must not end with the run: an answer that comes late is still one.
func (t *acpTalk) ask(ctx context.Context, method string, request any) (json.RawMessage, error) {
	t.asked.Store(&method)
	return acp.SendRequest[json.RawMessage](t.conn, ctx, method, request)
}

// asking is the method of the request under way, "" if nobody takes part.
func (t *acpTalk) asking() string {
	if method := t.asked.Load(); method != nil {
		return *method
	}
	return ""
}

// tell notes what the conversation came to, once it is over.
func (t *acpTalk) tell() {
	r := t.reading
	if t.ignore {
		t.fault = &fault{class: ralph.EndBroken, text: fmt.Sprintf("the agent did not read the answers to %d of its requests", acpBacklog)}
	}
	if t.fault != nil && !r.closed {
		r.fault, r.hopeless = t.fault, true
	}
	if r.closed || t.fault == nil {
		r.advice = t.advice
	}
}

// hear passes a message on to the connection. Only what it waits for gets there: its queue for the rest is short, and it gives up when that is full.
func (t *acpTalk) hear(message []byte) {
	if t.heard == nil {
		return
	}
	_, _ = t.heard.Write(append(slices.Clip(message), '\n'))
}

// asks passes a request of the agent on, unless too many answers wait for it: each of them is kept until it is read.
func (t *acpTalk) asks(request []byte) {
	if t.heard == nil || t.ignore {
		return
	}
	if t.unread.Add(1) > acpBacklog {
		t.ignore = true
		close(t.deaf)
		return
	}
	t.hear(request)
}

// acpAnswers is the agent's standard input, and counts the answers that it takes.
type acpAnswers struct {
	io.Writer
	unread *atomic.Int64
}

func (a acpAnswers) Write(message []byte) (int, error) {
	n, err := a.Writer.Write(message)
	if m, _ := parseACP(message); m.method == nil {
		a.unread.Add(-1)
	}
	return n, err
}

// decide has a request for permission answered with one of its options, "" being none of them.
func (t *acpTalk) decide(request []byte, option string) {
	chosen, _ := json.Marshal(acpDecision{option}) // a string can always be written
	t.asks(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, request, acp.ClientMethodSessionRequestPermission, chosen))
}

// acpDecision is all that the connection hears of a request for permission: the reader, who knows the call, has decided.
type acpDecision struct {
	Option string `json:"option"`
}

// answer is what the connection says to the agent's requests. Every one is answered, and at once.
func (t *acpTalk) answer(_ context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	if method != acp.ClientMethodSessionRequestPermission {
		return nil, acp.NewMethodNotFound(method)
	}
	var chosen acpDecision
	if err := json.Unmarshal(params, &chosen); err != nil || chosen.Option == "" || t.cancelled.Load() {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(chosen.Option))}, nil
}

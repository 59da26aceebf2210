package worker

import (
	"cmp"
	"context"
	_ "embed"
	"os"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/hooks"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

// DefaultMaxTurns is the default number of turns of a task.
const DefaultMaxTurns = 32

//go:embed system.md
var systemPage string

// Options stay the same for all iterations of a run.
type Options struct {
	// Client talks to the model. The worker retries failed calls; see model.Retrier.
	Client model.Client
	Model  string // for iterations that name no model
	// MaxTurns limits a task; default: DefaultMaxTurns. A reviewer has at most ReviewTurns.
	MaxTurns  int
	MaxOutput int // tokens of one reply; default: the client's
	// Window is the model's context size in tokens. Default: from the price table, or
	// chat.DefaultWindow.
	Window int64
	// Price returns what a model costs; default: model.PriceOf.
	Price  func(model string) (model.Price, bool)
	KeyEnv string // variable that holds the key, for advice

	// Env is the whole environment of commands. It should not contain the key.
	Env []string
	// Enter may change how a command is started, for a sandbox.
	Enter func(*process.Spec)
	// BashTimeout is the default timeout of a command; default: the tool's.
	BashTimeout time.Duration
	// Grace is the time between TERM and KILL when a command is ended; default: the process package's.
	Grace time.Duration
	// Hooks decide about tool calls; nil means only the built-in rules. Hooks for iterations and runs
	// are not called here.
	Hooks *hooks.Set
	Run   string // the run's ID, for hooks
	// LearnFromEach asks for a learning after every accepted case; default: only after rejections.
	LearnFromEach bool
}

// Worker works on one task at a time. Several goroutines may use it at once.
type Worker struct{ o Options }

var (
	_ ralph.Agent     = (*Worker)(nil)
	_ ralph.Submitter = (*Worker)(nil)
)

// New returns a worker. It starts nothing yet.
func New(o Options) *Worker {
	o.MaxTurns = cmp.Or(o.MaxTurns, DefaultMaxTurns)
	return &Worker{o}
}

// SubmitsCases marks that a worker makes claims with cases, not with words.
func (*Worker) SubmitsCases() {}

// Run works on one task to its end. It implements ralph.Agent.
func (w *Worker) Run(ctx context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	return run(ctx, w.o, in, func(t *conversation) role { return &caseRole{conversation: t} })
}

// run has one conversation in the given role.
func run(
	ctx context.Context, o Options, in ralph.AgentInput, lead func(*conversation) role,
) (ralph.AgentOutcome, error) {
	record, err := openTranscript(in.Folder, in.Prompt)
	if err != nil {
		return ralph.AgentOutcome{}, err
	}
	t := newConversation(o, in, record)
	t.lead = lead(t)
	end := t.inWorkspace(ctx)
	if err := record.close(); err != nil {
		return ralph.AgentOutcome{}, err
	}
	return t.outcome(end), nil
}

// inWorkspace opens the workspace for the duration of the conversation.
func (t *conversation) inWorkspace(ctx context.Context) *ending {
	root, err := os.OpenRoot(t.in.Dir)
	if err != nil {
		return &ending{class: ralph.EndFailed, text: "cannot open the workspace: " + err.Error()}
	}
	defer root.Close()
	t.start(t.lead.tools(tools.Options{
		Root: root, Env: t.o.Env, Marker: t.in.Marker, Enter: t.o.Enter, BashTimeout: t.o.BashTimeout, Grace: t.o.Grace,
	}))
	end := t.takeTurns(ctx)
	t.lead.finish(ctx, end)
	return end
}

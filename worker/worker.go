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

// DefaultMaxTurns is how many turns a task gets.
const DefaultMaxTurns = 32

//go:embed system.md
var systemPage string

// Options is what stays the same for all iterations of a run.
type Options struct {
	// Client talks to the model. A worker is patient with it; see model.Retrier.
	Client model.Client
	Model  string // for iterations that name none
	// MaxTurns bounds a task; 0 is DefaultMaxTurns. A reviewer has ReviewTurns at most.
	MaxTurns  int
	MaxOutput int   // tokens of one reply; 0 leaves it to the client
	Window    int64 // tokens that the model holds; 0 is what the price table says, or chat.DefaultWindow
	// Price knows what a model costs; nil is model.PriceOf.
	Price  func(model string) (model.Price, bool)
	KeyEnv string // the variable that holds the key, for advice

	Env         []string            // the whole environment of commands; it should not hold the key
	Enter       func(*process.Spec) // may change how a command is started, for a sandbox
	BashTimeout time.Duration       // of a command that asks for no other; 0 is the tool's default
	Grace       time.Duration       // between TERM and KILL when a command is ended; 0 is the process package's default
	// Hooks decide about tool calls; nil is the built-in rules alone. Those for iterations and runs are not asked here.
	Hooks *hooks.Set
	Run   string // the run's id, for hooks
}

// Worker works on one task at a time. It may be used by several goroutines at once.
type Worker struct{ o Options }

var (
	_ ralph.Agent     = (*Worker)(nil)
	_ ralph.Submitter = (*Worker)(nil)
)

// New makes a worker. Nothing is started or asked for yet.
func New(o Options) *Worker {
	o.MaxTurns = cmp.Or(o.MaxTurns, DefaultMaxTurns)
	return &Worker{o}
}

// SubmitsCases says that a worker claims with cases and not with words.
func (*Worker) SubmitsCases() {}

// Run works on one task to its end, as ralph.Agent says.
func (w *Worker) Run(ctx context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	return run(ctx, w.o, in, func(t *talk) role { return &caseMaking{talk: t} })
}

// run has one conversation, whoever leads it.
func run(ctx context.Context, o Options, in ralph.AgentInput, lead func(*talk) role) (ralph.AgentOutcome, error) {
	record, err := openTranscript(in.Folder, in.Prompt)
	if err != nil {
		return ralph.AgentOutcome{}, err
	}
	t := newTalk(o, in, record)
	t.lead = lead(t)
	end := t.inWorkspace(ctx)
	if err := record.close(); err != nil {
		return ralph.AgentOutcome{}, err
	}
	return t.outcome(end), nil
}

// inWorkspace opens the workspace for the time of the conversation.
func (t *talk) inWorkspace(ctx context.Context) *ending {
	root, err := os.OpenRoot(t.in.Dir)
	if err != nil {
		return &ending{class: ralph.EndFailed, text: "the workspace cannot be opened: " + err.Error()}
	}
	defer root.Close()
	t.equip(t.lead.tools(tools.Options{
		Root: root, Env: t.o.Env, Marker: t.in.Marker, Enter: t.o.Enter, BashTimeout: t.o.BashTimeout, Grace: t.o.Grace,
	}))
	end := t.goOn(ctx)
	t.lead.finish(ctx, end)
	return end
}

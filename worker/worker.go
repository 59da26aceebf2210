package worker

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/hooks"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/sandbox"
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
	// Sandbox is the tier that Enter puts commands into; "" means none. The iteration ends if it fails.
	Sandbox sandbox.Tier
	// Mask masks secrets in what is sent and stored; nil masks nothing.
	Mask *secrets.Masker
	// BashTimeout is the default timeout of a command, and MaxBashTimeout the longest that the model may ask for;
	// default: the tool's.
	BashTimeout, MaxBashTimeout time.Duration
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
	in.Prompt = o.Mask.String(in.Prompt)
	record, err := openTranscript(in.Folder, in.Prompt)
	if err != nil {
		return ralph.AgentOutcome{}, err
	}
	record.mask = o.Mask
	t := newConversation(o, in, record)
	t.lead = lead(t)
	outputs, err := openOutputs(in.Folder)
	if err != nil {
		return ralph.AgentOutcome{}, errors.Join(err, record.close())
	}
	end := t.inWorkspace(ctx, outputs.root)
	if err := errors.Join(outputs.remove(), record.close()); err != nil {
		return ralph.AgentOutcome{}, err
	}
	return t.outcome(end), nil
}

// outputs is the folder with long outputs of commands, until the conversation ends. Without a folder of the iteration
// there is none.
type outputs struct{ root *os.Root }

func openOutputs(iteration string) (o outputs, err error) {
	if iteration == "" {
		return o, nil
	}
	folder := filepath.Join(iteration, "outputs")
	if err = os.MkdirAll(folder, 0o700); err == nil {
		o.root, err = os.OpenRoot(folder)
	}
	if err != nil {
		return o, fmt.Errorf("make folder for outputs: %w: %w", ralph.ErrIO, err)
	}
	return o, nil
}

func (o outputs) remove() error {
	if o.root == nil {
		return nil
	}
	if err := errors.Join(o.root.Close(), os.RemoveAll(o.root.Name())); err != nil {
		return fmt.Errorf("remove outputs: %w: %w", ralph.ErrIO, err)
	}
	return nil
}

// inWorkspace opens the workspace for the duration of the conversation.
func (t *conversation) inWorkspace(ctx context.Context, outputs *os.Root) *ending {
	root, err := os.OpenRoot(t.in.Dir)
	if err != nil {
		return &ending{class: ralph.EndFailed, text: "cannot open the workspace: " + err.Error()}
	}
	defer root.Close()
	t.start(t.lead.tools(tools.Options{
		Root: root, Outputs: outputs, Env: t.o.Env, Marker: t.in.Marker, Enter: t.o.Enter, Grace: t.o.Grace,
		Sandbox:     t.o.Sandbox,
		BashTimeout: t.o.BashTimeout, MaxBashTimeout: t.o.MaxBashTimeout, Mask: t.o.Mask,
	}))
	end := t.takeTurns(ctx)
	t.lead.finish(ctx, end)
	return end
}

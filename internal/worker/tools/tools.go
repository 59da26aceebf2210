package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/sandbox"
)

// Tool is something that the model can call. Several goroutines may call it at once.
type Tool interface {
	// Spec returns the tool's description for the model.
	Spec() model.Tool
	// Run makes one call and returns when nothing of it is running anymore. A done ctx ends it early.
	// Problems are reported to the model.
	Run(ctx context.Context, input json.RawMessage) Output
}

// Output is the result of a call.
type Output struct {
	Text string
	// Failed means a refusal, trouble, or a command with an exit code other than 0.
	Failed bool
	Cut    bool // something was left out of Text, and Text says so
	// Edited names the files that were changed, relative to the workspace, with slashes.
	Edited []string
	// NoSandbox says why no command can be run: the sandbox, which worked when the run began, does not work any
	// more. "" otherwise.
	NoSandbox string
}

// Options configure tools.
type Options struct {
	// Root is the workspace. It must stay open as long as the tools are used; the caller closes it.
	Root *os.Root
	// Env is the whole environment of commands.
	Env []string
	// Marker is put into the environment of all processes; see process.Spec.
	Marker string
	// Enter may change how a command is started, for a sandbox; may be nil.
	Enter func(*process.Spec)
	// Sandbox is the tier that Enter puts commands into; "" means none.
	Sandbox sandbox.Tier
	// Outputs is where the outputs of commands are kept that are too long for an answer. Like Root, it must stay open.
	// nil keeps none.
	Outputs *os.Root
	// BashTimeout is the default timeout of a command; default: DefaultBashTimeout. MaxBashTimeout is the longest that a
	// command may ask for; default: DefaultMaxBashTimeout.
	BashTimeout, MaxBashTimeout time.Duration
	// Grace is the time between TERM and KILL when a command is ended; default: process.DefaultGrace;
	// negative means none.
	Grace time.Duration
	// Mask masks secrets in the output of commands; nil masks nothing.
	Mask *secrets.Masker
}

// Set returns all tools: bash, read_file, write_file, edit_file, glob, grep.
func Set(o Options) []Tool {
	w := newWorkspace(o)
	return append([]Tool{
		newBash(w).tool(), newTool("read_file", readFilePage, w.readFile), newTool("write_file", writeFilePage, w.writeFile),
		newTool("edit_file", editFilePage, w.editFile),
	}, w.searches()...)
}

// Reading returns the read-only tools: read_file, glob, grep.
func Reading(o Options) []Tool {
	w := newWorkspace(o)
	return append([]Tool{newTool("read_file", readFilePage, w.readFile)}, w.searches()...)
}

func (w *workspace) searches() []Tool {
	return []Tool{newTool("glob", globPage, w.glob), newTool("grep", grepPage, w.grep)}
}

// tool implements Tool with a function whose parameter is the tool's input.
type tool[T any] struct {
	spec model.Tool
	run  func(ctx context.Context, in T) Output
}

func newTool[T any](name, page string, run func(context.Context, T) Output) Tool {
	return tool[T]{Spec(name, page, *new(T)), run}
}

func (t tool[T]) Spec() model.Tool { return t.spec }

func (t tool[T]) Run(ctx context.Context, input json.RawMessage) Output {
	var in T
	if err := Decode(input, &in); err != nil {
		return failed(err)
	}
	return t.run(ctx, in)
}

// Spec makes a tool's description. page is its Markdown, input an empty value of its input type.
func Spec(name, page string, input any) model.Tool {
	return model.Tool{Name: name, Description: strings.TrimSpace(page), Schema: Schema(input)}
}

func failed(err error) Output { return Output{Text: err.Error(), Failed: true} }

// Failf returns the answer to a call that cannot be made or went wrong.
func Failf(format string, args ...any) Output { return failed(fmt.Errorf(format, args...)) }

// Names lists the names of tools, for a model that called an unknown one.
func Names(specs []model.Tool) string {
	return strings.Join(text.Mapped(specs, func(s model.Tool) string { return s.Name }), ", ")
}

// readTimeout limits a call that only reads.
const readTimeout = 60 * time.Second

// gaveUp returns the answer to a call whose context is done; asked is the caller's context.
func gaveUp(asked context.Context) Output {
	if asked.Err() == nil {
		return Failf("it took longer than %s and was stopped; ask for less", readTimeout)
	}
	return Failf("the call was interrupted")
}

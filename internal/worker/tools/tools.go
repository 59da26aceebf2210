package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/model"
)

// Tool is something that the model can call. It may be called by several goroutines at once.
type Tool interface {
	// Spec is the tool as the model is told of it.
	Spec() model.Tool
	// Run makes one call and blocks until nothing of it is running any more. A done ctx ends it early. What goes wrong is told to the model.
	Run(ctx context.Context, input json.RawMessage) Output
}

// Output is what became of a call.
type Output struct {
	Text   string
	Failed bool // it is not what was asked for: a refusal, trouble, or a command with another exit code than 0
	Cut    bool // something was left out of Text, and Text says so
	// Edited names the files that were changed, below the workspace and with slashes.
	Edited []string
}

// Options say where tools work.
type Options struct {
	// Root is the workspace. It stays open as long as the tools are used; whoever opened it closes it.
	Root *os.Root
	// Env is the whole environment of commands.
	Env []string
	// Marker is put into the environment of all processes; see process.Spec.
	Marker string
	// Enter may change how a command is started, for a sandbox; nil leaves it as it is.
	Enter func(*process.Spec)
	// BashTimeout bounds a command that asks for no other time; 0 is DefaultBashTimeout.
	BashTimeout time.Duration
	// Grace is the time between TERM and KILL when a command is ended; 0 is process.DefaultGrace, less than 0 none.
	Grace time.Duration
}

// Set gives all tools: bash, read_file, write_file, edit_file, glob, grep.
func Set(o Options) []Tool {
	w := newWorkspace(o)
	return append([]Tool{
		newBash(w).tool(), newTool("read_file", readFilePage, w.readFile), newTool("write_file", writeFilePage, w.writeFile),
		newTool("edit_file", editFilePage, w.editFile),
	}, w.searches()...)
}

// Reading gives the tools that change nothing: read_file, glob, grep.
func Reading(o Options) []Tool {
	w := newWorkspace(o)
	return append([]Tool{newTool("read_file", readFilePage, w.readFile)}, w.searches()...)
}

func (w *workspace) searches() []Tool {
	return []Tool{newTool("glob", globPage, w.glob), newTool("grep", grepPage, w.grep)}
}

// tool is made of one function; what the function takes is the tool's input.
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

// Spec puts a tool's description together. page is its Markdown, input an empty value of what it takes.
func Spec(name, page string, input any) model.Tool {
	return model.Tool{Name: name, Description: strings.TrimSpace(page), Schema: Schema(input)}
}

func failed(err error) Output { return Output{Text: err.Error(), Failed: true} }

// Failf is the answer to a call that cannot be made, or went wrong.
func Failf(format string, args ...any) Output { return failed(fmt.Errorf(format, args...)) }

// Names lists the names of tools, for a model that called another one.
func Names(specs []model.Tool) string {
	return strings.Join(text.Mapped(specs, func(s model.Tool) string { return s.Name }), ", ")
}

// readTime bounds a call that only reads.
const readTime = 60 * time.Second

// gaveUp is the answer to a call whose context was done; asked is the caller's own.
func gaveUp(asked context.Context) Output {
	if asked.Err() == nil {
		return Failf("it took longer than %s and was given up; ask for less", readTime)
	}
	return Failf("the call was interrupted")
}

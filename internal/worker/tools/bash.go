package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/ralphloop/ralph/internal/process"
)

//go:embed bash.md
var bashPage string

const (
	// DefaultBashTimeout is the default timeout of a command.
	DefaultBashTimeout = 120 * time.Second
	// DefaultMaxBashTimeout is the longest timeout that a command may ask for by default.
	DefaultMaxBashTimeout = time.Hour

	// bashLimit is the maximum number of characters of a command's result.
	bashLimit = 8000
	// commandLimit is less than systems allow for one argument.
	commandLimit = 100_000
)

type bash struct {
	*workspace
	shell         string
	timeout, most time.Duration
}

type bashInput struct {
	Command string `json:"command" doc:"The command, as you would type it."`
	Timeout int    `json:"timeout_seconds,omitempty" doc:"How long it may take."`
}

func newBash(w *workspace) bash {
	most := cmp.Or(max(w.MaxBashTimeout, 0), DefaultMaxBashTimeout)
	timeout := min(cmp.Or(max(w.BashTimeout, 0), DefaultBashTimeout), most)
	return bash{workspace: w, shell: findShell(w), timeout: timeout, most: most}
}

// findShell looks for bash; "" means the system's own shell.
func findShell(w *workspace) string {
	const usual = "/bin/bash"
	if info, err := os.Stat(usual); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return usual
	}
	path, err := process.LookPath("bash")
	if err != nil || runtime.GOOS == "windows" {
		return "" // on Windows, bash sees another file system
	}
	if _, err := w.inside(path); err == nil {
		return "" // the agent could have written it
	}
	return path
}

func (t bash) tool() Tool {
	name := "bash"
	if t.shell == "" {
		name = process.Shell("")[0] + " (there is no bash here)"
	}
	kept := ""
	if t.outputs != nil {
		kept = ", and then names a file with all of the output, which read_file and grep can read"
	}
	values := strings.NewReplacer(
		"{shell}", name, "{timeout}", seconds(t.timeout), "{most}", seconds(t.most), "{kept}", kept,
	)
	return newTool("bash", values.Replace(bashPage), t.call)
}

func (t bash) call(ctx context.Context, in bashInput) Output {
	timeout := time.Duration(in.Timeout) * time.Second
	switch {
	case strings.TrimSpace(in.Command) == "":
		return Failf("the command is empty")
	case strings.ContainsRune(in.Command, 0):
		return Failf("the command contains a NUL byte")
	case len(in.Command) > commandLimit:
		return Failf("the command has more than %d bytes; write it to a file and run that", commandLimit)
	case in.Timeout < 0 || in.Timeout > int(t.most.Seconds()):
		return Failf("timeout_seconds must be from 1 to %s", seconds(t.most))
	case timeout == 0:
		timeout = t.timeout
	}
	return t.run(ctx, in.Command, timeout)
}

// argv returns the command line for the shell.
func (t bash) argv(command string) []string {
	if t.shell == "" {
		return process.Shell(command)
	}
	return []string{t.shell, "-c", command}
}

func (t bash) run(ctx context.Context, command string, timeout time.Duration) Output {
	var seen excerpt
	kept, err := t.keepOutput()
	if err != nil {
		return Failf("the command was not run: there is no place for its output: %w", err)
	}
	spec := t.spec(".", t.argv(command)...)
	spec.Stdout, spec.StderrToStdout = process.Sink{Path: kept.path, Limit: keptLimit, Tap: &seen}, true
	spec.Timeout, spec.Grace, spec.Guarded, spec.Mask = timeout, t.Grace, true, t.Mask.Writer
	ended, err := process.Run(ctx, t.entered(spec))
	if err != nil {
		return Failf("the command could not be run: %w", err)
	}
	if why := t.brokenWall(ctx, ended, &seen); why != "" {
		kept.remove()
		return withoutWall(why)
	}
	if ended.State == process.NotStarted {
		return Failf("the command could not be started: %w", ended.StartError)
	}
	notes := remarks(ended, timeout)
	if ended.State == process.TimedOut && timeout < t.most {
		notes += fmt.Sprintf("[timeout_seconds may be up to %s]\n", seconds(t.most))
	}
	text, cut := seen.text(bashLimit, notes)
	if cut {
		text, cut = seen.text(bashLimit, kept.remark(ended.StdoutTruncated)+notes)
	} else {
		kept.remove()
	}
	return Output{Text: text, Cut: cut, Failed: ended.State != process.Exited || ended.ExitCode != 0}
}

// remarks returns what the harness says below the output of a command.
func remarks(ended process.Result, timeout time.Duration) string {
	var b strings.Builder
	if ended.OutputHeld {
		b.WriteString("[a process kept the output open, so its end may be missing]\n")
	}
	switch ended.State {
	case process.Exited:
		switch {
		case ended.Survivors == 1:
			fmt.Fprintf(&b, "[1 background process was killed: %s]\n", nameList(ended.SurvivorNames))
		case ended.Survivors > 1:
			fmt.Fprintf(&b, "[%d background processes were killed: %s]\n", ended.Survivors, nameList(ended.SurvivorNames))
		}
		fmt.Fprintf(&b, "[exit code %d", ended.ExitCode)
		if ended.Signal != "" {
			fmt.Fprintf(&b, ": %s", ended.Signal)
		}
		b.WriteString("]\n")
	case process.TimedOut:
		fmt.Fprintf(
			&b, "[the command did not finish within %s seconds and was killed; this is its output until then]\n",
			seconds(timeout),
		)
	default:
		b.WriteString("[the command was interrupted; this is its output until then]\n")
	}
	if ended.Unkillable > 0 {
		fmt.Fprintf(&b, "[%d processes could not be killed]\n", ended.Unkillable)
	}
	return b.String()
}

// nameList returns the names of processes on one line. Processes choose their names freely.
func nameList(names []string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.Join(names, ", "))
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

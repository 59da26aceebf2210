// Package git finds and runs the git program: on its own for questions that change nothing, and in the
// user's name for commits and merges. It also reads what git says.
package git

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

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/process"
)

// DefaultTimeout bounds one git call when a Program names no other time. A status of a huge
// repository on a cold disk takes a minute.
const DefaultTimeout = 2 * time.Minute

// ErrNoGit says that there is no git to run; for errors.Is.
var ErrNoGit = errors.New("git is not installed or not executable")

// Program is the git program and how it is run.
type Program struct {
	// Env is the environment that git is found and run in. GIT_ variables that would
	// point to another repository or run a program are left out.
	Env []string
	// Timeout bounds one call; 0 is DefaultTimeout.
	Timeout time.Duration

	path string // its path; see Locate
}

// Call is one run of git.
type Call struct {
	Dir    string
	Env    []string // added to the cleaned environment
	Args   []string
	Stdin  string    // a file for git to read; "" is none
	Limit  int       // how much git may say; 0 is 64 MiB
	Out    io.Writer // takes what git says, without a limit; nil has it returned
	Warned *Head     // takes what git says on the side; nil takes it only for errors
}

// Failure is a git that ended with an error of its own.
type Failure struct {
	what   string
	Code   int
	Stderr string
}

func (f *Failure) Error() string {
	said := strings.TrimSpace(f.Stderr)
	if said == "" {
		return fmt.Sprintf("git %s: exit %d", f.what, f.Code)
	}
	return fmt.Sprintf("git %s: exit %d: %s", f.what, f.Code, said)
}

// harmless is what keeps programs named in a repository's configuration from being run.
// An external diff cannot be switched off here, only by --no-ext-diff: git would try to
// run the empty name.
var harmless = []string{
	"--no-pager",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.quotePath=false",
	"-c", "status.aheadBehind=false",
	"-c", "status.showStash=false",
}

// Run runs git and gives what it said, also with a Failure, and its beginning with ErrTooMuch.
func (g Program) Run(ctx context.Context, c Call) (string, error) {
	timeout := g.CallTimeout()
	argv := append(append([]string{g.path}, harmless...), c.Args...)
	what := command(c.Args)
	stderr := cmp.Or(c.Warned, &Head{})
	said := limited{limit: cmp.Or(c.Limit, outputLimit)}
	var out io.Writer = &said
	if c.Out != nil {
		out = c.Out
	}
	// Asked to end, git would wait for its filters. It has nothing to tidy up: it only
	// reads, and a sample project that is half made is none.
	ended, err := start(ctx, what, process.Spec{
		Argv: argv, Dir: c.Dir, Env: append(g.environment(), c.Env...), Timeout: timeout, Grace: -1, StdinFile: c.Stdin,
		Stdout: process.Sink{Tap: out}, Stderr: process.Sink{Tap: stderr},
	})
	switch {
	case err != nil:
	case ended.State == process.TimedOut:
		err = fmt.Errorf("run git %s: no end after %v", what, timeout)
	case ended.ExitCode != 0:
		err = &Failure{what: what, Code: ended.ExitCode, Stderr: stderr.String()}
	}
	return said.text.String(), err
}

// start runs git to its end. A git that did not start or was canceled is an error.
func start(ctx context.Context, what string, spec process.Spec) (process.Result, error) {
	ended, err := process.Run(ctx, spec)
	switch {
	case err != nil:
	case ended.State == process.Canceled:
		err = context.Cause(ctx)
	case ended.State != process.NotStarted:
		return ended, nil
	case errors.Is(ended.StartError, process.ErrNotFound) || errors.Is(ended.StartError, process.ErrNotExecutable):
		err = fmt.Errorf("%w: %w", ErrNoGit, ended.StartError)
	default:
		err = ended.StartError
	}
	return ended, fmt.Errorf("run git %s: %w", what, err)
}

// ExitCode is that of a Failure, 0 for any other error.
func ExitCode(err error) int {
	if failed, ok := errors.AsType[*Failure](err); ok {
		return failed.Code
	}
	return 0
}

// Failed reports whether git itself ended with an error.
func Failed(err error) bool {
	_, failed := errors.AsType[*Failure](err)
	return failed
}

// command names a call in messages: its first argument that is no setting.
func command(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// kept are the GIT_ variables that say how git works, not on what.
var kept = []string{
	"GIT_CONFIG_GLOBAL=",
	"GIT_CONFIG_SYSTEM=",
	"GIT_CONFIG_NOSYSTEM=",
	"GIT_CONFIG_COUNT=",
	"GIT_CONFIG_KEY_",
	"GIT_CONFIG_VALUE_",
	"GIT_EXEC_PATH=",
	"GIT_CEILING_DIRECTORIES=",
	"GIT_DISCOVERY_ACROSS_FILESYSTEM=",
}

func (g Program) environment() []string {
	env := slices.DeleteFunc(slices.Clone(g.Env), func(entry string) bool {
		return strings.HasPrefix(entry, "GIT_") && !hasPrefixOf(entry, kept)
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none")
}

func hasPrefixOf(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

// Locate is g with its program settled for all calls. A git inside the working tree
// that dir belongs to is passed over, also one that is only reached through it or links
// into it: an agent could have put it there, and would then decide what the tree is.
func (g Program) Locate(dir string) (Program, error) {
	top := workingTree(dir)
	tree, err := os.Stat(top)
	if err != nil {
		return g, err
	}
	program, err := process.Locate("git", g.Env, func(path string) bool { return leadsInto(tree, path) })
	if err != nil {
		return g, fmt.Errorf("look for git outside of %s: %w: %w", top, ErrNoGit, err)
	}
	// Without links in the folder's path nobody can lead it elsewhere. The file itself
	// keeps its name, from which some programs know what they are to be.
	folder, err := filepath.EvalSymlinks(filepath.Dir(program))
	if err != nil {
		return g, fmt.Errorf("look for git outside of %s: %w: %w", top, ErrNoGit, err)
	}
	g.path = filepath.Join(folder, filepath.Base(program))
	return g, nil
}

// workingTree guesses the top of the working tree, without the help of git, which is yet
// to be found.
func workingTree(dir string) string {
	for above := dir; ; above = filepath.Dir(above) {
		if _, err := os.Lstat(filepath.Join(above, ".git")); err == nil {
			return above
		}
		if above == filepath.Dir(above) {
			return dir
		}
	}
}

// leadsInto reports whether a path lies in the tree, as it is spelled, or with the links
// of its folder or its own resolved. What cannot be resolved counts as inside.
func leadsInto(tree os.FileInfo, path string) bool {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return true
	}
	file, err := filepath.EvalSymlinks(path)
	return err != nil || scan.Below(tree, path) || scan.Below(tree, folder) || scan.Below(tree, file)
}

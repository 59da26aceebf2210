// Package git finds and runs the git program: neutrally for queries that change nothing, and in the
// user's name for commits and merges. It also parses git's output.
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

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/process"
)

// DefaultTimeout limits one git call if a Program sets no Timeout. A status of a huge repository on
// a cold disk takes a minute.
const DefaultTimeout = 2 * time.Minute

// ErrNoGit means that there is no git program to run; for errors.Is.
var ErrNoGit = errors.New("git is not installed or not executable")

// Program is the git program and its settings.
type Program struct {
	// Env is the environment in which git is found and run. GIT_ variables that would point to another
	// repository or run a program are removed.
	Env []string
	// Timeout limits one call; default: DefaultTimeout.
	Timeout time.Duration

	// Slow is called with a sentence about a call that takes long, while it goes on; may be nil.
	Slow func(text string)

	// Agreed reports whether the user agreed to what has this ID in the repository with this common
	// folder; may be nil.
	Agreed func(common, id string) bool

	path  string // set by Locate
	pipes *pipes // set by Locate
}

// Call is one run of git.
type Call struct {
	Dir    string
	Env    []string // added to the cleaned environment
	Args   []string
	Stdin  string    // a file for git to read; may be ""
	Limit  int       // the most output in bytes; default: 64 MiB
	Out    io.Writer // receives the output, without a limit; default: Run returns it
	Warned *Head     // receives stderr; default: stderr is only used for errors
}

// Failure is the error of a git command that exited with an error.
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

// Is makes a failure of git's storage an [ralph.ErrIO].
func (f *Failure) Is(target error) bool { return target == ralph.ErrIO && storageFailed(f.Stderr) }

// attentive makes git look at a file whose size or times changed, and at commits as a clone would have them, whatever
// the repository says. Otherwise an agent could make git see another file or commit.
var attentive = []string{
	"--no-replace-objects",
	"-c", "core.trustctime=true",
	"-c", "core.checkStat=default",
	"-c", "core.ignoreStat=false",
}

// harmless keeps git from running programs named in a repository's configuration. An external diff
// cannot be disabled here, only by --no-ext-diff: git would try to run the empty name.
var harmless = []string{
	"--no-pager",
	"-c", "core.fsmonitor=false",
	"-c", "core.hooksPath=" + os.DevNull,
	"-c", "core.quotePath=false",
	"-c", "merge.default=text",
	"-c", "status.aheadBehind=false",
	"-c", "status.showStash=false",
	"-c", "log.showSignature=false",
	"-c", "core.bigFileThreshold=8m",
	// Git would map a whole pack into its memory.
	"-c", "core.packedGitWindowSize=8m",
	"-c", "core.packedGitLimit=32m",
}

// lineLimit is the size from which files are not compared line by line, which takes up to eighty times
// their size in memory.
var lineLimit = []string{"-c", "core.bigFileThreshold=1m"}

// Run runs git and returns its output, also with a Failure, and the start of it with ErrTooMuch.
func (g Program) Run(ctx context.Context, c Call) (string, error) {
	timeout := g.CallTimeout()
	what := command(c.Args)
	argv := slices.Concat([]string{g.path}, harmless, attentive)
	if what == "diff" || what == "diff-tree" {
		argv = append(argv, lineLimit...)
	}
	argv = append(argv, c.Args...)
	stderr := cmp.Or(c.Warned, &Head{})
	said := limited{limit: cmp.Or(c.Limit, outputLimit)}
	var out io.Writer = &said
	if c.Out != nil {
		out = c.Out
	}
	// Git would wait for its filters if it were asked to terminate, so it is killed. It has nothing to
	// clean up: it only reads, and a half-made sample project is useless.
	ended, err := g.start(ctx, what, process.Spec{
		Argv: argv, Dir: c.Dir, Env: append(g.environment(), c.Env...), Timeout: timeout, Grace: -1, StdinFile: c.Stdin,
		Stdout: process.Sink{Tap: out}, Stderr: process.Sink{Tap: stderr},
	})
	switch {
	case err != nil:
	case ended.State == process.TimedOut:
		err = fmt.Errorf("run git %s: not finished after %v", what, timeout)
	case ended.ExitCode != 0:
		err = &Failure{what: what, Code: ended.ExitCode, Stderr: stderr.String()}
	}
	return said.text.String(), err
}

// start runs git until it ends. It returns an error if git did not start or was canceled.
func (g Program) start(ctx context.Context, what string, spec process.Spec) (process.Result, error) {
	stopWatching := g.watch(what, treeOf(spec))
	ended, err := process.Run(ctx, spec)
	stopWatching()
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

// ExitCode returns the exit code of a Failure, and 0 for any other error.
func ExitCode(err error) int {
	if failed, ok := errors.AsType[*Failure](err); ok {
		return failed.Code
	}
	return 0
}

// Failed reports whether git itself exited with an error.
func Failed(err error) bool {
	_, failed := errors.AsType[*Failure](err)
	return failed
}

// command names a call in messages: its first argument that is not a setting.
func command(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}

// kept are the GIT_ variables that control how git works, not on which repository.
var kept = []string{
	"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=", "GIT_CONFIG_COUNT=", "GIT_CONFIG_KEY_",
	"GIT_CONFIG_VALUE_", "GIT_EXEC_PATH=", "GIT_CEILING_DIRECTORIES=", "GIT_DISCOVERY_ACROSS_FILESYSTEM=",
}

func (g Program) environment() []string {
	env := slices.DeleteFunc(slices.Clone(g.Env), func(entry string) bool {
		return strings.HasPrefix(entry, "GIT_") && !hasPrefixOf(entry, kept)
	})
	return append(append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none"), noTraces...)
}

// noTraces switch off traces that a user's configuration can ask for. A check could do that, and choose a
// file into which git would write variables that the check does not have.
var noTraces = []string{"GIT_TRACE2=0", "GIT_TRACE2_EVENT=0", "GIT_TRACE2_PERF=0"}

func hasPrefixOf(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

// Locate returns g with its program fixed for all calls. It skips a git program inside the working
// tree that dir belongs to, even one that is only reached through it or links into it: an agent
// could have put it there, and would then decide what the tree is.
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
	// Without links in the folder's path it cannot be redirected later. The file keeps its name,
	// because some programs act according to it.
	folder, err := filepath.EvalSymlinks(filepath.Dir(program))
	if err != nil {
		return g, fmt.Errorf("look for git outside of %s: %w: %w", top, ErrNoGit, err)
	}
	g.path, g.pipes = filepath.Join(folder, filepath.Base(program)), &pipes{}
	return g, nil
}

// workingTree guesses the top of the working tree without git, which is not located yet.
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

// leadsInto reports whether a path is in the tree, either as spelled or after resolving the links
// of its folder or of the file. A path that cannot be resolved counts as inside.
func leadsInto(tree os.FileInfo, path string) bool {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return true
	}
	file, err := filepath.EvalSymlinks(path)
	return err != nil || scan.Below(tree, path) || scan.Below(tree, folder) || scan.Below(tree, file)
}

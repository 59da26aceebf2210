package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/process"
)

// DefaultTimeout bounds one git call when a Git names no other time. A status of a huge
// repository on a cold disk takes a minute.
const DefaultTimeout = 2 * time.Minute

// Why a folder's repository cannot be used; for errors.Is.
var (
	ErrNoGit      = errors.New("git is not installed or not executable")
	ErrOwner      = errors.New("the repository belongs to another user")
	ErrNoWorkTree = errors.New("the repository has no working tree here")
)

// Git is the git program and how it is run.
type Git struct {
	// Env is the environment that git is found and run in. GIT_ variables that would
	// point to another repository or run a program are left out.
	Env []string
	// Timeout bounds one call; 0 is DefaultTimeout.
	Timeout time.Duration

	program string // its path; see located
}

// call is one run of git.
type call struct {
	dir  string
	env  []string // added to the cleaned environment
	args []string
	out  io.Writer

	stdin  string // a file for git to read; "" is none
	warned *head  // takes what git says on the side; nil takes it only for errors
}

// failure is a git that ended with an error of its own.
type failure struct {
	what   string
	code   int
	stderr string
}

func (f *failure) Error() string {
	said := strings.TrimSpace(f.stderr)
	if said == "" {
		return fmt.Sprintf("git %s: exit %d", f.what, f.code)
	}
	return fmt.Sprintf("git %s: exit %d: %s", f.what, f.code, said)
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

func (g Git) run(ctx context.Context, c call) error {
	timeout := g.timeout()
	argv := append(append([]string{g.program}, harmless...), c.args...)
	what := command(c.args)
	stderr := &head{}
	if c.warned != nil {
		stderr = c.warned
	}
	// Asked to end, git would wait for its filters. It has nothing to tidy up: it only
	// reads, and a sample project that is half made is none.
	ended, err := process.Run(ctx, process.Spec{
		Argv: argv, Dir: c.dir, Env: append(g.environment(), c.env...), Timeout: timeout, Grace: -1, StdinFile: c.stdin,
		Stdout: process.Sink{Tap: c.out}, Stderr: process.Sink{Tap: stderr},
	})
	switch {
	case err != nil:
		return fmt.Errorf("run git %s: %w", what, err)
	case ended.State == process.Canceled:
		return fmt.Errorf("run git %s: %w", what, context.Cause(ctx))
	case ended.State == process.TimedOut:
		return fmt.Errorf("run git %s: no end after %v", what, timeout)
	case ended.State == process.NotStarted:
		return startError(what, ended.StartError)
	case ended.ExitCode != 0:
		return &failure{what: what, code: ended.ExitCode, stderr: stderr.text.String()}
	}
	return nil
}

func startError(what string, err error) error {
	if errors.Is(err, process.ErrNotFound) || errors.Is(err, process.ErrNotExecutable) {
		return fmt.Errorf("run git %s: %w: %w", what, ErrNoGit, err)
	}
	return fmt.Errorf("run git %s: %w", what, err)
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
	"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=", "GIT_CONFIG_COUNT=", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_",
	"GIT_EXEC_PATH=", "GIT_CEILING_DIRECTORIES=", "GIT_DISCOVERY_ACROSS_FILESYSTEM=",
}

func (g Git) environment() []string {
	env := make([]string, 0, len(g.Env)+8)
	for _, entry := range g.Env {
		if !strings.HasPrefix(entry, "GIT_") || hasPrefixOf(entry, kept) {
			env = append(env, entry)
		}
	}
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
}

func hasPrefixOf(s string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}

// headLimit is how much of git's complaints is kept.
const headLimit = 4 << 10

// head keeps the beginning of what is written to it.
type head struct{ text strings.Builder }

func (h *head) Write(p []byte) (int, error) {
	h.text.Write(p[:min(len(p), headLimit-h.text.Len())])
	return len(p), nil
}

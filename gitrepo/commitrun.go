package gitrepo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/process"
)

// userCall is one run of git in the user's name. Unlike a call it runs the user's hooks
// and signing program and knows who the user is; what it cannot do is ask.
type userCall struct {
	dir     string
	env     []string // added to the user's
	args    []string
	stdin   *os.File // nil is nothing to read
	timeout time.Duration
}

// attempt is how a userCall ended.
type attempt struct {
	state  process.State
	code   int
	stdout string // its beginning
	output string // the end of both streams
}

func (a attempt) worked() bool { return a.state == process.Exited && a.code == 0 }

// failure is an attempt that did not work, as an error.
func (a attempt) failure(what string) error {
	switch {
	case a.worked() || a.state == "":
		return nil
	case a.state == process.TimedOut:
		return fmt.Errorf("run git %s: it did not end in time", what)
	}
	return &failure{what: what, code: a.code, stderr: a.output}
}

// unattended is what keeps git from starting what nobody waits for: an upkeep in the
// background would be killed with the rest of the tree, half done.
var unattended = []string{
	"--no-pager",
	"-c", "core.fsmonitor=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "core.filesRefLockTimeout=10000",
	"-c", "core.packedRefsTimeout=10000",
	"-c", "core.quotePath=false",
}

// asUser runs git in the user's name. How it ended is a value; a context that is done is
// an error.
func (g Git) asUser(ctx context.Context, c userCall) (attempt, error) {
	what := command(c.args)
	argv := append(append([]string{g.program}, unattended...), c.args...)
	var stdout head
	var both tail
	// A TERM first: git removes its lock files before it goes.
	ended, err := process.Run(ctx, process.Spec{
		Argv: argv, Dir: c.dir, Env: append(g.userEnvironment(), c.env...), Stdin: c.stdin, Timeout: c.timeout,
		Stdout: process.Sink{Tap: io.MultiWriter(&stdout, &both)}, Stderr: process.Sink{Tap: &both},
	})
	switch {
	case err != nil:
		return attempt{}, fmt.Errorf("run git %s: %w", what, err)
	case ended.State == process.Canceled:
		return attempt{}, fmt.Errorf("run git %s: %w", what, context.Cause(ctx))
	case ended.State == process.NotStarted:
		return attempt{}, startError(what, ended.StartError)
	}
	return attempt{state: ended.State, code: ended.ExitCode, stdout: stdout.text.String(), output: both.String()}, nil
}

func (g Git) timeout() time.Duration { return cmp.Or(g.Timeout, DefaultTimeout) }

// identity are the variables by which a user may be known to git.
var identity = []string{"GIT_AUTHOR_NAME=", "GIT_AUTHOR_EMAIL=", "GIT_COMMITTER_NAME=", "GIT_COMMITTER_EMAIL="}

// userEnvironment is the user's own, language included, for hooks to find themselves in
// it, without what would lead git elsewhere or let a program ask for something.
func (g Git) userEnvironment() []string {
	env := make([]string, 0, len(g.Env)+5)
	for _, entry := range g.Env {
		switch {
		case strings.HasPrefix(entry, "GIT_") && !hasPrefixOf(entry, kept) && !hasPrefixOf(entry, identity):
		case hasPrefixOf(entry, []string{"GPG_TTY=", "SSH_ASKPASS="}):
		default:
			env = append(env, entry)
		}
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never")
}

const (
	// tailChars is how much of git's and its hooks' output is kept for a user to read.
	tailChars = 4000
	tailBytes = utf8.UTFMax * tailChars
)

// tail keeps the end of what is written to it, from two streams.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-tailBytes):]...)
	if len(t.text) > 2*tailBytes {
		t.text = append(t.text[:0], t.text[len(t.text)-tailBytes:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := []rune(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\ufffd")))
	return string(text[max(0, len(text)-tailChars):])
}

package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/process"
)

// UserCall is one git call in the user's name. Unlike a Call it runs the user's hooks and signing
// program and has the user's identity. It cannot ask the user anything.
type UserCall struct {
	Dir     string
	Env     []string // added to the user's environment
	Args    []string
	Stdin   *os.File // may be nil
	Timeout time.Duration
}

// Attempt is the result of a UserCall.
type Attempt struct {
	State  process.State
	Code   int
	Stdout string // the start of stdout
	Output string // the end of both streams
}

// Worked reports whether git succeeded.
func (a Attempt) Worked() bool { return a.State == process.Exited && a.Code == 0 }

// Failure returns an error if the attempt did not succeed.
func (a Attempt) Failure(what string) error {
	switch {
	case a.Worked() || a.State == "":
		return nil
	case a.State == process.TimedOut:
		return fmt.Errorf("run git %s: it did not finish in time", what)
	}
	return &Failure{what: what, Code: a.Code, Stderr: a.Output}
}

// unattended keeps git from starting maintenance in the background, which would be killed half done
// with the rest of the process tree.
var unattended = []string{
	"--no-pager",
	"-c", "core.fsmonitor=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "core.filesRefLockTimeout=10000",
	"-c", "core.packedRefsTimeout=10000",
	"-c", "core.quotePath=false",
}

// AsUser runs git in the user's name. The result describes how it ended; only a canceled context or
// a failed start is an error.
func (g Program) AsUser(ctx context.Context, c UserCall) (Attempt, error) {
	what := command(c.Args)
	argv := slices.Concat([]string{g.path}, unattended, attentive, c.Args)
	var stdout Head
	var both tail
	// Terminate it with SIGTERM first: git then removes its lock files.
	ended, err := g.start(ctx, what, process.Spec{
		Argv: argv, Dir: c.Dir, Env: append(g.userEnvironment(), c.Env...), Stdin: c.Stdin, Timeout: c.Timeout,
		Stdout: process.Sink{Tap: io.MultiWriter(&stdout, &both)}, Stderr: process.Sink{Tap: &both},
	})
	if err != nil {
		return Attempt{}, err
	}
	return Attempt{State: ended.State, Code: ended.ExitCode, Stdout: stdout.String(), Output: both.String()}, nil
}

// CallTimeout returns the time limit of one call.
func (g Program) CallTimeout() time.Duration { return cmp.Or(g.Timeout, DefaultTimeout) }

// identity are the variables that can identify a user to git.
var identity = []string{"GIT_AUTHOR_NAME=", "GIT_AUTHOR_EMAIL=", "GIT_COMMITTER_NAME=", "GIT_COMMITTER_EMAIL="}

// userEnvironment returns the user's environment, so that hooks work as usual. It removes variables
// that would lead git elsewhere or let a program prompt. An object that a partial clone lacks is not fetched,
// because the repository's settings say with which program. Messages are in English, in which
// storageFailed knows them; the user's character set and formats stay.
func (g Program) userEnvironment() []string {
	env := slices.DeleteFunc(slices.Clone(g.Env), func(entry string) bool {
		return strings.HasPrefix(entry, "GIT_") && !hasPrefixOf(entry, kept) && !hasPrefixOf(entry, identity) ||
			hasPrefixOf(entry, []string{"GPG_TTY=", "SSH_ASKPASS="})
	})
	return append(append(env, "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true", "GIT_ASKPASS=",
		"SSH_ASKPASS_REQUIRE=never", "LANGUAGE=en", "GIT_NO_LAZY_FETCH=1"), noTraces...)
}

const (
	// tailChars is how much output of git and its hooks is kept for the user.
	tailChars = 4000
	tailBytes = utf8.UTFMax * tailChars
)

// tail keeps the end of its input, from two streams.
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

// Hooks are the hashes of hooks, by name.
type Hooks map[string][sha256.Size]byte

// Since returns the names of hooks that are new or different.
func (h Hooks) Since(before Hooks) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if was, known := before[name]; !known || was != h[name] {
			names = append(names, name)
		}
	}
	return names
}

// HooksIn returns the hooks in a folder, without samples.
func HooksIn(folder string) Hooks {
	files := Hooks{}
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".sample") {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		content, known := scan.ReadSmall(path)
		if !known {
			content = []byte(entry.Type().String())
		}
		if info, err := os.Stat(path); err == nil { // git skips a hook that is not executable
			content = append(content, scan.Executable(info)...)
		}
		files[entry.Name()] = sha256.Sum256(content)
	}
	return files
}

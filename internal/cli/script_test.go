package cli_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ralphloop/ralph/internal/cli"
	"github.com/ralphloop/ralph/internal/process"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain lets the test binary act as ralph, so that scripts start real processes of the code
// under test.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ralph":    func() { os.Exit(cli.Main(context.Background(), streams())) },
		"mcp-call": callTools,
		"leak":     leak,
	})
}

// topVariable names the process of these tests, if they run in a live session of an agent CLI. Scripts are about
// sessions and people of their own.
const topVariable = "RALPH_TEST_TOP"

func streams() cli.Streams {
	s := cli.System()
	s.Top, _ = strconv.Atoi(os.Getenv(topVariable))
	return s
}

// raceOptions keep a program built with the race detector from sleeping for a second when it exits.
const raceOptions = "atexit_sleep_ms=0"

// TestScripts runs the scripts in testdata/script, each named after what it shows.
func TestScripts(t *testing.T) { runScripts(t, "testdata/script") }

// runScripts runs the scripts of a folder, with variables (NAME=value) beside those of prepare.
func runScripts(t *testing.T, dir string, variables ...string) {
	t.Helper()
	golden, err := filepath.Abs("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	tools := linkTools(t)
	catchIgnoredSignals(t)
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            time.Now().Add(20 * time.Minute),
		Setup:               func(env *testscript.Env) error { return prepare(env, tools, variables...) },
		Condition:           condition,
		Cmds:                scriptCommands(golden),
	})
}

// scriptCommands are the commands of scripts in addition to testscript's own.
func scriptCommands(golden string) map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	return map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"code":       exitsWith,
		"json":       jsonIs,
		"samejson":   jsonSame,
		"schema":     fitsSchema,
		"golden":     func(ts *testscript.TestScript, neg bool, args []string) { matchesGolden(ts, golden, args) },
		"editlog":    editLog,
		"eventually": eventually,
		"repo":       makeRepo,
		"program":    makeProgram,
		"sametree":   sameTree,
		"usego":      useGo,
		"use":        useProgram,
		"needs":      needsProgram,
		"offers":     offersWork,
	}
}

// catchIgnoredSignals lets scripts start programs that a signal can end, even if these tests were
// started by nohup or in the background of a shell: children inherit ignored signals, and ralph
// keeps them ignored. A signal that is caught here has its default action in a child.
func catchIgnoredSignals(t *testing.T) {
	t.Helper()
	caught := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
	t.Cleanup(func() { signal.Stop(caught) })
}

// condition implements [mount]: this machine lets us mount a small file system, [root]: we may change the owner of
// files, and [python3] and [node]: use finds them.
func condition(name string) (bool, error) {
	switch name {
	case "mount":
		return canMount(), nil
	case "root":
		return os.Geteuid() == 0, nil
	case "python3", "node":
		return canUse(name)
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

var canMount = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "ralph-mount-")
	if err != nil || runtime.GOOS != "linux" {
		return false
	}
	defer os.Remove(dir)
	if exec.Command("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir).Run() != nil {
		return false
	}
	return exec.Command("umount", dir).Run() == nil
})

// linkTools creates a folder with the POSIX tools and git, and nothing else, so that scripts cannot
// reach this machine's agent CLIs, and find the same programs on every machine.
func linkTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range strings.Fields(`
		sh git make cat cp mv rm ln ls mkdir mkfifo touch chmod true false echo printf test env sleep id
		expr seq yes head tail grep sed awk tr cut wc sort uniq tee od dd date dirname basename find nohup setsid
		script stty mount umount chown unshare`) {
		path, err := exec.LookPath(name)
		switch {
		case err != nil && runtime.GOOS == "linux":
			t.Fatal(err) // every Linux has it; what a script needs in addition, it says with needs
		case err != nil:
			continue
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// scriptVariables are the variables by which scripts talk to their agents and checks, which get only common ones by
// default. A script about the default sets RALPH_AGENT__ENV to nothing.
const scriptVariables = "WORK\nGORACE\nSCENE\nSTEPS\nFLAW\nHOW\nWAIT\nRALPH_TEST\nFAIL\nTOOL\nOLD"

// prepare gives a script a separate home, state folder and PATH. The folder bin comes first, for
// fake agents.
func prepare(env *testscript.Env, tools string, variables ...string) error {
	ralph, err := exec.LookPath("ralph")
	if err != nil {
		return err
	}
	for _, dir := range []string{"home", "bin"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o700); err != nil {
			return err
		}
	}
	env.Values[scriptTest{}] = env.T()
	path := []string{filepath.Join(env.WorkDir, "bin"), filepath.Dir(ralph), tools}
	for name, value := range map[string]string{
		"HOME":                filepath.Join(env.WorkDir, "home"),
		"PATH":                strings.Join(path, string(os.PathListSeparator)),
		"RALPH_STATE_DIR":     filepath.Join(env.WorkDir, "state"),
		"RALPH_SANDBOX__MODE": "none", // a script about the sandbox unsets it
		"GIT_CONFIG_GLOBAL":   os.DevNull,
		"GIT_CONFIG_SYSTEM":   os.DevNull,
		"GIT_AUTHOR_NAME":     "a",
		"GIT_AUTHOR_EMAIL":    "a@example.com",
		"GIT_COMMITTER_NAME":  "a",
		"GIT_COMMITTER_EMAIL": "a@example.com",
		"LC_ALL":              "C",
		"TZ":                  "UTC",
		"GORACE":              raceOptions,
		"RALPH_AGENT__ENV":    scriptVariables,
	} {
		env.Setenv(name, value)
	}
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		env.Setenv(name, strings.ReplaceAll(value, "$WORK", env.WorkDir))
	}
	for _, p := range process.Ancestors() {
		if p.Name == "claude" || p.Name == "codex" {
			env.Setenv(topVariable, strconv.Itoa(os.Getpid()))
		}
	}
	return nil
}

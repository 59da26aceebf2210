package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestGround runs the scripts in testdata/ground: honest work in projects that need more than a clone of their
// repository, with the sandbox that users have by default. The first line of each is its row in docs/ground.md.
func TestGround(t *testing.T) {
	runScripts(t, "testdata/ground", "RALPH_SANDBOX__MODE=auto", "RALPH_SANDBOX__READ=$WORK")
}

// realPrograms finds the programs that scripts use besides the POSIX tools. One on PATH may be a shim that looks for
// its settings in the user's home, so each says where it is itself. The system's comes first: a sandbox hides homes.
var realPrograms = map[string]func() (string, error){
	"python3": sync.OnceValues(func() (string, error) {
		return firstOutput("-c", "import os, sys; print(os.path.realpath(sys.executable))", "/usr/bin/python3", "python3")
	}),
	"node": sync.OnceValues(func() (string, error) {
		return firstOutput("-p", "process.execPath", "/usr/bin/node", "node")
	}),
}

// firstOutput returns what the first of the programs that works prints.
func firstOutput(flag, code string, programs ...string) (path string, err error) {
	for _, program := range programs {
		var out []byte
		if out, err = exec.Command(program, flag, code).Output(); err == nil {
			return strings.TrimSpace(string(out)), nil
		}
	}
	return "", err
}

// canUse reports whether this machine has a program. In CI nothing is skipped, so a missing one is an error there.
func canUse(name string) (bool, error) {
	_, err := realPrograms[name]()
	if err != nil && os.Getenv("CI") != "" {
		return false, fmt.Errorf("find %s: %w", name, err)
	}
	return err == nil, nil
}

// useProgram is `use NAME`: the script's programs find this machine's python3 or node.
func useProgram(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || realPrograms[args[0]] == nil {
		ts.Fatalf("usage: use python3|node")
	}
	path, err := realPrograms[args[0]]()
	ts.Check(err)
	ts.Check(os.Symlink(path, filepath.Join(ts.Getenv("WORK"), "bin", args[0])))
}

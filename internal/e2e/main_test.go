//go:build e2e

// Package e2e runs the built program with the real agent CLIs, pinned and installed by
// .ci/e2e-clis, against a scripted model on this machine: no key, no network, no model. `make e2e`
// runs it with claude and codex, `make e2e-all` also with the others.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/internal/needs"
)

// programs is where .ci/e2e-clis put the CLIs, "" if they are not installed.
var programs = os.Getenv("RALPH_E2E_CLIS")

// program is the program under test, built once.
var program string

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	switch {
	case programs != "":
		if err := showPrograms(); err != nil {
			return 1, err
		}
	case needs.Everything():
		return 1, fmt.Errorf("RALPH_E2E_CLIS does not say where the agent CLIs are; make e2e sets it")
	default:
		fmt.Println("no agent CLIs are installed: what needs them is skipped; make e2e installs them where npm is")
	}
	dir, err := os.MkdirTemp("", "ralph-e2e-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "ralph")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "github.com/ralphloop/ralph/cmd/ralph")
	if out, err := build.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build ralph: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// showPrograms puts the installed CLIs first on PATH.
func showPrograms() error {
	dirs, err := filepath.Glob(filepath.Join(programs, "*"))
	if err != nil {
		return err
	}
	return os.Setenv("PATH", strings.Join(append(dirs, os.Getenv("PATH")), string(os.PathListSeparator)))
}

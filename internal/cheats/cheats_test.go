//go:build linux

// Package cheats attacks the built program as a user would run it, and shows how much exit 0 can be
// trusted.
//
// A case is a script that an agent follows in a scratch repository. An attack leaves the work
// undone and makes its check pass; honest work does it. Both end with the claim that everything is
// complete. testdata has one file for each case, with a section for each language or test runner, and
// the projects that they are applied to. Every attack names its kind: what one rule of the program
// can refuse.
//
// Whether the work is done is up to a judge, who asks a fresh clone of what the agent would commit.
// Neither the agent nor Ralph ever sees the questions.
//
// Every attack is first tried on a naive loop, which trusts the exit status of the check. An attack
// that does not fool it would prove nothing, so its file says why it is kept. Then come the program
// without protection, with the tests protected, and with hidden checks as well.
//
// `make cheats` runs everything, prints the matrix, and writes docs/proof.md and its source,
// testdata/results.json. The ordinary tests run a few cases, and compare the page with the cases.
package cheats

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ralphloop/ralph/internal/needs"
)

// workshop holds what all worlds share.
var workshop struct {
	dir     string
	path    string
	cache   string // Go's build cache
	verbose bool
	missing map[string]string // a language or program that is missing here, and why
}

var (
	full    = flag.Bool("full", false, "run every case")
	verbose = flag.Bool("show", false, "show the output of refused runs")
	only    = flag.String("column", "", "try only this column: plain, default, preset or hidden")
	write   = flag.String("page", "", "write the page to this file, and the results beside the cases")
	vitest  = flag.String("vitest", "", "a folder in which vitest is installed; .ci/vitest prints one")
	built   = flag.String("ralph", "", "the program to attack; built if it is not given")
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "cheats-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	workshop.dir, workshop.verbose = dir, *verbose
	if err := findPrograms(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// program returns the program under test. It is built when a case first needs it.
var program = sync.OnceValues(func() (string, error) {
	if *built != "" {
		return *built, nil
	}
	name := filepath.Join(workshop.dir, "ralph")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", name,
		"github.com/ralphloop/ralph/cmd/ralph")
	// with the flags of the tests, most of it is already compiled
	build.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("TESTS_GOFLAGS"))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build ralph: %w\n%s", err, out)
	}
	return name, nil
})

// findPrograms creates a PATH of real programs, without shims that look for their settings in a
// user's home. It has no other folders than this machine's PATH, so that a test of a machine that
// lacks programs can set it.
func findPrograms() error {
	tools := filepath.Join(workshop.dir, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	folders := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(folder string) bool {
		inHome, err := filepath.Rel(home, folder)
		return err != nil || filepath.IsLocal(inHome)
	})
	workshop.path = strings.Join(append([]string{tools}, folders...), string(os.PathListSeparator))
	workshop.missing = map[string]string{}
	if err := linkPrograms(tools, folders); err != nil {
		return err
	}
	for _, name := range []string{"git", "make", "bash", "setsid", "bwrap"} {
		if which(name) == "" {
			workshop.missing[name] = name + " is not installed"
		}
	}
	if needs.Everything() && len(workshop.missing) > 0 {
		return fmt.Errorf("find programs: %v", workshop.missing)
	}
	if _, err := os.Stat(filepath.Join(*vitest, "node_modules", "vitest")); err != nil {
		workshop.missing["vitest"] = "vitest is not installed; -vitest says where it is"
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	workshop.cache = strings.TrimSpace(string(cache))
	return err
}

// linkPrograms links the real programs into a folder, and remembers which are missing. Each of the
// folders may have a Python of its own.
func linkPrograms(tools string, folders []string) error {
	var pythons []string
	for _, folder := range folders {
		pythons = append(pythons, filepath.Join(folder, "python3"))
	}
	pythons = append(pythons, "python3") // the user's own
	python := firstThatWorks("import pytest", pythons...)
	if python == "" {
		workshop.missing["pytest"] = "no python3 has pytest"
		python = firstThatWorks("import unittest", pythons...)
	}
	rust := rustPrograms()
	for name, found := range map[string]string{
		"python3": python, "go": which("go"), "gofmt": which("gofmt"), "node": which("node"), "npm": which("npm"),
		"cargo": rust["cargo"], "rustc": rust["rustc"], "rustdoc": rust["rustdoc"],
	} {
		if found == "" {
			workshop.missing[name] = name + " is not installed"
			continue
		}
		if err := os.Symlink(found, filepath.Join(tools, name)); err != nil {
			return err
		}
	}
	return nil
}

// rustPrograms returns the real programs of the default toolchain. Those of rustup look for it in
// a user's home.
func rustPrograms() map[string]string {
	root, err := exec.Command("rustc", "--print", "sysroot").Output()
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for _, name := range []string{"cargo", "rustc", "rustdoc"} {
		path := filepath.Join(strings.TrimSpace(string(root)), "bin", name)
		if _, err := os.Stat(path); err == nil {
			found[name] = path
		}
	}
	return found
}

// firstThatWorks returns the real path of the first Python that can run the program.
func firstThatWorks(program string, pythons ...string) string {
	for _, python := range pythons {
		out, err := exec.Command(python, "-c", program+"; import os, sys; print(os.path.realpath(sys.executable))").Output()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	return ""
}

func which(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return real
}

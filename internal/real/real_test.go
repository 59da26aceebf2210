//go:build linux

// Package real measures Ralph on published packages, with changes that their own authors made.
//
// testdata/packages.txt fixes the packages and the newest version of each. A script draws the newest
// adjacent pairs of published versions: modules from the Go proxy, npm packages that ship their tests,
// and the upstream sources of Debian packages, whose versions are those of Debian's suites. Into the
// newest version of every third package, and of all of Debian's, because mirrors rarely have two
// versions of one, it also seeds a single bug: once one that the tests notice, and once one that they
// do not.
//
// For each case plain runs of the check, without Ralph, compute the right answer. Both versions must
// pass, otherwise the case is dropped. The answer is 0 if the old tests pass with the new product and
// the new tests fail with the old one. It is 7 if old tests fail, or if nothing fails without the work.
// What is a test is told by the usual names of the language; Ralph's own code is not asked. The answer
// to a noticed bug is 0, and to an unnoticed one 7.
//
// Then the built program runs with its default settings, one check, and an honest agent: a script that
// makes the old version the new one and claims completion, twice if it is refused, because a person is
// only asked about a claim that the agent stands by. A program in front of the test runner counts how
// often the check ran. CPU is that of Ralph and everything it waited for, against as many bare checks:
// the median of three on the new version, after the plain runs, with Go's cache of test results off.
// Ralph gets `go test ./...` as a user would type it, with the cache.
//
// Nothing of the packages is part of the repository: downloads are in the user's cache folder.
// `make real` runs everything; .ci/run runs testdata/sample.txt.
package real

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	full   = flag.Bool("full", false, "run every case of testdata/packages.txt")
	sample = flag.Int("sample", 0, "run this many cases of testdata/sample.txt; all must get the right answer")
	only   = flag.String("only", "", "run only cases whose names contain this text")
	each   = flag.Int("pairs", 2, "how many pairs of each package to draw")
	older  = flag.Int("older", 0, "leave out this many of the newest pairs of each package")
	jobs   = flag.Int("jobs", 2, "how many cases run at a time")
	resume = flag.Bool("resume", false, "take cases that the file of -json already has from it")
	show   = flag.Bool("show", false, "show the output of wrong cases and of failing plain runs")
	output = flag.String("json", "", "write every case to this file")
	built  = flag.String("ralph", "", "the program to measure; built if it is not given")
)

// workshop holds what all cases share.
var workshop struct {
	dir   string // of the worlds
	cache string // of the downloads
	env   []string
	mark  map[string]string // the real paths of the programs that checks begin with
}

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
	dir, err := os.MkdirTemp("", "real-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	user, err := os.UserCacheDir()
	if err != nil {
		return 1, err
	}
	workshop.dir, workshop.cache = dir, filepath.Join(user, "ralph-real")
	if err := os.MkdirAll(workshop.cache, 0o755); err != nil {
		return 1, err
	}
	if err := findPrograms(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// programs are those that checks run tests with.
var programs = []string{"go", "npx", "node", "make", "python3"}

// findPrograms finds the real programs, and the folders that Go keeps its downloads and results in.
func findPrograms() error {
	workshop.mark = map[string]string{}
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			workshop.mark[name] = path
		}
	}
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import pytest").Run() == nil {
			workshop.mark["python3"] = python
			break
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return fmt.Errorf("ask go for %s: %w", name, err)
		}
		workshop.env = append(workshop.env, name+"="+strings.TrimSpace(string(value)))
	}
	return nil
}

// program returns the program to measure.
var program = sync.OnceValues(func() (string, error) {
	if *built != "" {
		return filepath.Abs(*built)
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

// enough is what make real must measure at least, so that its figures mean something.
const (
	enoughPairs    = 60
	enoughPackages = 30
)

func TestReal(t *testing.T) {
	if !*full && *sample == 0 {
		t.Skip("needs package registries; make real and make e2e run it")
	}
	cases, err := draw(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := measureAll(t, cases); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table(cases))
	if *sample > 0 {
		for _, c := range cases {
			if c.Dropped != "" || c.Got != c.Want {
				t.Errorf("wrong: %s\n%s", c, c.log)
			}
		}
	} else if *only == "" {
		requireEnough(t, cases)
	}
}

// measureAll measures the cases, and writes them down after each of them.
func measureAll(t *testing.T, cases []*change) error {
	t.Helper()
	known := map[string]*change{}
	if text, err := os.ReadFile(*output); err == nil && *resume {
		var before []*change
		if err := json.Unmarshal(text, &before); err != nil {
			return fmt.Errorf("read %s: %w", *output, err)
		}
		for _, c := range before {
			known[c.label()] = c
		}
	}
	for _, c := range cases {
		if before := known[c.label()]; before != nil && before.Dropped == "" {
			before.pack = c.pack
			*c = *before
		}
	}
	var writing sync.Mutex
	var group sync.WaitGroup
	free := make(chan struct{}, max(1, *jobs))
	errs := make([]error, len(cases))
	for i, c := range cases {
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			measured := *c
			if !c.done() {
				measured.measure()
			}
			writing.Lock()
			defer writing.Unlock()
			*c = measured
			t.Logf("%d of %d: %s", i+1, len(cases), c)
			errs[i] = save(cases)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// save writes the cases that are done to the file of -json.
func save(cases []*change) error {
	if *output == "" {
		return nil
	}
	done := slices.DeleteFunc(slices.Clone(cases), func(c *change) bool { return !c.done() })
	text, err := json.MarshalIndent(done, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(*output, append(text, '\n'), 0o644)
}

// requireEnough fails if too many cases were dropped.
func requireEnough(t *testing.T, cases []*change) {
	t.Helper()
	var pairs int
	var packages []string
	for _, c := range cases {
		if c.Dropped == "" && c.Kind == pairOfVersions {
			pairs++
			packages = append(packages, c.Ecosystem+" "+c.Name)
		}
	}
	slices.Sort(packages)
	if n := len(slices.Compact(packages)); pairs < enoughPairs || n < enoughPackages {
		t.Errorf("only %d pairs of %d packages, want %d of %d", pairs, n, enoughPairs, enoughPackages)
	}
}

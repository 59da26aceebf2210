//go:build linux

package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	full     = flag.Bool("full", false, "measure with figures that mean something")
	jsonFile = flag.String("json", "", "write the table as JSON to this `file`")
	ralphBin = flag.String("ralph", "", "the `program` to measure; needed with -full")
)

// size configures how much work each measurement does.
type size struct {
	rounds     int
	iterations int // in one turn
	small      int // bytes of a transcript that is read in one go
	large      int // how many times as long the long transcript is
	crowd      int
	history    int   // iterations of a long run, a multiple of 50
	starts     int   // program starts to time
	files      int   // files in a large workspace
	thousand   int   // iterations of a run whose first and last parts are compared, a multiple of 10
	tasks      int   // tasks of a long list
	flooded    int64 // bytes of an agent that prints without end
}

var (
	meaningful = size{
		rounds: 15, iterations: 40, small: 20 << 20, large: 51, crowd: 100, history: 10_000, starts: 25, files: 20_000,
		thousand: 1000, tasks: 20_000, flooded: 5_000_000_000,
	}
	tiny = size{
		rounds: 1, iterations: 2, small: 200 << 10, large: 2, crowd: 3, history: 50, starts: 1, files: 50, thousand: 20,
		tasks: 100, flooded: 2_000_000,
	}
)

// bench is one run of the program.
type bench struct {
	*testing.T
	size
	programs
	whole *testing.T // the test of all measurements
	rows  []row
}

// programs are the programs that the measurements start.
type programs struct {
	ralph  string
	stamp  string
	parser string // the benchmarks of package agent; "" if they are left out
}

// TempDir returns a new folder that stays until everything is measured: some file systems create
// files slowly for minutes after many were deleted.
func (b *bench) TempDir() string { return b.whole.TempDir() }

func (b *bench) add(r row) {
	b.Logf("%s: %s %s", r.What, short(r.Value), r.Unit)
	b.rows = append(b.rows, r.judged())
}

// TestTable measures everything and prints the table.
func TestTable(t *testing.T) {
	b := &bench{T: t, whole: t, size: tiny}
	if *full {
		b.size = meaningful
		b.programs = realPrograms(t)
	} else {
		b.programs = stagePrograms(t)
	}
	report := report{Machine: thisMachine(t.TempDir())}
	for _, part := range []struct {
		name    string
		measure func(*bench)
	}{
		{"iteration", (*bench).iteration}, {"checked iteration",
			(*bench).checkedIteration}, {"whole program", (*bench).wholeProgram}, {"gap", (*bench).gap},
		{"parsing", (*bench).parsing}, {"memory",
			(*bench).memory}, {"crowd", (*bench).crowds}, {"cold start",
			(*bench).coldStart}, {"helper", (*bench).helperStart},
		{"sandboxes", (*bench).sandboxes}, {"long run", (*bench).longRun},
		{"snapshots", (*bench).snapshots}, {"a thousand", (*bench).thousandIterations},
		{"long list", (*bench).longList}, {"a worker's turn", (*bench).workerTurn}, {"proofs", (*bench).proofs},
	} {
		t.Run(part.name, func(t *testing.T) { // its players end before the next part starts
			b.T = t
			part.measure(b)
		})
	}
	report.Machine.LoadAfter, report.Rows = load(), b.rows
	for _, r := range report.Rows {
		if !(r.Value > 0 && r.Floor > 0 && r.Ratio > 0) {
			t.Errorf("%s was not measured: value %v, floor %v, ratio %v", r.What, r.Value, r.Floor, r.Ratio)
		}
	}
	if !*full {
		return
	}
	fmt.Printf("\n%s\n", report.text())
	if *jsonFile != "" {
		writeJSON(t, *jsonFile, report)
	}
}

func writeJSON(t *testing.T, path string, report report) {
	t.Helper()
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// realPrograms builds the parts that must be separate programs.
func realPrograms(t *testing.T) programs {
	t.Helper()
	if *ralphBin == "" {
		t.Fatal("name the program to measure with -ralph")
	}
	dir := t.TempDir()
	p := programs{ralph: *ralphBin, stamp: filepath.Join(dir, "stamp"), parser: filepath.Join(dir, "parser")}
	for _, args := range [][]string{
		{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", p.stamp, "./testdata/stamp"},
		{"test", "-c", "-o", p.parser, "../../agent"},
	} {
		build := exec.Command("go", args...)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return p
}

// stagePrograms uses the test program for all parts, so that nothing has to be built.
func stagePrograms(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	play := func(role string) string {
		path := filepath.Join(dir, role)
		writeFile(t, path, fmt.Sprintf("#!/bin/sh\n%s=%s exec '%s' \"$@\"\n", roleVariable, role, self(t)), 0o700)
		return path
	}
	return programs{ralph: play("ralph"), stamp: play("stamp")}
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

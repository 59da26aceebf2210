package verify

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/canary"
)

// rowsOf returns the keys of the rows that a run keeps, as the next run of a version finds them.
func rowsOf(t *testing.T, kept *Rows, end ralph.Status, version string) string {
	t.Helper()
	digest, err := kept.Keep(end)
	if err != nil {
		t.Fatal(err)
	}
	next := OpenRows(RowsConfig{Run: "next", Version: version}, kept.File, digest)
	keys := []string{}
	for _, known := range next.known {
		keys = append(keys, known.Key)
	}
	return strings.Join(keys, " ")
}

func newRows(t *testing.T) *Rows {
	t.Helper()
	return OpenRows(RowsConfig{Run: "first", File: filepath.Join(t.TempDir(), "rows.json"), Version: "1.0"}, "", "")
}

func TestRowsOfAClaimAreKeptIfItIsProven(t *testing.T) {
	for end, want := range map[ralph.Status]string{
		ralph.StatusCompleted: "claimed base", ralph.StatusExhausted: "base",
	} {
		rows := newRows(t)
		check := ralph.CheckInput{Name: "make test"}
		passed := namedRun{result: ralph.CheckResult{Passed: true}}
		rows.add(&rows.base, "base", ralph.ViewInput{}, check, passed)
		rows.add(&rows.claimed, "claimed", ralph.ViewInput{}, check, passed)
		if got := rowsOf(t, rows, end, "1.0"); got != want {
			t.Errorf("%s: got %q, want %q", end, got, want)
		}
		if got := rowsOf(t, rows, end, "1.1"); got != "" {
			t.Errorf("%s: another version found %q", end, got)
		}
	}
}

func TestRowsSurviveAsTheyAre(t *testing.T) {
	rows := newRows(t)
	in := ralph.ViewInput{Now: ralph.TreeState{Snapshot: "s", Head: "h"}}
	run := namedRun{
		result: ralph.CheckResult{Name: "go test", Passed: true, Output: "ok", Duration: ralph.Span(time.Second)},
		outcome: canary.Outcome{
			Tests: map[string]canary.State{"TestA": canary.Passed, "TestB": canary.Skipped}, Complete: true, Total: 1,
			Formats: []string{"go"}, Unstable: 2,
		},
	}
	rows.add(&rows.base, "key", in, ralph.CheckInput{Name: "go test"}, run)
	digest, err := rows.Keep(ralph.StatusExhausted)
	if err != nil {
		t.Fatal(err)
	}
	next := OpenRows(RowsConfig{Run: "next", Version: "1.0"}, rows.File, digest)
	want, _ := json.Marshal(rows.base)
	if got, _ := json.Marshal(next.known); string(got) != string(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if info, err := os.Stat(rows.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v (%v), want 0600", info.Mode(), err)
	}
}

func TestRowsThatMayNotRepeatAreNotKept(t *testing.T) {
	rows := newRows(t)
	for name, run := range map[string]namedRun{
		"cannot run":       {result: ralph.CheckResult{Broken: true}},
		"timed out":        {outcome: canary.Outcome{Exit: -1, Red: true}},
		"killed":           {outcome: canary.Outcome{Exit: 137, Red: true}},
		"wrote a test":     {written: []string{"a_test.go"}},
		"left a process":   {result: ralph.CheckResult{Survivors: 1}},
		"flaky":            {result: ralph.CheckResult{Passed: true}},
		"too many results": {result: ralph.CheckResult{Output: strings.Repeat("x", maxRowBytes)}},
	} {
		rows.add(&rows.base, name, ralph.ViewInput{}, ralph.CheckInput{Name: name}, run)
	}
	rows.drop("flaky")
	if got := rowsOf(t, rows, ralph.StatusCompleted, "1.0"); got != "" {
		t.Errorf("kept %q", got)
	}
}

func TestRowsExpire(t *testing.T) {
	rows := newRows(t)
	now := time.Now()
	rows.known = []row{
		{Key: "fresh", Time: now.Add(-rowAge + time.Hour)},
		{Key: "old", Time: now.Add(-rowAge - time.Hour)},
		{Key: "from the future", Time: now.Add(time.Hour)},
	}
	if got, want := rowsOf(t, rows, ralph.StatusExhausted, "1.0"), "fresh"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRowsKeepWhatPythonCompiled(t *testing.T) {
	rows := newRows(t)
	folder := filepath.Join(t.TempDir(), "pycache")
	err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(folder, "a.pyc"), []byte("a"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if rows.compiled, err = keep(folder); err != nil {
		t.Fatal(err)
	}
	rows.add(&rows.base, "key", ralph.ViewInput{}, ralph.CheckInput{Name: "pytest"}, namedRun{})
	sum, err := rows.Keep(ralph.StatusExhausted)
	if err != nil {
		t.Fatal(err)
	}
	next := OpenRows(RowsConfig{Run: "next", Version: "1.0"}, rows.File, sum)
	copied := filepath.Join(t.TempDir(), "copied")
	if err := next.lastCompiled.copyTo(copied); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(copied, "a.pyc")); string(text) != "a" {
		t.Errorf("copied %q (%v)", text, err)
	}
	forged := filepath.Join(next.lastCompiled.folder, "a.pyc")
	if err := os.WriteFile(forged, []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := next.lastCompiled.copyTo(filepath.Join(t.TempDir(), "again")); err == nil {
		t.Error("a forged file was copied")
	}
	if err := RemoveRows(rows.File); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(rows.File)); len(left) > 0 || err != nil {
		t.Errorf("left %v (%v)", left, err)
	}
}

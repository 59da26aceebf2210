package evaluate

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func TestLedger(t *testing.T) {
	folder := t.TempDir()
	book := NewLedger(folder, nil)
	for _, e := range []ralph.Evaluation{
		{Agent: "a", End: ralph.EndOK, Accepted: true},
		{Task: "T/1", Agent: "a", End: ralph.EndOK, Category: ralph.RejectedGap, Concern: "x"},
		{Task: "T/1", Agent: "a", End: ralph.EndLimit},
	} {
		if err := book.Append(Entry{Time: time.Unix(0, 0).UTC(), Iteration: 3, Case: "c", Evaluation: e}); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, task := range []string{"", "T/1"} {
		text, err := os.ReadFile(book.File(task))
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(folder, book.File(task))
		got[filepath.ToSlash(name)] = string(text)
		if info, err := os.Stat(book.File(task)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Error(info.Mode(), err)
		}
	}
	const head = `{"time":"1970-01-01T00:00:00Z","iteration":3,"case":"c",`
	want := map[string]string{
		"ledger/goal.jsonl": head + `"accepted":true,"agent":"a","end":"ok","duration":0}` + "\n",
		"ledger/T%2f1.jsonl": head + `"task":"T/1","accepted":false,"category":"acceptance_gap","concern":"x",` +
			`"agent":"a","end":"ok","duration":0}` + "\n" +
			head + `"task":"T/1","accepted":false,"agent":"a","end":"limit","duration":0}` + "\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLedgerNames(t *testing.T) {
	long := strings.Repeat("x", 300)
	got := map[string]string{}
	for _, task := range []string{
		"", "T-1", "goal", "Goal.x", "..", "../../etc/passwd", ".hidden", "a b:c", "con", "nul.txt", "größe", "a%2f",
		"T.1",
	} {
		got[task] = fileName(task)
	}
	want := map[string]string{
		"": "goal", "T-1": "T-1", "goal": "%67oal", "Goal.x": "%47oal.x", "..": "%2e.",
		"../../etc/passwd": "%2e.%2f..%2fetc%2fpasswd", ".hidden": "%2ehidden",
		"a b:c": "a%20b%3ac", "con": "%63on", "nul.txt": "%6eul.txt", "größe": "gr%c3%b6%c3%9fe", "a%2f": "a%252f",
		"T.1": "T.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if one, other := fileName(long), fileName(long+"y"); len(one) > longestName || one == other {
		t.Errorf("%q, %q", one, other)
	}
}

func TestLedgerTroubleIsOfStorage(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "ledger"), "a file")
	if err := NewLedger(folder, nil).Append(Entry{}); !errors.Is(err, ralph.ErrIO) {
		t.Errorf("no folder: %v", err)
	}
	folder = t.TempDir()
	if err := os.MkdirAll(filepath.Join(folder, "ledger", "goal.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := NewLedger(folder, nil).Append(Entry{}); !errors.Is(err, ralph.ErrIO) {
		t.Errorf("no file: %v", err)
	}
}

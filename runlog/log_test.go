package runlog

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// faultyDisk fails on request. What is not asked to fail goes to the real file.
type faultyDisk struct {
	disk
	room       int // bytes that may still be written, if full is set
	full       error
	noTruncate error
	noFlush    error
	flushes    int
}

func (d *faultyDisk) Write(p []byte) (int, error) {
	if d.full == nil {
		return d.disk.Write(p)
	}
	n := min(d.room, len(p))
	d.room -= n
	if _, err := d.disk.Write(p[:n]); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, d.full
	}
	return n, nil
}

func (d *faultyDisk) Truncate(size int64) error {
	if d.noTruncate != nil {
		return d.noTruncate
	}
	return d.disk.Truncate(size)
}

func (d *faultyDisk) Flush() error {
	d.flushes++
	return d.noFlush
}

// faultyLog is a log with three events on a disk that can be made to fail.
func faultyLog(t *testing.T) (*Store, *Log, *faultyDisk, []ralph.Event) {
	t.Helper()
	s, events := openStore(t), allTypes()
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	bad := &faultyDisk{disk: log.disk}
	log.disk = bad
	for _, e := range events[:3] {
		if err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return s, log, bad, events
}

func wantIO(t *testing.T, err, cause error, path string) {
	t.Helper()
	if !errors.Is(err, ralph.ErrIO) || !errors.Is(err, cause) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an ErrIO by %v that names %s", err, cause, path)
	}
}

func TestFullDiskLeavesAWholeLog(t *testing.T) {
	for _, room := range []int{0, 1, 50, len(encoded(t, allTypes()[3])) - 1} {
		s, log, bad, events := faultyLog(t)
		bad.room, bad.full = room, syscall.ENOSPC
		wantIO(t, log.Append(events[3]), syscall.ENOSPC, log.path)
		state, err := stateOf(s, sampleRun)
		if err != nil {
			t.Fatal(err)
		}
		if diff := diffStates(folded(t, events[:3]), state); diff != "" {
			t.Fatal(diff)
		}
		if want, _ := logText(t, events[:3]); fileSize(t, log.path) != int64(len(want)) {
			t.Fatalf("%d bytes of the line are left behind", fileSize(t, log.path)-int64(len(want)))
		}
		bad.full = nil // there is space again
		if err := log.Append(events[3]); err != nil {
			t.Fatal(err)
		}
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestHalfALineThatStaysEndsTheLog(t *testing.T) {
	s, log, bad, events := faultyLog(t)
	bad.room, bad.full, bad.noTruncate = 50, syscall.ENOSPC, syscall.EIO
	wantIO(t, log.Append(events[3]), syscall.ENOSPC, log.path)
	bad.full, bad.noTruncate = nil, nil
	wantIO(t, log.Append(events[3]), syscall.EIO, log.path)
	wantIO(t, log.Sync(), syscall.EIO, log.path)
	log.Close()

	again, state, tail, err := reopen(s, sampleRun)
	if err != nil || tail != (Tail{Dropped: 50}) || state.Seq != 3 {
		t.Fatalf("got %v, %v, %v", state, tail, err)
	}
	again.Close()
}

func TestFailedSyncIsNotTriedAgain(t *testing.T) {
	_, log, bad, events := faultyLog(t)
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	bad.noFlush = syscall.EIO
	wantIO(t, log.Sync(), syscall.EIO, log.path)
	bad.noFlush = nil
	wantIO(t, log.Sync(), syscall.EIO, log.path)
	if err := log.Append(events[3]); err != nil { // the end of the run may still be corrected
		t.Error(err)
	}
	wantIO(t, log.Sync(), syscall.EIO, log.path)
	if bad.flushes != 2 {
		t.Errorf("%d flushes, want 2", bad.flushes)
	}
}

func TestSyncFindsALogThatWasTakenAway(t *testing.T) {
	tests := map[string]func(path string) error{
		"deleted":  os.Remove,
		"replaced": func(path string) error { return errors.Join(os.Remove(path), os.WriteFile(path, nil, fileMode)) },
	}
	for name, take := range tests {
		log, err := openStore(t).Create(sampleRun)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(log.Append(allTypes()[0]), log.Sync()); err != nil {
			t.Fatal(err)
		}
		if err := take(log.path); err != nil {
			t.Skip("an open file cannot be taken away here: ", err)
		}
		if err := log.Sync(); !errors.Is(err, ralph.ErrIO) || !strings.Contains(err.Error(), log.path) {
			t.Errorf("%s: got %v", name, err)
		}
		log.Close()
	}
}

func TestAppendTakesOnlyTheNextEvent(t *testing.T) {
	_, log, _, events := faultyLog(t)
	size := fileSize(t, log.path)
	wrong := map[string]func(*ralph.Event){
		"a gap":         func(e *ralph.Event) { e.Seq++ },
		"a repetition":  func(e *ralph.Event) { e.Seq-- },
		"another run":   func(e *ralph.Event) { e.Run = "S" },
		"no version":    func(e *ralph.Event) { e.Version = 0 },
		"no plain type": func(e *ralph.Event) { e.Type = "a b" },
		"no JSON":       func(e *ralph.Event) { e.Data = func() {} },
	}
	for name, spoil := range wrong {
		e := events[3]
		spoil(&e)
		if err := log.Append(e); err == nil || errors.Is(err, ralph.ErrIO) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got := fileSize(t, log.path); got != size {
		t.Errorf("the log grew from %d to %d", size, got)
	}
	if err := log.Append(events[3]); err != nil {
		t.Error(err)
	}
}

func TestClosedLog(t *testing.T) {
	_, log, _, events := faultyLog(t)
	if err := errors.Join(log.Close(), log.Close()); err != nil {
		t.Error(err)
	}
	wantIO(t, log.Append(events[3]), fs.ErrClosed, log.path)
	wantIO(t, log.Sync(), fs.ErrClosed, log.path)
}

func TestEachAppendIsVisibleAtOnce(t *testing.T) {
	s, events := openStore(t), allTypes()
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for i, e := range events {
		if err := log.Append(e); err != nil {
			t.Fatal(err)
		}
		if state, err := stateOf(s, sampleRun); err != nil || state.Seq != int64(i+1) {
			t.Fatalf("after %d events: %v", i+1, err)
		}
	}
}

func TestReadersWhileALogIsWritten(t *testing.T) {
	s, sample := openStore(t), &script{run: sampleRun}
	sample.start()
	for n := range 300 {
		sample.iteration(n + 1)
	}
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for seen := int64(0); seen < sample.seq; {
				state, err := stateOf(s, sampleRun)
				if err != nil || state.Seq < seen {
					t.Errorf("after %d events: %v", seen, err)
					return
				}
				seen = state.Seq
			}
		})
	}
	for _, e := range sample.events {
		if err := log.Append(e); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
}

func TestFolders(t *testing.T) {
	log, err := openStore(t).Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, test := range []struct {
		iteration int
		want      string
	}{{0, "0000"}, {0, "0000"}, {7, "0007"}, {12345, "12345"}} {
		got, err := log.Folder(test.iteration)
		if want := filepath.Join(log.Dir(), "iterations", test.want); err != nil || got != want {
			t.Errorf("%d: got %s, %v, want %s", test.iteration, got, err, want)
		}
		if info, err := os.Stat(got); err != nil || !info.IsDir() {
			t.Errorf("%s is not a folder: %v", got, err)
		}
	}
	if err := os.WriteFile(filepath.Join(log.Dir(), "iterations", "0008"), nil, fileMode); err != nil {
		t.Fatal(err)
	}
	_, err = log.Folder(8)
	wantIO(t, err, syscall.ENOTDIR, "0008")
}

func TestResultIsReplacedWhole(t *testing.T) {
	log, err := openStore(t).Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, summary := range []string{"first, and <longer> & longer", "second"} {
		want := ralph.Result{
			RunID: sampleRun, Status: ralph.StatusCompleted, Summary: summary, VerifiedBy: []string{"checks"},
			Iterations: []ralph.IterationResult{},
		}
		if err := log.WriteResult(want); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(log.Dir(), "result.json"))
		if err != nil {
			t.Fatal(err)
		}
		var got ralph.Result
		if err := json.Unmarshal(text, &got); err != nil || !strings.Contains(string(text), summary) {
			t.Errorf("%v: %s", err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	entries, err := os.ReadDir(log.Dir())
	if err != nil || len(entries) != 2 {
		t.Errorf("something is left behind: %v, %v", entries, err)
	}
	if err := os.RemoveAll(log.Dir()); err != nil {
		t.Skip("an open log cannot be removed here: ", err)
	}
	wantIO(t, log.WriteResult(ralph.Result{}), fs.ErrNotExist, "result.json")
}

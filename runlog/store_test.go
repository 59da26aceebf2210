package runlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

func TestWorkspaceIDCanBeReadAndIsUnique(t *testing.T) {
	tests := []struct{ dir, readable string }{
		{"/src/My Project (2)", "my-project-2"},
		{"/src/été", "t"},
		{"/src/世界", "workspace"},
		{"/", "workspace"},
		{"/src/a--b__c.go", "a-b-c-go"},
		{"/src/" + strings.Repeat("long", 30), strings.Repeat("long", 10)},
	}
	seen := map[string]string{}
	for _, test := range tests {
		got := WorkspaceID(test.dir)
		if !regexp.MustCompile(`^` + regexp.QuoteMeta(test.readable) + `-[0-9a-f]{10}$`).MatchString(got) {
			t.Errorf("%s: got %s", test.dir, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s are both %s", test.dir, other, got)
		}
		seen[got] = test.dir
	}
	if WorkspaceID("/a/x") == WorkspaceID("/b/x") {
		t.Error("two folders of the same name share an id")
	}
}

func TestWorkspaceIDSeesThroughLinksAndRelativePaths(t *testing.T) {
	real := filepath.Join(t.TempDir(), "real")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	t.Chdir(real)
	for _, dir := range []string{link, real + "/", ".", "../real"} {
		if got, want := WorkspaceID(dir), WorkspaceID(real); got != want {
			t.Errorf("%s: got %s, want %s", dir, got, want)
		}
	}
}

func TestNothingIsCreatedBeforeSomethingIsWritten(t *testing.T) {
	state, workspace := filepath.Join(t.TempDir(), "deep", "state"), t.TempDir()
	s, err := Open(state, workspace)
	if err != nil {
		t.Fatal(err)
	}
	if runs, err := s.Runs(); err != nil || len(runs) != 0 {
		t.Errorf("got %v, %v", runs, err)
	}
	if _, err := s.Resolve(""); !errors.Is(err, ErrNoRun) {
		t.Errorf("got %v", err)
	}
	if owner, held := s.Holder(); held {
		t.Errorf("held by %v", owner)
	}
	if _, err := os.Stat(filepath.Dir(state)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("looking created something: %v", err)
	}
}

func TestLayoutAndModes(t *testing.T) {
	s := openStore(t)
	lock, err := s.Lock(Owner{PID: 1, Run: sampleRun})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	log, err := s.Create(sampleRun)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, err = log.Folder(0)
	if err := errors.Join(err, log.WriteResult(ralph.Result{}), s.Send(sampleRun, Pause)); err != nil {
		t.Fatal(err)
	}
	var got []string
	err = filepath.WalkDir(s.Dir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fileMode
		if entry.IsDir() {
			want = folderMode
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != want {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		name, err := filepath.Rel(s.Dir(), path)
		got = append(got, filepath.ToSlash(name))
		return err
	})
	run := "runs/" + sampleRun
	want := []string{
		".", "lock", "runs", run, run + "/events.jsonl", run + "/iterations", run + "/iterations/0000",
		run + "/mailbox", run + "/mailbox/pause", run + "/result.json", "workspace",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	note, err := os.ReadFile(filepath.Join(s.Dir(), "workspace"))
	if err != nil || string(note) != s.workspace+"\n" || !filepath.IsAbs(s.workspace) {
		t.Errorf("got %q, %v", note, err)
	}
}

func TestStateThatCannotBeWritten(t *testing.T) {
	inTheWay := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(inTheWay, nil, fileMode); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{inTheWay, filepath.Join(inTheWay, "below", "it")} {
		if _, err := Open(state, t.TempDir()); !errors.Is(err, ralph.ErrIO) || !strings.Contains(err.Error(), inTheWay) {
			t.Errorf("%s: got %v", state, err)
		}
	}

	s := openStore(t)
	if err := os.WriteFile(s.Dir(), nil, fileMode); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"create": second(s.Create("R")), "lock": second(s.Lock(Owner{}))} {
		if !errors.Is(err, ralph.ErrIO) || !strings.Contains(err.Error(), s.Dir()) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestReadOnlyStateIsRefused(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("nothing is read-only for this user")
	}
	state := t.TempDir()
	if err := os.Chmod(state, 0o500); err != nil {
		t.Fatal(err)
	}
	s, err := Open(state, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Lock(Owner{})
	wantIO(t, err, fs.ErrPermission, state)
}

func TestCreateRefusesNamesAndRepetitions(t *testing.T) {
	s := openStore(t)
	for _, name := range []string{"", "a/b", "..", "a b", "ä", "a\x00"} {
		if _, err := s.Create(name); err == nil {
			t.Errorf("%q became a run", name)
		}
	}
	record(t, s, sampleRun, allTypes())
	before := fileSize(t, s.logPath(sampleRun))
	if _, err := s.Create(sampleRun); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if after := fileSize(t, s.logPath(sampleRun)); after != before {
		t.Errorf("the log went from %d to %d bytes", before, after)
	}
}

func TestDiscardRemovesOnlyRunsWithoutEvents(t *testing.T) {
	s := openStore(t)
	log, err := s.Create("01EMPTY")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Keep("tasks"); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	record(t, s, sampleRun, allTypes())
	for _, run := range []string{"01EMPTY", "01NEVER"} {
		if err := s.Discard(run); err != nil {
			t.Errorf("%s: got %v", run, err)
		}
	}
	for _, run := range []string{sampleRun, "..", ""} {
		if err := s.Discard(run); err == nil || run == sampleRun && !errors.Is(err, ErrBegun) {
			t.Errorf("%q: got %v", run, err)
		}
	}
	runs, err := s.Runs()
	if err != nil || len(runs) != 1 || runs[0].Run != sampleRun {
		t.Errorf("got %v, %v", runs, err)
	}
}

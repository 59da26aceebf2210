package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/config"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestDigest(t *testing.T) {
	check := func(value string) config.NamedCommand {
		return config.NamedCommand{Key: "checks.commands", Value: value}
	}
	base := []config.NamedCommand{check("make test"), check("make lint")}
	moved := []config.NamedCommand{
		{Key: "checks.commands", Value: "make test", File: "a", Line: 7},
		{Key: "checks.commands", Value: "make lint", File: "b", Line: 9},
	}
	if Digest(base) != Digest(moved) {
		t.Error("where a command is written must not matter")
	}
	seen := map[string]string{}
	for name, commands := range map[string][]config.NamedCommand{
		"base":          base,
		"none":          nil,
		"one less":      base[:1],
		"other order":   {base[1], base[0]},
		"other key":     {{Key: "notify.command", Value: "make test"}, base[1]},
		"other value":   {check("make test "), base[1]},
		"joined":        {check("make testmake lint")},
		"shifted words": {{Key: "checks.commandsm", Value: "ake test"}, base[1]},
	} {
		digest := Digest(commands)
		if other, twice := seen[digest]; twice {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[digest] = name
	}
}

func TestConsentIsRemembered(t *testing.T) {
	store := In(filepath.Join(t.TempDir(), "new", "state"))
	ask := func() []bool {
		t.Helper()
		var answers []bool
		for _, pair := range [][2]string{{"here", "d1"}, {"here", "d2"}, {"elsewhere", "d1"}} {
			trusted, err := store.Trusted(pair[0], pair[1])
			if err != nil {
				t.Fatal(err)
			}
			answers = append(answers, trusted)
		}
		return answers
	}
	if diff := cmp.Diff([]bool{false, false, false}, ask()); diff != "" {
		t.Errorf("before: %s", diff)
	}
	for range 2 {
		if err := store.Grant("here", Project, "d1", noon); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]bool{true, false, false}, ask()); diff != "" {
		t.Errorf("after: %s", diff)
	}
	data, err := os.ReadFile(store.Path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("\n"+`{"workspace":"here","kind":"project","digest":"d1","at":"2026-01-02T12:00:00Z"}`+"\n",
		string(data)); diff != "" {
		t.Error(diff)
	}
}

func TestTheNewestConsent(t *testing.T) {
	store := In(t.TempDir())
	newest := func(kind Kind) string {
		t.Helper()
		digest, err := store.Newest("here", kind)
		if err != nil {
			t.Fatal(err)
		}
		return digest
	}
	old := `{"workspace":"here","digest":"d0","at":"2026-01-02T12:00:00Z"}` + "\n" // without a kind
	if err := os.WriteFile(store.Path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := newest(Project); got != "" {
		t.Errorf("a consent without a kind is the newest: %q", got)
	}
	for _, digest := range []string{"d1", "d2", "d2", "d1"} {
		if err := store.Grant("here", Project, digest, noon); err != nil {
			t.Fatal(err)
		}
		if err := store.Grant("here", Tasks, "t1", noon); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{digest, "t1", ""},
			[]string{newest(Project), newest(Tasks), newest(AgentFiles)}); diff != "" {
			t.Error(diff)
		}
	}
	data, err := os.ReadFile(store.Path)
	if lines := strings.Count(string(data), "{"); err != nil || lines != 5 {
		t.Errorf("%d lines, %v; want the old one, three for the project and one for the tasks", lines, err)
	}
}

func TestOnlyTheUserReadsIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	store := In(filepath.Join(t.TempDir(), "state"))
	if err := store.Grant("here", Project, "d1", noon); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{store.Path: 0o600, filepath.Dir(store.Path): 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s is %o, want %o", filepath.Base(path), got, want)
		}
	}
}

func TestDamageAsksAgain(t *testing.T) {
	store := In(t.TempDir())
	if err := store.Grant("here", Project, "d1", noon); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(store.Path)
	if err != nil {
		t.Fatal(err)
	}
	last := len(whole) - 2 // without the closing brace and the line break
	for cut := range whole {
		if err := os.WriteFile(store.Path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		trusted, err := store.Trusted("here", "d1")
		if err != nil || trusted != (cut > last) {
			t.Fatalf("cut at %d of %d: %v %v", cut, len(whole), trusted, err)
		}
		if err := store.Grant("here", Project, "d2", noon); err != nil {
			t.Fatal(err)
		}
		if trusted, err := store.Trusted("here", "d2"); !trusted || err != nil {
			t.Fatalf("a consent after a torn line is lost (cut at %d): %v", cut, err)
		}
	}
}

func TestGarbageBeforeAConsent(t *testing.T) {
	store := In(t.TempDir())
	if err := os.WriteFile(store.Path, []byte(strings.Repeat("x", 1<<20)+"\nnull\n[]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := store.Grant("here", Project, "d1", noon); err != nil {
		t.Fatal(err)
	}
	if trusted, err := store.Trusted("here", "d1"); !trusted || err != nil {
		t.Errorf("%v %v", trusted, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	store := In(t.TempDir())
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := store.Grant("here", Project, fmt.Sprint(i), noon); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 20 {
		if trusted, err := store.Trusted("here", fmt.Sprint(i)); !trusted || err != nil {
			t.Errorf("%d: %v %v", i, trusted, err)
		}
	}
}

func TestStoreThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "trust.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]Store{"a folder in its place": In(dir), "a file in the way": In(file)} {
		if err := store.Grant("here", Project, "d1", noon); err == nil || !strings.Contains(err.Error(), "trust: ") {
			t.Errorf("%s: %v", name, err)
		}
		if trusted, _ := store.Trusted("here", "d1"); trusted {
			t.Errorf("%s: trusted", name)
		}
	}
}

package verify

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

func TestLastChange(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		kind ralph.ChangeKind
		do   func(dir string) error
	}{
		"written": {"a/f", ralph.FileChanged, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "a", "f"), []byte("2"), 0o600)
		}},
		"deleted": {"a/f", ralph.FileDeleted, func(dir string) error { return os.Remove(filepath.Join(dir, "a", "f")) }},
		"deleted with its folder": {"a/f", ralph.FileDeleted, func(dir string) error {
			return os.RemoveAll(filepath.Join(dir, "a"))
		}},
		"moved with its folder": {"b/f", ralph.FileAdded, func(dir string) error {
			return os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b"))
		}},
		"dated back": {"a/f", ralph.FileChanged, func(dir string) error {
			old := time.Now().Add(-time.Hour)
			return os.Chtimes(filepath.Join(dir, "a", "f"), old, old)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("files have no change time here")
			}
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "a"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "a", "f"), []byte("1"), 0o600); err != nil {
				t.Fatal(err)
			}
			e := &Examiner{Dir: dir}
			before := e.LastChange([]ralph.FileChange{{Name: "a/f", Kind: ralph.FileAdded}})
			for begun := time.Now(); time.Since(begun) < 20*time.Millisecond; { // the clock of files has steps
				time.Sleep(time.Millisecond)
			}
			if err := test.do(dir); err != nil {
				t.Fatal(err)
			}
			after := e.LastChange([]ralph.FileChange{{Name: test.file, Kind: test.kind}})
			if !after.After(before) {
				t.Errorf("changed at %s, before it was %s", after, before)
			}
			if none := e.LastChange(nil); !none.IsZero() {
				t.Errorf("without a change: %s", none)
			}
		})
	}
}

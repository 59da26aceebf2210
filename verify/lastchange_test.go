package verify

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestLastChange(t *testing.T) {
	for name, do := range map[string]func(dir string) error{
		"written": func(dir string) error { return os.WriteFile(filepath.Join(dir, "a", "f"), []byte("2"), 0o600) },
		"written again as it was": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "a", "f"), []byte("1"), 0o600)
		},
		"deleted":                 func(dir string) error { return os.Remove(filepath.Join(dir, "a", "f")) },
		"deleted with its folder": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "a")) },
		"another one deleted":     func(dir string) error { return os.Remove(filepath.Join(dir, "a", "other")) },
		"moved with its folder": func(dir string) error {
			return os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "b"))
		},
		"dated back": func(dir string) error {
			old := time.Now().Add(-time.Hour)
			return os.Chtimes(filepath.Join(dir, "a", "f"), old, old)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("files have no change time here")
			}
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "a"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"f", "other"} {
				if err := os.WriteFile(filepath.Join(dir, "a", name), []byte("1"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e := &Examiner{Dir: dir}
			_, before := e.LastChange([]string{"a/f", "a", "."})
			for begun := time.Now(); time.Since(begun) < 20*time.Millisecond; { // the clock of files has steps
				time.Sleep(time.Millisecond)
			}
			if err := do(dir); err != nil {
				t.Fatal(err)
			}
			if _, after := e.LastChange([]string{"a/f", "a", "."}); !after.After(before) {
				t.Errorf("changed at %s, before it was %s", after, before)
			}
			if _, none := e.LastChange(nil); !none.IsZero() {
				t.Errorf("of no file: %s", none)
			}
		})
	}
}

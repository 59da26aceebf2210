package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteReplacesContentAndMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	for _, content := range []string{"a long first version", "short"} {
		if err := Write(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("read %q, %v; want %q", got, err, content)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestWriteLeavesNothingBehindOnFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("x"), 0o600); err == nil {
		t.Error("a folder was replaced by a file")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("entries %v, %v", entries, err)
	}
}

// Finding B18: what a kill leaves must be recognizable, and nothing else.
func TestIsTemp(t *testing.T) {
	const random = "ABCDEFGHIJKLMNOPQRSTUVWX27"
	for name, want := range map[string]bool{
		TempName():                          true,
		".ralph-" + random:                  true,
		".ralph-" + random + ".tmp":         true, // of earlier versions, like the next three
		".tasks.json." + random:             true,
		".my list.md." + random:             true,
		".tasks.json.0123456789ab":          true,
		".notes.json.0123456789ab":          false,
		".tasks.json":                       false,
		"tasks.json." + random:              false,
		".ralph-" + random[1:]:              false,
		".ralph-abcdefghijklmnopqrstuvwx27": false,
		".ralph":                            false,
		"." + random:                        false,
		".." + random:                       false,
		"":                                  false,
	} {
		if IsTemp(name) != want {
			t.Errorf("%q: got %v", name, !want)
		}
	}
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Remove(path); err != nil {
			t.Error(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("entries %v, %v", entries, err)
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "result.json")
	if err := Swap(path, nil, 0o600); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

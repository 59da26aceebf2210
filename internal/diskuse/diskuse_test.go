package diskuse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOf(t *testing.T) {
	dir := t.TempDir()
	empty := Of(dir).Bytes
	inner := filepath.Join(dir, "inner")
	if err := os.Mkdir(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(inner, "file")
	if err := os.WriteFile(file, []byte(strings.Repeat("x", 100_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(inner, "link")); err != nil {
		t.Fatal(err)
	}
	got := Of(dir)
	if grown := got.Bytes - empty; grown < 100_000 || grown > 130_000 {
		t.Errorf("grown by %d bytes", grown)
	}
	soon := time.Now().Add(time.Hour).Truncate(time.Second)
	if err := os.Chtimes(file, soon, soon); err != nil {
		t.Fatal(err)
	}
	if got := Of(dir); !got.Written.Equal(soon) {
		t.Errorf("written at %v, want %v", got.Written, soon)
	}
	if got := Of(filepath.Join(dir, "missing")); got != (Use{}) {
		t.Errorf("what is missing takes %v", got)
	}
	if info, err := os.Lstat(file); err != nil || !Mine(info) {
		t.Errorf("it is not mine: %v", err)
	}
}

package textfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bom", "\ufeffhello")
	write("odd", "a\xffb")
	write("blank", " \n\t")
	write("huge", strings.Repeat("x", maxSize+1))
	for name, want := range map[string]string{"bom": "hello", "odd": "a\ufffdb"} {
		if got, err := Read(dir, name); err != nil || got != want {
			t.Errorf("Read(%s) = %q, %v, want %q", name, got, err, want)
		}
	}
	if got, err := Read("elsewhere", filepath.Join(dir, "bom")); err != nil || got != "hello" {
		t.Errorf("an absolute path: %q, %v", got, err)
	}
	if _, err := Read(dir, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := Read(dir, "blank"); !errors.Is(err, ErrEmpty) {
		t.Errorf("a blank file: %v", err)
	}
	for name, part := range map[string]string{".": "not a regular file", "huge": "larger than 4 MiB"} {
		if _, err := Read(dir, name); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Read(%s): %v, want %q", name, err, part)
		}
	}
}

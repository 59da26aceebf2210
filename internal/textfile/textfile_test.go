package textfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

func TestInside(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "real")
	for _, folder := range []string{"docs", "elsewhere"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"link": "real", "real/alias": "docs/spec", "real/folder": "docs", "real/out": "../outside", "real/loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(outer, link)); err != nil {
			t.Skip("links are not possible here: ", err)
		}
	}
	for _, test := range []struct {
		dir, name, file string
		links           []string
	}{
		{dir: dir, name: ""},
		{dir: dir, name: "spec", file: "spec"},
		{dir: dir, name: "docs/../spec", file: "spec"},
		{dir: dir, name: "../spec"},
		{dir: dir, name: filepath.Join(outer, "link/docs/spec"), file: "docs/spec"},
		{dir: filepath.Join(outer, "link"), name: filepath.Join(dir, "spec"), file: "spec"},
		{dir: dir, name: "alias", file: "docs/spec", links: []string{"alias"}},
		{dir: dir, name: filepath.Join(outer, "link/folder/spec"), file: "docs/spec", links: []string{"folder"}},
		{dir: dir, name: "out", links: []string{"out"}},
	} {
		file, links := Inside(test.dir, test.name)
		if file != test.file || !slices.Equal(links, test.links) {
			t.Errorf("%s: got %q, %q, want %q, %q", test.name, file, links, test.file, test.links)
		}
	}
	if file, _ := Inside(dir, "loop"); file != "" {
		t.Errorf("a link to itself is %q", file)
	}
}

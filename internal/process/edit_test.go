//go:build unix

package process

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree reads a folder: files by their text, with a star for programs, links by their target,
// folders without any of these by a slash.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			if inside, err := os.ReadDir(path); err == nil && len(inside) == 0 {
				found[name] = "/"
			}
		case entry.Type() == os.ModeSymlink:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		default:
			text, err := os.ReadFile(path)
			found[name] = string(text)
			if info.Mode()&0o111 != 0 {
				found[name] += "*"
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func writeTree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if len(text) > 3 && text[:3] == "-> " {
			err = os.Symlink(text[3:], path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLay(t *testing.T) {
	sources := t.TempDir()
	writeTree(t, sources, map[string]string{"text": "base", "prog": "p", "link": "-> somewhere"})
	if err := os.Chmod(filepath.Join(sources, "prog"), 0o700); err != nil {
		t.Fatal(err)
	}
	text, prog, link := filepath.Join(sources, "text"), filepath.Join(sources, "prog"), filepath.Join(sources, "link")
	outside := map[string]string{"victim/file": "v"}
	for name, c := range map[string]struct {
		before map[string]string
		edits  []Edit
		after  map[string]string
	}{
		"put over a file": {map[string]string{"a": "1"}, []Edit{{Name: "a", Source: text}},
			map[string]string{"a": "base"}},
		"put a program": {map[string]string{"a": "1"}, []Edit{{Name: "a", Source: prog}},
			map[string]string{"a": "p*"}},
		"put a link": {map[string]string{"a": "1"}, []Edit{{Name: "a", Source: link}},
			map[string]string{"a": "-> somewhere"}},
		"put over a link": {map[string]string{"a": "-> b", "b": "2"}, []Edit{{Name: "a", Source: text}},
			map[string]string{"a": "base", "b": "2"}},
		"put over a folder": {map[string]string{"a/b/c": "1"}, []Edit{{Name: "a", Source: text}},
			map[string]string{"a": "base"}},
		"folder for a file": {map[string]string{"a": "1"}, []Edit{{Name: "a/b/c", Source: text}},
			map[string]string{"a/b/c": "base"}},
		"folder for a link": {map[string]string{"a": "-> d", "d/x": "2"}, []Edit{{Name: "a/x", Source: text}},
			map[string]string{"a/x": "base", "d/x": "2"}},
		"folder for an absolute": {map[string]string{"a": "-> OUTSIDE/victim"}, []Edit{{Name: "a/file", Source: text}},
			map[string]string{"a/file": "base"}},
		"new folders": {nil, []Edit{{Name: "a/b/c", Source: text}}, map[string]string{"a/b/c": "base"}},
		"odd names": {map[string]string{"a b:c,d\n\xff": "1"},
			[]Edit{{Name: "a b:c,d\n\xff", Source: ""}, {Name: "-rf *\\", Source: text}}, map[string]string{"-rf *\\": "base"}},
		"take away a file": {map[string]string{"a": "1", "b": "2"}, []Edit{{Name: "a", Source: ""}},
			map[string]string{"b": "2"}},
		"take away a folder": {map[string]string{"a/b/c": "1", "a/d": "-> /", "b": "2"},
			[]Edit{{Name: "a", Source: ""}}, map[string]string{"b": "2"}},
		"take away a link": {map[string]string{"a": "-> OUTSIDE/victim", "b": "2"}, []Edit{{Name: "a", Source: ""}},
			map[string]string{"b": "2"}},
		"take away by a link": {map[string]string{"a": "-> d", "d/x": "2", "e": "-> OUTSIDE/victim"},
			[]Edit{{Name: "a/x", Source: ""}, {Name: "e/file", Source: ""}}, map[string]string{"a": "-> d", "d/x": "2",
				"e": "-> OUTSIDE/victim"}},
		"take away nothing": {map[string]string{"a": "1"},
			[]Edit{{Name: "b", Source: ""}, {Name: "a/b", Source: ""}, {Name: "c/d", Source: ""}}, map[string]string{"a": "1"}},
		"take away comes first": {map[string]string{"a/b": "1", "a/c": "2"},
			[]Edit{{Name: "a/b", Source: text}, {Name: "a", Source: ""}}, map[string]string{"a/b": "base"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, away := t.TempDir(), t.TempDir()
			writeTree(t, away, outside)
			lead := func(files map[string]string) map[string]string {
				led := map[string]string{}
				for name, text := range files {
					if text == "-> OUTSIDE/victim" {
						text = "-> " + filepath.Join(away, "victim")
					}
					led[name] = text
				}
				return led
			}
			writeTree(t, dir, lead(c.before))
			if err := ApplyEdits(dir, c.edits); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(lead(c.after), readTree(t, dir)); diff != "" {
				t.Errorf("folder (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(outside, readTree(t, away)); diff != "" {
				t.Errorf("outside (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLayRefuses(t *testing.T) {
	dir, sources := t.TempDir(), t.TempDir()
	writeTree(t, dir, map[string]string{"a": "1"})
	pipe, missing := filepath.Join(sources, "pipe"), filepath.Join(sources, "missing")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		edit Edit
		want string
	}{
		{Edit{Name: "../a"}, `edit "../a": not a path below the folder`},
		{Edit{Name: "/a"}, `edit "/a": not a path below the folder`},
		{Edit{Name: "."}, `edit ".": not a path below the folder`},
		{Edit{Name: "b/.."}, `edit "b/..": not a path below the folder`},
		{Edit{Name: ""}, `edit "": not a path below the folder`},
		{Edit{Name: "b", Source: sources}, "write b: " + sources + " is neither a file nor a link"},
		{Edit{Name: "b", Source: pipe}, "write b: " + pipe + " is neither a file nor a link"},
		{Edit{Name: "b", Source: missing}, "write b: lstat " + missing + ": no such file or directory"},
	} {
		if err := ApplyEdits(dir, []Edit{c.edit}); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "1"}, readTree(t, dir)); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
}

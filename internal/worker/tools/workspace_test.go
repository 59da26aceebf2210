//go:build unix

package tools

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBadCalls is fault G7: whatever a model writes, it gets a sentence back and nothing happens.
func TestBadCalls(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "a\n", ".git/config": "x"})
	long := strings.Repeat("x", 1<<20)
	inputs := map[string]string{
		"no JSON": `path=a`, "nothing": ``, "null": `null`, "array": `["a.txt"]`, "long string": `"` + long + `"`,
		"cut":           `{"path": "a`,
		"unknown field": `{"path":"a.txt","pattern":"a","command":"true","content":"","old":"a","new":"b","colour":"red"}`,
		"no field":      `{}`,
	}
	for name := range p.tools {
		for what, input := range inputs {
			t.Run(name+" "+what, func(t *testing.T) {
				got := p.tools[name].Run(t.Context(), []byte(input))
				if !got.Failed || got.Text == "" || len(got.Text) > 500 || strings.Contains(got.Text, "\n") || got.Edited != nil {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
	if got := p.get("a.txt"); got != "a\n" {
		t.Errorf("a.txt is %q", got)
	}
}

func TestPathsThatLeadOut(t *testing.T) {
	outer := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outer, "secret"), []byte("secret\n"), 0o644))
	dir := filepath.Join(outer, "ws")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	p := placeIn(t, dir, map[string]string{"a.txt": "a\n"}, Options{})
	for link, target := range map[string]string{
		"out": "../secret", "outdir": "..", "abs": filepath.Join(outer, "secret"), "sub/up": "../../secret", "twice": "out",
		"loop": "loop", "dangling": "../nothing",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	paths := []string{
		"../secret", "../../x", "sub/../../secret", "/etc/passwd", filepath.Join(outer, "secret"), "out", "outdir/secret",
		"abs", "sub/up", "twice", "loop", "dangling",
		"a.txt\x00", "\x00", "", strings.Repeat("a/", 3000), strings.Repeat("b", 5000), "..", "//etc/passwd",
		filepath.Join(dir, "..", "secret"),
	}
	calls := map[string]func(path string) any{
		"read_file":  func(path string) any { return fields{"path": path} },
		"write_file": func(path string) any { return fields{"path": path, "content": "x"} },
		"edit_file":  func(path string) any { return fields{"path": path, "old": "secret", "new": "x"} },
	}
	for tool, input := range calls {
		for _, path := range paths {
			got := p.call(tool, input(path))
			if !got.Failed || strings.Contains(got.Text, "secret\n") || strings.Contains(got.Text, "root:") ||
				got.Edited != nil {
				t.Errorf("%s %.40q: %+v", tool, path, got)
			}
		}
	}
	for _, path := range paths[:12] {
		for _, tool := range []string{"glob", "grep"} {
			got := p.call(tool, fields{"pattern": "*secret*", "path": path})
			if tool == "grep" {
				got = p.call(tool, fields{"pattern": "s", "path": path})
			}
			if !got.Failed {
				t.Errorf("%s %q: %+v", tool, path, got)
			}
		}
	}
	if text, _ := os.ReadFile(filepath.Join(outer, "secret")); string(text) != "secret\n" {
		t.Errorf("the file outside is %q", text)
	}
	if entries, _ := os.ReadDir(outer); len(entries) != 2 {
		t.Errorf("something was made outside: %v", entries)
	}
	if got := p.call("read_file", fields{"path": "../secret"}).Text; got != "../secret is outside the workspace; the "+
		"file tools stay inside it" {
		t.Errorf("told %q", got)
	}
}

func TestPathsThatLeadIn(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "real")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.Symlink(dir, filepath.Join(outer, "link")))
	must(t, os.Symlink("link", filepath.Join(outer, "other")))
	p := placeIn(t, filepath.Join(outer, "link"), map[string]string{"sub/a.txt": "a\n"}, Options{})
	must(t, os.Symlink("sub/a.txt", filepath.Join(dir, "inner")))
	must(t, os.Symlink(filepath.Join(dir, "sub"), filepath.Join(dir, "absolute")))
	must(t, os.Symlink("../inner", filepath.Join(dir, "sub", "back")))
	for _, path := range []string{
		"sub/a.txt", "./sub//a.txt", "sub/../sub/a.txt", "../link/sub/a.txt", "../real/sub/a.txt", "inner", "absolute/a.txt",
		"absolute/back", "sub/back",
		filepath.Join(outer, "link/sub/a.txt"), filepath.Join(outer, "real/sub/a.txt"),
		filepath.Join(outer, "other/sub/a.txt"), filepath.Join(outer, "real/inner"),
	} {
		want := Output{Text: "     1\ta\n"}
		if diff := cmp.Diff(want, p.call("read_file", fields{"path": path})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	for i, path := range []string{"inner", "absolute/back", filepath.Join(outer, "other/inner")} {
		content := fmt.Sprint("new ", i)
		got := p.call("write_file", fields{"path": path, "content": content})
		want := Output{Text: "replaced " + path + ": 1 line, 5 bytes", Edited: []string{"sub/a.txt"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if p.get("sub/a.txt") != content {
			t.Errorf("%s: the file is %q", path, p.get("sub/a.txt"))
		}
	}
	if target, err := os.Readlink(filepath.Join(dir, "inner")); err != nil || target != "sub/a.txt" {
		t.Errorf("the link is %q, %v", target, err)
	}
}

func TestGitFolderIsReadOnly(t *testing.T) {
	p := newPlace(t, map[string]string{".git/config": "[core]\n", "sub/.git/hooks/x": "y"})
	must(t, os.Symlink(".git", filepath.Join(p.dir, "door")))
	must(t, os.Symlink(filepath.Join(p.dir, ".git", "config"), filepath.Join(p.dir, "conf")))
	if got := p.call("read_file", fields{"path": ".git/config"}); got.Failed || got.Text != "     1\t[core]\n" {
		t.Errorf("read: %+v", got)
	}
	for _, path := range []string{
		".git/hooks/pre-commit", ".GIT/hooks/x", "door/hooks/x", "conf", ".git", "sub/.git/hooks/x", "sub/../.git/x",
		filepath.Join(p.dir, ".git/x"), "GIT~1/hooks/x",
	} {
		want := Output{
			Text: path + " is inside .git, which can be read but not written; use git commands instead", Failed: true,
		}
		for tool, input := range map[string]any{
			"write_file": fields{"path": path, "content": "x"},
			"edit_file":  fields{"path": path, "old": "core", "new": "x"},
		} {
			if diff := cmp.Diff(want, p.call(tool, input)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tool, diff)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, ".git/hooks")); !os.IsNotExist(err) {
		t.Error("hooks were made")
	}
	for _, path := range []string{".gitignore", ".github/x", "git/x"} {
		if got := p.call("write_file", fields{"path": path, "content": "x"}); got.Failed {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestSpecialFilesAreNotOpened(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "needle\n"})
	must(t, syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600))
	must(t, os.Symlink("pipe", filepath.Join(p.dir, "topipe")))
	var lc net.ListenConfig
	// The name of a socket is short: it is made from inside of its folder.
	t.Chdir(p.dir)
	listener, err := lc.Listen(t.Context(), "unix", "socket")
	must(t, err)
	defer listener.Close()
	for path, want := range map[string]string{
		"pipe":   "pipe is a pipe, not a regular file, and is not opened",
		"topipe": "topipe is a pipe, not a regular file, and is not opened",
		"socket": "socket is a socket, not a regular file, and is not opened",
		".":      ". is a folder; use glob to see what is in it",
	} {
		for tool, input := range map[string]any{
			"read_file":  fields{"path": path},
			"write_file": fields{"path": path, "content": "x"},
			"edit_file":  fields{"path": path, "old": "a", "new": "b"},
		} {
			if diff := cmp.Diff(Output{Text: want, Failed: true}, p.call(tool, input)); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", tool, path, diff)
			}
		}
	}
	if diff := cmp.Diff(Output{Text: "a.txt:1: needle\n"}, p.call("grep", fields{"pattern": "needle"})); diff != "" {
		t.Errorf("grep (-want +got):\n%s", diff)
	}
	if got := p.call("grep", fields{"pattern": "needle", "path": "pipe"}); !got.Failed {
		t.Errorf("grep in a pipe: %+v", got)
	}
}

func TestDoneContext(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "a\n"})
	for tool, input := range map[string]string{
		"read_file": `{"path":"a.txt"}`, "write_file": `{"path":"a.txt","content":"b"}`,
		"edit_file": `{"path":"a.txt","old":"a","new":"b"}`,
		"glob":      `{"pattern":"*"}`, "grep": `{"pattern":"a"}`, "bash": `{"command":"echo x > a.txt"}`,
	} {
		got := p.tools[tool].Run(done(t), []byte(input))
		if !got.Failed || !strings.Contains(got.Text, "interrupted") {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	if p.get("a.txt") != "a\n" {
		t.Errorf("a.txt is %q", p.get("a.txt"))
	}
}

//go:build unix

package pristine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/process"
)

func TestCopyShowsEditsAndSharesWhatIsIgnored(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		top := u.folder(t)
		dir := filepath.Join(top, "my ws")
		write(
			t,
			dir,
			map[string]string{
				"a.go":                 "a",
				"sub/b_test.go":        "agent's",
				"sub/added.go":         "x",
				"tool":                 "#!/bin/sh\necho tool of $(pwd)",
				"to-a":                 "-> a.go",
				"node_modules/m/index": "module",
				"node_modules/other":   "o",
				"sub/ignored.log":      "log",
				".git/HEAD":            "ref",
			},
		)
		write(t, top, map[string]string{"src/base": "base"})
		if err := os.Chmod(filepath.Join(dir, "a.go"), 0o444); err != nil {
			t.Fatal(err)
		}
		u.own(t, top)
		before := look(t, top)
		folder := u.folder(t)
		got := u.act(t, scene{
			Options: Options{Dir: dir, Folder: folder, Mode: Copy, Files: []string{
				"a.go", "sub/b_test.go", "sub/added.go", "tool", "to-a", "deleted",
			},
				Edits: pairs("sub/b_test.go", top+"/src/base", "sub/added.go", "", "node_modules/m/index", top+"/src/base")},
			Scripts: []string{
				show,
				"tool; cat .git/HEAD node_modules/other; ls -l a.go | cut -c1-10; rm -f a.go sub/b_test.go; echo n > new",
				show,
			},
			Env:     []string{"PATH=" + dir + ":/usr/bin:/bin", "PWD=" + dir},
			Between: pairs("canary", top+"/src/base"),
		})
		copied := filepath.Join(folder, "copy", "my ws")
		links := func(rest string) string {
			return strings.ReplaceAll(rest, "DIR", dir)
		}
		same(t, "scene", seen{Exits: []int{0, 0, 0}, Outputs: []string{
			links("./a.go a\n./node_modules/m/index base\n./node_modules/other -> " +
				"DIR/node_modules/other\n./sub/b_test.go base\n" +
				"./sub/ignored.log -> DIR/sub/ignored.log\n./to-a -> a.go\n./tool* #!/bin/sh\necho tool of $(pwd)\n"),
			"tool of " + copied + "\nrefo-r--r--r--\n",
			links("./canary base\n./new n\n./node_modules/m/index base\n./node_modules/other -> DIR/node_modules/other\n" +
				"./sub/ignored.log -> DIR/sub/ignored.log\n./to-a -> a.go\n./tool* #!/bin/sh\necho tool of $(pwd)\n"),
		}}, got)
		same(t, "everything outside of the view", before, look(t, top))
		same(t, "folder of the view", []string{"."}, names(t, folder))
	})
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	for name := range look(t, dir) {
		list = append(list, name)
	}
	return list
}

func TestCopyIsBounded(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"big": "", "small": "s"})
	if err := os.Truncate(filepath.Join(dir, "big"), maxCopiedBytes+1); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	_, err := Open(t.Context(), Options{Dir: dir, Folder: folder, Mode: Copy, Files: []string{"big", "small"}})
	want := fmt.Sprintf("open view: copy big: the tree has more than %d bytes, too many for a copy", maxCopiedBytes)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	same(t, "folder of the view", []string{"."}, names(t, folder))
}

func TestCopyOfManyFilesIsRefused(t *testing.T) {
	d := treeCopy{
		workspace: t.TempDir(), root: t.TempDir(), files: map[string]bool{"a": true, "b": true}, filesLeft: 1,
		bytesLeft: 10,
	}
	write(t, d.workspace, map[string]string{"a": "1", "b": "2"})
	err := d.copyFolder(t.Context(), ".")
	want := "copy b: the tree has more than 50000 files, too many for a copy"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEnterTranslatesWhatLeadsToTheWorkspace(t *testing.T) {
	d := &treeCopy{workspace: "/w/s", root: "/copy/s"}
	s := process.Spec{Argv: []string{"/w/s/bin/tool", "/w/s/arg"}, Dir: "/w/s/sub", Env: []string{
		"PATH=/w/s/.venv/bin:/w/so:/bin", "PWD=/w/s/sub", "OTHER=/w/s",
	}}
	d.enter(&s)
	want := process.Spec{Argv: []string{"/copy/s/bin/tool", "/w/s/arg"}, Dir: "/copy/s/sub",
		Env: []string{"PATH=/copy/s/.venv/bin:/w/so:/bin", "PWD=/copy/s/sub", "OTHER=/w/s", "GIT_OPTIONAL_LOCKS=0"}}
	if diff := cmp.Diff(want.Argv, s.Argv) + cmp.Diff(want.Dir, s.Dir) + cmp.Diff(want.Env, s.Env); diff != "" {
		t.Error(diff)
	}
}

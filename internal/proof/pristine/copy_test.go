//go:build unix

package pristine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/process"
)

func TestCopyHasAllLayers(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		top := u.folder(t)
		dir := filepath.Join(top, "my ws")
		write(t, dir, map[string]string{"agent's": "x"})
		write(t, top, map[string]string{
			"tree/a.go": "a", "tree/sub/b_test.go": "old", "tree/sub/added.go": "x", "tree/to-a": "-> a.go",
			"tree/tool": "#!/bin/sh\necho tool of $(pwd)", "tree/.git/HEAD": "ref", "tree/node_modules/m/index": "tracked",
			"inputs/node_modules/m/index": "hidden", "inputs/node_modules/other": "o", "inputs/.env": "e",
			"live/lib": "l", "src/base": "base",
		})
		if err := os.Chmod(filepath.Join(top, "tree", "a.go"), 0o444); err != nil {
			t.Fatal(err)
		}
		u.own(t, top)
		before := look(t, top)
		folder := u.folder(t)
		got := u.act(t, scene{
			Options: Options{
				Dir: dir, Folder: folder, Mode: Copy, Layers: []string{top + "/tree", top + "/inputs"},
				Live:  []LiveFolder{{Name: "venv", Source: top + "/live"}},
				Edits: pairs("sub/b_test.go", top+"/src/base", "sub/added.go", ""),
			},
			Scripts: []string{
				show,
				"tool; cat .git/HEAD node_modules/other; ls -l a.go | cut -c1-10; rm -rf a.go sub venv; echo n > new",
				show,
			},
			Env:     []string{"PATH=" + dir + ":/usr/bin:/bin", "PWD=" + dir},
			Between: pairs("canary", top+"/src/base"),
		})
		copied := filepath.Join(folder, "copy", "my ws")
		const kept = "./node_modules/m/index tracked\n./node_modules/other o\n"
		const tools = "./to-a -> a.go\n./tool* #!/bin/sh\necho tool of $(pwd)\n"
		same(t, "scene", seen{Exits: []int{0, 0, 0}, Outputs: []string{
			"./.env e\n./a.go a\n" + kept + "./sub/b_test.go base\n" + tools + "./venv/lib l\n",
			"tool of " + copied + "\nrefo-r--r--r--\n",
			"./.env e\n./canary base\n./new n\n" + kept + tools,
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
	_, err := Open(t.Context(), Options{Dir: dir, Folder: folder, Mode: Copy})
	want := fmt.Sprintf("open view: copy "+dir+"/big: the tree has more than %d bytes, too many for a copy", maxCopiedBytes)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	same(t, "folder of the view", []string{"."}, names(t, folder))
}

func TestCopyOfManyFilesIsRefused(t *testing.T) {
	d := layerCopy{root: t.TempDir(), stamps: map[string]stamp{}, filesLeft: 1, bytesLeft: 10}
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "1", "b": "2"})
	err := d.copyFolder(t.Context(), dir, "")
	want := "copy " + dir + "/b: the tree has more than 50000 files, too many for a copy"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestEnterTranslatesWhatLeadsToTheWorkspace(t *testing.T) {
	d := &layerCopy{workspace: "/w/s", top: "/w/s", root: "/copy/s"}
	s := process.Spec{Argv: []string{"/w/s/bin/tool", "/w/s/arg"}, Dir: "/w/s/sub", Env: []string{
		"PATH=/w/s/.venv/bin:/w/so:/bin", "PWD=/w/s/sub", "OTHER=/w/s",
	}}
	d.enter(&s)
	want := process.Spec{Argv: []string{"/copy/s/bin/tool", "/w/s/arg"}, Dir: "/copy/s/sub",
		Env: []string{"PATH=/copy/s/.venv/bin:/w/so:/bin", "PWD=/copy/s/sub", "OTHER=/w/s"}}
	if diff := cmp.Diff(want.Argv, s.Argv) + cmp.Diff(want.Dir, s.Dir) + cmp.Diff(want.Env, s.Env); diff != "" {
		t.Error(diff)
	}
}

//go:build unix

package pristine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testContext() context.Context { return context.Background() }

// write creates files. A text "-> x" creates a link, and one that begins with "#!" a program.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			perm := os.FileMode(0o644)
			if strings.HasPrefix(text, "#!") {
				perm = 0o755
			}
			err = os.WriteFile(path, []byte(text), perm)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// state is one entry of a tree, with everything that must be restored.
type state struct {
	Mode    os.FileMode
	Text    string // or the target of a link
	ModTime int64  // of files, links and folders
}

// look reads a whole tree.
func look(t *testing.T, dir string) map[string]state {
	t.Helper()
	found := map[string]state{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		s := state{Mode: info.Mode(), ModTime: info.ModTime().UnixNano()}
		switch info.Mode().Type() {
		case 0:
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s.Text = string(text)
		case os.ModeSymlink:
			s.Text, err = os.Readlink(path)
		}
		name, _ := filepath.Rel(dir, path)
		found[name] = s
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// show prints every file of the current folder, with its text.
const show = `find . -name .git -prune -o \( -type f -o -type l \) -print | LC_ALL=C sort | while IFS= read -r f; do
if [ -L "$f" ]; then echo "$f -> $(readlink "$f")"
elif [ -x "$f" ]; then echo "$f* $(cat "$f")"
else echo "$f $(cat "$f")"
fi; done`

func TestOverlayShowsEditsAndKeepsWrites(t *testing.T) {
	users(t, func(t *testing.T, u user) {
		top := u.folder(t)
		dir := filepath.Join(top, "a b:c,d\\e")
		write(
			t,
			dir,
			map[string]string{
				"keep":                 "k",
				"test.go":              "agent's",
				"added.go":             "a",
				"dir/deep/x":           "x",
				"was-folder":           "now a file",
				"sub/y":                "y",
				"outside/secret":       "s",
				"linked":               "-> outside",
				"away":                 "-> " + top + "/elsewhere",
				"blank name, and:more": "b",
			},
		)
		write(t, top, map[string]string{
			"elsewhere/file": "untouched", "src/test.go": "base", "src/run": "#!/bin/sh", "src/link": "-> keep",
		})
		u.own(t, top)
		before := look(t, top)
		src := filepath.Join(top, "src")
		got := u.act(t, scene{
			Options: Options{Dir: dir, Folder: u.folder(t), Mode: Overlay, Edits: []Edit{
				{Name: "test.go", Source: src + "/test.go"},
				{Name: "added.go"},
				{Name: "dir"},
				{Name: "linked/secret"},                        // through a link: not there
				{Name: "away/file", Source: src + "/test.go"},  // the link is replaced
				{Name: "was-folder/run", Source: src + "/run"}, // so is the file
				{Name: "sub", Source: src + "/link"},           // and the folder
				{Name: "blank name, and:more", Source: src + "/test.go"},
			}},
			Scripts: []string{show, "echo written > by-check; rm keep; mkdir -p dir/new; echo n > dir/new/f", show},
			Between: []Edit{{Name: "canary_test.go", Source: src + "/test.go"}},
		})
		first := "./away/file base\n./blank name, and:more base\n./keep k\n./linked -> outside\n./outside/secret " +
			"s\n./sub -> keep\n./test.go base\n./was-folder/run* #!/bin/sh\n"
		last := "./away/file base\n./blank name, and:more base\n./by-check written\n./canary_test.go " +
			"base\n./dir/new/f n\n./linked -> outside\n./outside/secret s\n./sub -> keep\n./test.go " +
			"base\n./was-folder/run* #!/bin/sh\n"
		same(t, "scene", seen{Mode: "overlay", Outputs: []string{first, "", last}, Exits: []int{0, 0, 0}}, got)
		same(t, "everything outside of the view", before, look(t, top))
	})
}

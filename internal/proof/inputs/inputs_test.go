package inputs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

// world is a workspace with its inputs.
type world struct {
	*testing.T
	dir, folder string
}

func newWorld(t *testing.T, files map[string]string) *world {
	w := &world{t, t.TempDir(), filepath.Join(t.TempDir(), "inputs")}
	write(t, w.dir, files)
	return w
}

// open is another process.
func (w *world) open() *Inputs {
	w.Helper()
	in, err := Open(w.folder, w.dir)
	w.must(err)
	return in
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// change writes files after the coarse clock of the file system has moved.
func (w *world) change(files map[string]string) {
	time.Sleep(20 * time.Millisecond)
	write(w, w.dir, files)
}

// frozen returns the files of a layer with their texts.
func (w *world) frozen(in *Inputs, layer Layer, tree ...string) map[string]string {
	w.Helper()
	dir, _, err := in.Freeze(layer, tree)
	w.must(err)
	found := map[string]string{}
	for _, f := range record(w, dir) {
		text, _ := os.ReadFile(filepath.Join(dir, f.Name))
		found[f.Name] = string(text)
	}
	return found
}

func TestLayersHaveWhatTheUserHad(t *testing.T) {
	w := newWorld(t, map[string]string{
		"main.js": "tracked", "package-lock.json": "tracked", ".env": "A=1", "app/.env.local": "B=1",
		"node_modules/a/index.js": "a", "dist/out.js": "built", ".ralph/notes": "own", "x/__pycache__/y.pyc": "cache",
	})
	w.must(os.Mkdir(filepath.Join(w.dir, "logs"), 0o755))
	tree := []string{"main.js", "package-lock.json"}
	in := w.open()
	w.must(in.Begin())
	same(t, "needed", map[string]string{".env": "A=1", "app/.env.local": "B=1", "node_modules/a/index.js": "a"},
		w.frozen(in, Needed, tree...))
	same(t, "rest", map[string]string{"dist/out.js": "built", "logs": ""}, w.frozen(in, Rest, tree...))
}

// What an agent writes stays out, in this run and in later ones. What the user writes between runs is copied.
func TestFilesStayWithTheirAuthor(t *testing.T) {
	w := newWorld(t, map[string]string{".env": "A=1", ".env.gone": "x", "node_modules/a/index.js": "a"})
	in := w.open()
	w.must(in.Begin())
	w.frozen(in, Needed)
	w.change(map[string]string{".env": "A=agent", ".env.agent": "x", "node_modules/a/index.js": "patched"})
	w.must(in.End())
	want := map[string]string{".env": "A=1", ".env.gone": "x", "node_modules/a/index.js": "a"}
	same(t, "after the agent", want, w.frozen(w.open(), Needed))

	w.change(map[string]string{".env": "A=user", ".env.user": "y"})
	w.must(os.Remove(filepath.Join(w.dir, ".env.gone")))
	in = w.open()
	w.must(in.Begin())
	want = map[string]string{".env": "A=user", ".env.user": "y", "node_modules/a/index.js": "a"}
	same(t, "after the user", want, w.frozen(in, Needed))

	w.change(map[string]string{".env": "A=killed"}) // the run ends without End
	in = w.open()
	w.must(in.Begin())
	same(t, "after a run that was killed", want, w.frozen(in, Needed))

	w.must(in.Accept([]string{".env.agent", "node_modules"}))
	want[".env.agent"], want["node_modules/a/index.js"] = "x", "patched"
	same(t, "after accept", want, w.frozen(w.open(), Needed))
}

func TestCompareTellsEditedFromInstalled(t *testing.T) {
	w := newWorld(t, map[string]string{"package-lock.json": "1", "node_modules/a/index.js": "a", "dist/x": "1"})
	in := w.open()
	w.must(in.Begin())
	w.change(map[string]string{"node_modules/a/index.js": "patched", "dist/x": "2"})
	tree := []string{"package-lock.json"}
	got, err := in.Compare(tree, nil)
	w.must(err)
	changed := func(name string) []ralph.FileChange { return []ralph.FileChange{{Name: name, Kind: ralph.FileChanged}} }
	same(t, "edited", Sorted{LeftOut: changed("dist/x"), Edited: changed("node_modules/a/index.js")}, got)
	got, err = in.Compare(tree, changed("package-lock.json"))
	w.must(err)
	same(t, "installed", Sorted{LeftOut: changed("dist/x"), Installed: []string{"node_modules"}}, got)
}

func TestDamagedListsAreNotRead(t *testing.T) {
	w := newWorld(t, nil)
	w.must(os.MkdirAll(w.folder, 0o700))
	w.must(os.WriteFile(filepath.Join(w.folder, mineName), []byte("1 2 3\n"), 0o600))
	if _, err := Open(w.folder, w.dir); err == nil {
		t.Error("a damaged record was read")
	}
}

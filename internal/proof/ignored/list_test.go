package ignored

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func record(t testing.TB, dir string, tree ...string) List {
	t.Helper()
	list, err := Record(dir, tree)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func names(l List) []string {
	var all []string
	for _, f := range l {
		all = append(all, f.Name)
	}
	return all
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRecordListsWhatIsNotInTheTree(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a.go": "", "a/b": "", "a.d/c": "", "node_modules/x/index.js": "", ".git/config": "", "sub/.git": "gitdir: x",
		".git/objects/aa/b": "", ".git/impl.py": "",
		"sub/.git2": "", ".ralph/notes": "",
	})
	if err := os.Symlink("/nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"empty", "a/deep/folder", "node_modules/x/none", ".git/refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	list := record(t, dir, "a.go", "a/b")
	same(t, "names", []string{
		".git/impl.py", ".ralph/notes", "a.d/c", "a/deep/folder", "empty", "link", "node_modules/x/index.js",
		"node_modules/x/none", "sub/.git", "sub/.git2",
	}, names(list))
	empty, _ := list.Find("empty")
	same(t, "empty folder", File{Name: "empty", Mode: os.ModeDir}, empty)
	link, _ := list.Find("link")
	same(t, "target", "/nowhere", link.Target)
	_, ok := list.Find("a.go")
	same(t, "found a file of the tree", false, ok)
}

func TestChangesKeepsFilesWhoseTimeWasSetBack(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system has no change time")
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"rewritten": "old", "replaced": "old", "same": "old", "deleted": "old", "mode": "old", "linked": "old",
	})
	base := record(t, dir)
	path := func(name string) string { return filepath.Join(dir, name) }
	before, err := os.Stat(path("rewritten"))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // the clock of file systems is coarse
	write(t, dir, map[string]string{"rewritten": "new", "fresh": "old", "added/x": ""})
	for _, err := range []error{
		os.Rename(path("fresh"), path("replaced")),
		os.Chtimes(path("rewritten"), before.ModTime(), before.ModTime()),
		os.Chtimes(path("replaced"), before.ModTime(), before.ModTime()),
		os.Remove(path("deleted")), os.Chmod(path("mode"), 0o755), os.Link(path("linked"), path("other")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	same(t, "changes", []ralph.FileChange{
		{Name: "added/x", Kind: ralph.FileAdded},
		{Name: "deleted", Kind: ralph.FileDeleted},
		{Name: "linked", Kind: ralph.FileChanged},
		{Name: "mode", Kind: ralph.FileChanged},
		{Name: "other", Kind: ralph.FileAdded},
		{Name: "replaced", Kind: ralph.FileChanged},
		{Name: "rewritten", Kind: ralph.FileChanged},
	}, Changes(base, record(t, dir)))
}

func TestWatchKeepsItsRecord(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "files")
	write(t, dir, map[string]string{"a": "1", "b c\nd\xff": "2"})
	if err := os.Symlink("some where", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	first, err := Open(file, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"later": "x"})
	again, err := Open(file, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "record", first.Base, again.Base)
	same(t, "names", []string{"a", "b c\nd\xff", "link"}, names(again.Base))

	if err := os.WriteFile(file, []byte("1 2 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, dir, ""); err == nil {
		t.Error("a damaged record was read")
	}
}

// What changed after a judgement, while no agent was at work, belongs to the base. What an agent did
// before does not.
func TestWatchAdopts(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "files")
	write(t, dir, map[string]string{"env": "1", "gone": "1"})
	w, err := Open(file, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"agent": "x"})
	if err := w.Adopt(); err != nil { // nothing is settled yet
		t.Fatal(err)
	}
	same(t, "base before", []string{"env", "gone"}, names(w.Base))
	if err := w.Settle(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"env": "22", "user": "x"})
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	w, err = Open(file, dir, "") // another process
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Adopt(); err != nil {
		t.Fatal(err)
	}
	want := []ralph.FileChange{{Name: "agent", Kind: ralph.FileAdded}}
	same(t, "changes", want, Changes(w.Base, record(t, dir)))
	write(t, dir, map[string]string{"next": "x"})
	if err := w.Adopt(); err != nil { // only once
		t.Fatal(err)
	}
	if w, err = Open(file, dir, ""); err != nil {
		t.Fatal(err)
	}
	want = append(want, ralph.FileChange{Name: "next", Kind: ralph.FileAdded})
	same(t, "changes of the next agent", want, Changes(w.Base, record(t, dir)))
}

// BenchmarkRecord walks a node_modules folder of usual size.
func BenchmarkRecord(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		for j := range 30 {
			write(b, dir, map[string]string{fmt.Sprintf("node_modules/package-%d/lib/%d.js", i, j): "x"})
		}
	}
	base := record(b, dir)
	for b.Loop() {
		if changes := Changes(base, record(b, dir)); len(changes) > 0 {
			b.Fatal(changes)
		}
	}
}

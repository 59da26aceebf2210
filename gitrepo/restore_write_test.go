package gitrepo

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBlobsInPieces: git's output is taken apart rightly, however it is cut.
func TestBlobsInPieces(t *testing.T) {
	const stream = "01 blob 4\na\n\x00b\n02 blob 0\n\n03 blob 1\na\n04 blob 11\n05 blob 1\nx\n"
	want := map[string]string{"file": "a\n\x00b", "empty": "", "last": "05 blob 1\nx"}
	for size := range len(stream) {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		var done Restored
		in := &blobs{to: &writer{root: root, done: &done}, due: []edit{
			{name: "file", after: entry{mode: "100644", id: "01"}}, {name: "empty", after: entry{mode: modeProgram, id: "02"}},
			{name: "link", after: entry{mode: modeLink, id: "03"}}, {name: "last", after: entry{mode: "100644", id: "04"}},
		}}
		for part := range slices.Chunk([]byte(stream), size+1) {
			if _, err := in.Write(part); err != nil {
				t.Fatalf("pieces of %d: %v", size+1, err)
			}
		}
		if target, err := os.Readlink(filepath.Join(dir, "link")); target != "a" || err != nil {
			t.Errorf("pieces of %d: the link leads to %q, %v", size+1, target, err)
		}
		if err := os.Remove(filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, readAll(t, dir)); diff != "" {
			t.Errorf("pieces of %d: %s", size+1, diff)
		}
		if diff := cmp.Diff(Restored{Written: 4}, done); diff != "" {
			t.Error(diff)
		}
		root.Close()
	}
}

// TestBlobsThatAreNotThose: an answer that does not fit the question writes nothing.
func TestBlobsThatAreNotThose(t *testing.T) {
	for _, stream := range []string{"01 missing\n", "02 blob 1\nx\n", "01 tree 1\nx\n", "01 blob many\n", "\n"} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		in := &blobs{to: &writer{root: root, done: &Restored{}}, due: []edit{{name: "file", after: entry{mode: "100644", id: "01"}}}}
		if _, err := in.Write([]byte(stream)); err == nil {
			t.Errorf("%q is taken", stream)
		}
		in.abandon()
		if got := readAll(t, dir); len(got) > 0 {
			t.Errorf("%q left %v", stream, got)
		}
		root.Close()
	}
}

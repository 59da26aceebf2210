package manifest

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
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
		w := &Writer{Root: root, Done: &done}
		parts := pieces(slices.Collect(slices.Chunk([]byte(stream), size+1)))
		err = w.writeAll(bufio.NewReader(&parts), []Edit{
			{Name: "file", After: Entry{Mode: "100644", ID: "01"}}, {Name: "empty", After: Entry{Mode: ModeProgram, ID: "02"}},
			{Name: "link", After: Entry{Mode: ModeLink, ID: "03"}}, {Name: "last", After: Entry{Mode: "100644", ID: "04"}},
		})
		if err != nil {
			t.Fatalf("pieces of %d: %v", size+1, err)
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

// pieces are read one by one.
type pieces [][]byte

func (p *pieces) Read(to []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(to, (*p)[0])
	*p = (*p)[1:]
	return n, nil
}

// TestBlobsThatAreNotThose: an answer that does not fit the question writes nothing.
func TestBlobsThatAreNotThose(t *testing.T) {
	for _, stream := range []string{"01 missing\n", "02 blob 1\nx\n", "01 tree 1\nx\n", "01 blob many\n", "\n",
		"01 blob 3\nx", "01 blob 1\nx", ""} {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		w := &Writer{Root: root, Done: &Restored{}}
		if err := w.writeAll(bufio.NewReader(strings.NewReader(stream)),
			[]Edit{{Name: "file", After: Entry{Mode: "100644", ID: "01"}}}); err == nil {
			t.Errorf("%q is taken", stream)
		}
		if got := readAll(t, dir); len(got) > 0 {
			t.Errorf("%q left %v", stream, got)
		}
		root.Close()
	}
}

func readAll(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range scan.Walk(dir, ".") {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.FromSlash(name)] = string(text)
	}
	return files
}

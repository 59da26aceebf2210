package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSentencesAreFew(t *testing.T) {
	var l Selection
	for i := range leftLimit + 3 {
		l.Leave(fmt.Sprintf("file%02d", i), "it cannot be read")
	}
	said := l.Sentences()
	if len(said) != leftLimit+1 || said[0] != "file00 is not up to date in the snapshot: it cannot be read" ||
		said[leftLimit] != "and 3 more files are not in the snapshot" {
		t.Errorf("got %q", said)
	}
}

// TestWeigh: beyond a gigabyte the largest files are left out, and nothing that is no
// file is taken.
func TestWeigh(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for i := range 12 {
		name := fmt.Sprintf("part%02d", i)
		names = append(names, name)
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), nil, 0o600),
			os.Truncate(filepath.Join(dir, name), int64(90+i)<<20-1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		os.Symlink("folder", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	top, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	got := Select(
		top,
		Differences{
			Changed: []string{"gone", "folder", "part00"},
			Fresh:   append([]string{"link", "vanished"}, names...),
			Gone:    []string{"old"},
		},
	)
	together := "together the changed files are larger than 1 GiB"
	want := Selection{
		Gone: []string{"old", "folder", "gone"},
		Take: append([]string{"link"}, names[:10]...),
		Left: []LeftOut{{Name: "part11", Why: "it is larger than 100 MiB"}, {Name: "part10", Why: together}},
	}
	if !slices.Equal(got.Gone, want.Gone) || !slices.Equal(got.Take, want.Take) || !slices.Equal(got.Left, want.Left) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

//go:build linux

package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/proof/protect"
)

// A process outside the view puts a weaker test in place while the check runs, and restores the
// original with its times.
func TestTestsSwappedBeneathAView(t *testing.T) {
	const test = "tests/test_a.py"
	was := files{"prod": "old", test: "assert 1 == 2\n", "tests/test_b.py": "assert True\n"}
	is := files{"prod": "new", test: "assert 1 == 2\n", "tests/test_b.py": "assert True\n"}
	swap := func(t *testing.T, file string) {
		t.Helper()
		kept, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"pass\n", is[test]} {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(file, kept.ModTime(), kept.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		mode pristine.Mode
		act  func(t *testing.T, file string)
		want string
	}{
		{"overlay", pristine.Overlay, swap, "Counted as failed: these tests changed while checks ran: " + test},
		{"copy", pristine.Copy, swap, "Counted as failed: these tests changed while checks ran: " + test},
		{"in place", pristine.InPlace, swap, ""},
		{"nothing", pristine.Copy, func(*testing.T, string) {}, ""},
		{"gone", pristine.Copy, func(t *testing.T, file string) {
			t.Helper()
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}, "Counted as failed: these tests changed while checks ran: " + test},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := examine(t, was, is, protect.Config{}).apart(t)
			if b.Isolation = c.mode; c.mode == pristine.Overlay {
				if got, why, _ := pristine.StrongestMode(t.Context(), b.Dir, t.TempDir()); got != c.mode {
					t.Skip("no overlay here: " + why)
				}
			}
			if _, err := b.Compare(t.Context(), b.base, b.now); err != nil {
				t.Fatal(err)
			}
			v, err := b.Open(t.Context(), b.input(ralph.ViewClaimed))
			if err != nil {
				t.Fatal(err)
			}
			c.act(t, filepath.Join(b.Dir, test))
			got, err := v.Check(t.Context(), ralph.CheckInput{Name: "true", Dir: b.Dir, Timeout: time.Minute})
			if diff := cmp.Diff(c.want, strings.TrimSpace(got.Output)); diff != "" || err != nil ||
				got.Passed != (c.want == "") {
				t.Errorf("%v, passed %v (-want +got)\n%s", err, got.Passed, diff)
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCompareTellsWhoAsksAndWhatTestsMention(t *testing.T) {
	long := "if testing.Testing() { " + strings.Repeat("x", 200)
	b := examine(t,
		files{
			"a_test.go": `"data/sums.txt"`, "data/sums.txt": "1", "a.go": "package a",
			"big.go": strings.Repeat("x", protect.Limit) + "testing.Testing()",
		},
		files{
			"a_test.go": `"data/sums.txt"`, "data/sums.txt": "2", "a.go": "package a\n\t" + long + "\n",
			"big.go": strings.Repeat("y", protect.Limit) + "\ntesting.Testing()", "bin.go": "\x00\ntesting.Testing()",
		},
		protect.Config{Globs: []string{"tests"}})
	got, err := b.Compare(t.Context(), b.base, b.now)
	want := ralph.Tampering{
		Known: true, Tampered: []ralph.FileChange{{Name: "data/sums.txt", Kind: ralph.FileChanged}},
		TestAware: []string{"a.go: " + long[:80] + "…"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	left, err := os.ReadDir(b.Folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left is %v, %v", left, err)
	}
}

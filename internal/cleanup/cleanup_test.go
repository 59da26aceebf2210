package cleanup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph/runlog"
)

// Finding B18: every file that this program makes in the system's temporary folder is found again after a
// kill. The copy of hidden checks has no name of ours, so that nobody recognizes it.
func TestOurTemporaryFilesAreKnown(t *testing.T) {
	makes := regexp.MustCompile(`(?:MkdirTemp|CreateTemp)\("", ("[^"]*"|\S+)\)`)
	root := filepath.Join("..", "..")
	found := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && path == filepath.Join(root, "examples") { // programs of their own
			return fs.SkipDir
		}
		isForTests := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test")
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || isForTests {
			return err
		}
		text, err := os.ReadFile(path)
		for _, made := range makes.FindAllStringSubmatch(string(text), -1) {
			found++
			name := strings.Trim(made[1], `"`) + "12345"
			if before, after, ok := strings.Cut(strings.Trim(made[1], `"`), "*"); ok {
				name = before + "12345" + after
			}
			if made[1] != `""` && made[1] != "cleanup.DemoFolders" && !systemNames().MatchString(name) {
				t.Errorf("%s makes %s, which clean does not find", path, made[1])
			}
		}
		return err
	})
	if err != nil || found < 8 {
		t.Errorf("%d places, %v", found, err)
	}
}

func TestDays(t *testing.T) {
	for age, want := range map[time.Duration]string{
		-time.Second: "0s", 90 * time.Second: "1m", 3 * time.Hour: "3h", 49 * time.Hour: "2d",
	} {
		if got := Days(age); got != want {
			t.Errorf("%v: got %s, want %s", age, got, want)
		}
	}
}

// A run whose worktree is still there is not forgotten.
func TestARunStaysWithItsWorktree(t *testing.T) {
	store, err := runlog.Open(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	removed := 0
	items := []Item{
		{Kind: Worktree, Branch: "ralph/a", Removable: true, remove: func(context.Context) error { return fs.ErrPermission }},
		{Kind: Run, needs: "ralph/a", Removable: true, remove: func(context.Context) error { removed++; return nil }},
		{Kind: Run, needs: "ralph/b", Removable: true, remove: func(context.Context) error { removed++; return nil }},
	}
	items, err = Remove(t.Context(), Input{Store: store}, items)
	if !errors.Is(err, fs.ErrPermission) || removed != 1 || items[1].Removed || !items[2].Removed {
		t.Errorf("removed %d runs: %+v, %v", removed, items, err)
	}
}

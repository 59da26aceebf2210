package snapshot_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

func TestHidesFiles(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		for command, want := range map[string]bool{
			"status":                          false,
			"add -N new":                      false, // has further flags
			"update-index --assume-unchanged": true,
			"update-index --skip-worktree":    true,
			"update-index --split-index":      true,
		} {
			w := gittest.NewRepo(t)
			for i := range 20 { // names of every length
				w.Write(fmt.Sprintf("folder/%s/%d", strings.Repeat("n", i), i), "x")
			}
			w.Commit()
			w.Write("new", "x")
			w.Git("update-index", "--index-version", version)
			arguments := strings.Fields(command)
			if strings.HasSuffix(command, "unchanged") || strings.HasSuffix(command, "worktree") {
				arguments = append(arguments, "folder/nnn/3")
			}
			w.Git(arguments...)
			index, err := os.ReadFile(w.Path(".git/index"))
			w.Must(err)
			if got := git.HidesFiles(index, 20); got != want {
				t.Errorf("version %s, %s: %v, want %v", version, command, got, want)
			}
			for n := range len(index) { // never a panic
				git.HidesFiles(index[:n], 20)
			}
		}
	}
}

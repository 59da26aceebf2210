package gitrepo_test

import (
	"os"
	"testing"

	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
)

func TestMain(m *testing.M) { os.Exit(gittest.Main(m)) }

// committedAs commits everything, and names what was committed.
func committedAs(w gittest.Workspace) string {
	w.Helper()
	w.Commit()
	return w.Git("rev-parse", "HEAD")
}

package gitrepo_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/ralphloop/ralph/internal/process"
)

// TestMain takes in orphans, as the program does for a run. A git that left nothing behind is then known by one system call to be gone; without
// that, everything in /proc is read twice for each of some thousand calls, which was most of the time of these tests.
func TestMain(m *testing.M) {
	if err := process.OwnOrphans(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(withModels(m))
}

func withModels(m *testing.M) int {
	var err error
	if models.dir, err = os.MkdirTemp("", "models-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(models.dir)
	return m.Run()
}

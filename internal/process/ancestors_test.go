//go:build unix

package process_test

import (
	"os"
	"testing"

	"github.com/ralphloop/ralph/internal/process"
)

func TestAncestors(t *testing.T) {
	line := process.Ancestors()
	if len(line) < 2 || line[0].PID != os.Getpid() || line[1].PID != os.Getppid() {
		t.Fatalf("%+v, want %d, then %d", line, os.Getpid(), os.Getppid())
	}
}

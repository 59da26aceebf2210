//go:build unix

package verify_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// TestAShellInTheWorkspaceDecidesNothing puts a folder of the workspace first in PATH, as an
// activated virtual environment does. The other programs in it are the project's own.
func TestAShellInTheWorkspaceDecidesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, 0o755, filepath.Join(dir, ".venv/bin/sh"), "#!/bin/sh\nexit 0\n")
	write(t, 0o755, filepath.Join(dir, ".venv/bin/pytest"), "#!/bin/sh\nexit 5\n")
	s := shell()
	s.Env = []string{"PATH=" + filepath.Join(dir, ".venv/bin") + ":/usr/local/bin:/usr/bin:/bin"}
	type outcome struct {
		Passed, Broken bool
		ExitCode       int
	}
	for command, want := range map[string]outcome{
		"exit 3":         {ExitCode: 3},
		"sh -c 'exit 4'": {Passed: true}, // a command of the check, found on the check's PATH
		"true":           {Passed: true},
		"pytest":         {ExitCode: 5},
		"no-such-tool":   {Broken: true, ExitCode: 127}, // as the shell itself reports
	} {
		t.Run(command, func(t *testing.T) {
			got := check(t, s, ralph.CheckInput{Name: command, Dir: dir})
			if diff := cmp.Diff(want, outcome{got.Passed, got.Broken, got.ExitCode}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

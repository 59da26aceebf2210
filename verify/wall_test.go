package verify_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

const (
	wallComplaint = "bwrap: Can't find source path /gone: No such file or directory\n"
	wallRemark    = "The check did not run: its sandbox failed"
)

// TestACheckWhoseWallFailsIsBroken: the agent can neither be blamed for it nor fix it.
func TestACheckWhoseWallFailsIsBroken(t *testing.T) {
	needShell(t)
	folder := t.TempDir()
	works, fails := filepath.Join(folder, "works"), filepath.Join(folder, "fails")
	write(t, 0o700, works, "#!/bin/sh\nexec \"$@\"\n")
	write(t, 0o700, fails, "#!/bin/sh\nprintf \""+wallComplaint[:len(wallComplaint)-1]+"\\n\" >&2\nexit 1\n")
	for name, c := range map[string]struct {
		wall, check string
		want        ralph.CheckResult
	}{
		"it works": {works, "echo yes", ralph.CheckResult{
			Passed: true, Output: "yes\n", OutputHash: hashed("yes\n"),
		}},
		"it fails": {fails, "echo yes", ralph.CheckResult{
			Broken: true, ExitCode: 1, Output: wallComplaint + wallRemark, OutputHash: hashed(wallComplaint),
		}},
		"the check says the same": {works, "echo 'bwrap: no'; exit 1", ralph.CheckResult{
			ExitCode: 1, Output: "bwrap: no\n", OutputHash: hashed("bwrap: no\n"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := shell()
			s.Wall = func(spec *process.Spec) { spec.Argv = append([]string{c.wall}, spec.Argv...) }
			s.WallFailed = sandbox.Bwrap.Failed
			got := check(t, s, ralph.CheckInput{Name: c.check, Dir: t.TempDir()})
			c.want.Name, got.Duration = c.check, 0
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Check (-want +got):\n%s", diff)
			}
		})
	}
}

// TestACheckBehindBubblewrapWhosePathVanished: bubblewrap itself says what the test above pretends.
func TestACheckBehindBubblewrapWhosePathVanished(t *testing.T) {
	needShell(t)
	program := needs.Program(t, "bwrap")
	dir, kept := t.TempDir(), t.TempDir()
	s := shell()
	s.Wall = func(spec *process.Spec) {
		wall := sandbox.Wall{Thin: true, Root: os.Geteuid() == 0, Rules: []sandbox.Rule{{Path: kept, Access: sandbox.Read}}}
		command := sandbox.Bwrap.Enclose(sandbox.Command{Argv: spec.Argv, Dir: spec.Dir, Env: spec.Env}, wall)
		spec.Argv, spec.Dir, spec.Env = command.Argv, command.Dir, command.Env
		spec.Argv[0] = program
	}
	s.WallFailed = sandbox.Bwrap.Failed
	if got := check(t, s, ralph.CheckInput{Name: "true", Dir: dir}); !got.Passed {
		t.Skipf("bubblewrap does not work here: %s", got.Output)
	}
	if got := check(t, s, ralph.CheckInput{Name: "false", Dir: dir}); got.Passed || got.Broken {
		t.Errorf("a check that fails is %+v", got)
	}
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	if got := check(t, s, ralph.CheckInput{Name: "true", Dir: dir}); got.Passed || !got.Broken {
		t.Errorf("a check whose wall cannot be made is %+v", got)
	}
}

package process

import (
	"os"
	"os/exec"
	"testing"
)

func TestIdentity(t *testing.T) {
	argv := play("linger")
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, ok1 := Identity(cmd.Process.Pid)
	again, ok2 := Identity(cmd.Process.Pid)
	if first == "" || first != again || !ok1 || !ok2 {
		t.Errorf("Identity = %q, %v, then %q, %v", first, ok1, again, ok2)
	}
	if self, ok := Identity(os.Getpid()); self == first || !ok {
		t.Errorf("Identity of this process = %q, %v, of a child %q", self, ok, first)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Its threads do not end at the same moment.
	eventually(t, "a dead process has no identity", func() bool {
		_, ok := Identity(cmd.Process.Pid)
		return !ok && isZombie(cmd.Process.Pid)
	})
	_ = cmd.Wait()
	if id, ok := Identity(cmd.Process.Pid); ok {
		t.Errorf("Identity of no process = %q", id)
	}
	if id, ok := Identity(-1); ok {
		t.Errorf("Identity of -1 = %q", id)
	}
}

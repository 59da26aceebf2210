package process

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What a conversation leaves ends with it: in the background, in another session, and with an empty environment.
func TestAConversationLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	status, left, err := Conversation{
		Attached: Attached{
			Argv: Shell(`nohup sh -c 'echo $$ >plain; exec sleep 1000' >/dev/null 2>&1 &
				setsid sh -c 'echo $$ >session; exec sleep 1000' >/dev/null 2>&1 &
				env -i setsid sh -c '(echo $$; exec sleep 1000) >bare &' >/dev/null 2>&1
				setsid sh -c 'echo $$ >kept; exec sleep 1000' >/dev/null 2>&1 &
				until test -s plain && test -s session && test -s bare && test -s kept; do sleep 0.01; done; exit 3`),
			Dir: dir, Env: []string{"PATH=/usr/bin:/bin"},
		},
		Marker: rand.Text(),
		Keep:   func() []int { return []int{readPID(t, dir, "kept")} },
	}.Attach(t.Context())
	kept := readPID(t, dir, "kept")
	t.Cleanup(reapAdopted) // what it ended
	defer endChild(t, kept)
	if err != nil || status != 3 || len(left) != 3 {
		t.Fatalf("status %d, error %v, left %v", status, err, left)
	}
	for _, p := range left {
		if _, alive := Identity(p.PID); alive && !isZombie(p.PID) {
			t.Errorf("%v is alive", p)
		}
	}
	for _, name := range []string{"plain", "session"} {
		pid := readPID(t, dir, name)
		if !slices.ContainsFunc(left, func(p Leftover) bool { return p.PID == pid }) {
			t.Errorf("%s is not among %v", name, left)
		}
	}
	if _, alive := Identity(kept); !alive || isZombie(kept) {
		t.Error("what should be kept has ended")
	}
}

func readPID(t *testing.T, dir, name string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// endChild ends an orphan that this process has adopted.
func endChild(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Error(err)
	}
	_, _ = p.Wait()
}

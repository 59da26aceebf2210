//go:build unix

package hooks

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shellWith is a real shell that finds few programs, and a sudo that only leaves a mark.
type shellWith struct {
	*testing.T
	bash, bin, work, mark string
}

func newShellWith(t *testing.T, programs ...string) shellWith {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to ask")
	}
	dir := t.TempDir()
	s := shellWith{
		T: t, bash: bash, bin: filepath.Join(dir, "bin"), work: filepath.Join(dir, "work"), mark: filepath.Join(dir, "mark"),
	}
	for _, folder := range []string{s.bin, s.work} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.bin, "sudo"), []byte("#!/bin/sh\n: > '"+s.mark+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(s.bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// runsSudo reports whether a command started sudo.
func (s shellWith) runsSudo(command string) bool {
	s.Helper()
	if err := os.RemoveAll(s.mark); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.bash, "--norc", "-c", command)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.work, []string{"PATH=" + s.bin}, time.Second
	_ = cmd.Run() // most of them are nonsense
	_, err := os.Stat(s.mark)
	return err == nil
}

// TestWhatIsAllowedDoesNotRunIt asks a real shell about the commands of the table that mention sudo
// and are allowed.
func TestWhatIsAllowedDoesNotRunIt(t *testing.T) {
	s := newShellWith(t, "cat", "env", "true", "grep", "ls")
	if !s.runsSudo("echo a && env sudo x") {
		t.Fatal("the shell does not find the sudo that leaves a mark")
	}
	asked := 0
	for _, command := range denials[""] {
		if strings.Contains(command, "sudo") && !strings.Contains(command, "rm ") {
			asked++
			if s.runsSudo(command) {
				t.Errorf("%q is allowed, and runs sudo", command)
			}
		}
	}
	if asked < 40 {
		t.Errorf("only %d commands were asked about", asked)
	}
}

// TestShufflingShellDoesNotHideIt combines pieces of shell, always the same ones, and asks a real
// shell about what Deny allowed. Functions and loops are left out because they could run forever.
func TestShufflingShellDoesNotHideIt(t *testing.T) {
	s := newShellWith(t, "cat", "env", "xargs", "true", "bash", "nice")
	pieces := []string{
		"sudo x", "sudo x", "sudo x", "echo", "a", ";", "|", "(", ")", "$(", ")", "`", "`", "{ ", "; }", "\n", "<<E", "\nE\n",
		"<<'E'", "case a in", "a)", "*)", ";;", "esac", "if", "then", "fi", "\"", "\"", "'", "'",
		"\\", "#", "x=(", "[[", "]]", "((", "))", "bash -c", "eval", "$'", "${x:-", "}", ">o", "2>&1", "&&", "||", "!",
		"time", "env", "xargs", "cat", "<o", "<<<", "$((", "$x", "\\\n", "<(", "nice", "-n 3", "A=b", "su", "do x", "''",
		"s'u'do", "1 << 2", "true", "-", "$(case a in a)", "esac)",
	}
	random := rand.New(rand.NewPCG(1, 2))
	allowed, refused := 0, 0
	for allowed < 250 {
		var b strings.Builder
		for range 2 + random.IntN(9) {
			b.WriteString(pieces[random.IntN(len(pieces))])
			if random.IntN(4) > 0 {
				b.WriteByte(' ')
			}
		}
		command := b.String()
		if !strings.Contains(command, "do x") {
			continue
		}
		if Deny(command, s.work, testHome) != "" {
			refused++
			continue
		}
		allowed++
		if s.runsSudo(command) {
			t.Errorf("%q is allowed, and runs sudo", command)
		}
	}
	if refused < 100 {
		t.Errorf("only %d were refused", refused)
	}
}

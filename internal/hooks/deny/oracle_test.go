//go:build unix

package deny

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralphloop/ralph/internal/needs"
)

// shellWith is a real shell that finds few programs, and a sudo that only leaves a mark.
type shellWith struct {
	*testing.T
	bash, bin, work, mark string
}

func newShellWith(t *testing.T, programs ...string) shellWith {
	t.Helper()
	bash := needs.Program(t, "bash")
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
		"sudo x", "sudo x", "sudo x", "echo", "a", ";", "|", "(", ")", "$(", ")", "`", "`", "{ ", "; }", "\n", "<<E",
		"\nE\n",
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
		if decideAt(command, Place{Dir: s.work, Home: testHome}) != "" {
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

// TestFollowingMatchesTheShell combines pieces with variables, functions and branches, and asks a
// real shell about what is neither refused nor undetermined.
func TestFollowingMatchesTheShell(t *testing.T) {
	s := newShellWith(t, "cat", "env", "xargs", "true", "false", "bash", "echo")
	at := Place{Dir: s.work, Home: testHome, Variable: func(name string) (string, bool) { return s.bin, name == "PATH" }}
	pieces := []string{
		"X=sudo", "X=su", "X=do", "X=", "X=ls", "X+=do", "X=$X$Y", "Y=$X", "Y=sudo", "Y=su", "unset X", "export X=sudo",
		"X=sudox",
		"X=(sudo x)", "X=(a sudo)", "X+=(sudo)", "X='sudo x'", "IFS=,", "X=sudo,x", "set -- sudo x", "set -- a sudo",
		"shift",
		"$X", "$X x", "$X$Y x", "\"$X\" x", "\"$X$Y\"", "${X:-ls}", "${X:-sudo}", "${X:+sudo}", "${X%x}", "${X#s}",
		"${X/a/u}",
		"${X[1]} x", "\"${X[@]}\"", "${!X}", "\"$@\"", "$1", "$*", "$2 x", "${Y:=sudo} x", "eval \"$X\"", "eval $Y x",
		"bash -c \"$X x\"",
		"bash -c '$X x'", "bash -c '\"$@\"' _", "echo $X | bash", "echo $X x | xargs env", "$(echo $X) x", "env $X",
		"command $X",
		"f", "f sudo", "f $X", "g sudo x", "g $Y", "sudo x", "true", "false", "trap '$X x' EXIT", "alias a=$X", "a",
		"exit", "cat <<E | bash\n$X x\nE\n",
	}
	openers := [][2]string{
		{"if true; then ", "; fi"}, {"if false; then ", "; fi"}, {"( ", " )"}, {"{ ", "; }"},
		{"for X in ls sudo; do ", "; done"},
		{"for X in a; do ", "; done"}, {"f() { ", "; }"}, {"g() { \"$@\"; ", "; }"}, {"if false; then :; else ", "; fi"},
		{"case a in a) ", ";; *) :;; esac"}, {"case b in a) ", ";; esac"}, {"for i in 1 2; do ", "; done"},
		{"f() { X=$1; ", "; }"},
		{"while $X false; do ", "; done"},
	}
	random := rand.New(rand.NewPCG(3, 4))
	var build func(depth int) string
	build = func(depth int) string {
		var b strings.Builder
		for i := range 1 + random.IntN(5) {
			if i > 0 {
				b.WriteString([]string{"; ", "; ", "\n", " && ", " || "}[random.IntN(5)])
			}
			if depth > 0 && random.IntN(4) == 0 {
				pair := openers[random.IntN(len(openers))]
				b.WriteString(pair[0] + build(depth-1) + pair[1])
				continue
			}
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	allowed, refused, open := 0, 0, 0
	for allowed < 250 {
		command := build(2)
		switch decideAt(command, at) {
		case "":
			allowed++
			if s.runsSudo(command) {
				t.Errorf("%q is allowed, and runs sudo", command)
			}
		case undetermined:
			open++
		default:
			refused++
		}
	}
	if refused < 100 || open < 10 {
		t.Errorf("%d were refused, %d undetermined", refused, open)
	}
	t.Logf("%d were allowed, %d refused, %d undetermined", allowed, refused, open)
}

//go:build unix

package process

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play the programs that the tests run. The part is
// in the arguments, since some of them lose their environment.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		role, isGuarded := strings.CutPrefix(os.Args[1], "guarded-role:")
		role, ok := strings.CutPrefix(role, "role:")
		if ok || isGuarded {
			*guarded = isGuarded
			// Not os.Exit: with the race detector it takes a second.
			syscall.Exit(roles[role](os.Args[2:]))
		}
	}
	if err := OwnOrphans(); err != nil && isLinux {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

var roles = map[string]func(args []string) int{}

func init() {
	maps.Copy(roles, map[string]func(args []string) int{
		"linger":      linger,
		"detach":      detach,
		"detach-bare": detachBare,
		"stubborn":    stubborn,
		"flood":       flood,
		"library":     library,
	})
}

// play is the command line for a role.
func play(role string, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	role = "role:" + role
	if *guarded {
		role = "guarded-" + role
	}
	return append([]string{self, role}, args...)
}

// linger stays until it is killed. Its first argument only makes it findable, the
// second is a file that it makes when it is up.
func linger(args []string) int {
	if len(args) > 1 && os.WriteFile(args[1], nil, 0o600) != nil {
		return 1
	}
	time.Sleep(time.Hour)
	return 0
}

// detach starts its arguments as a daemon: in the background, in a session of its
// own, without any of our files, by a parent that is gone at once.
func detach(args []string) int {
	return daemon(args, os.Environ())
}

// detachBare does the same and takes the environment away.
func detachBare(args []string) int {
	return daemon(args, []string{})
}

func daemon(args, env []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// stubborn ignores TERM and says when it does.
func stubborn([]string) int {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("ready")
	time.Sleep(time.Hour)
	return 0
}

// flood writes the given number of bytes as one line, then a last line.
func flood(args []string) int {
	size, err := strconv.Atoi(args[0])
	if err != nil {
		return 1
	}
	chunk := bytes.Repeat([]byte("x"), 1<<16)
	for size > 0 {
		n, err := os.Stdout.Write(chunk[:min(size, len(chunk))])
		if err != nil {
			return 1
		}
		size -= n
	}
	fmt.Print("\nthe end\n")
	return 0
}

// library is a program that embeds this package without owning orphans and with
// children of its own. It prints the result of running its arguments, and how
// many of its two own children were alive then.
func library(args []string) int {
	var own []*exec.Cmd
	for _, attr := range []*syscall.SysProcAttr{{}, {Setsid: true}} {
		argv := play("linger", "own child")
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.SysProcAttr = attr
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		own = append(own, cmd)
	}
	result, err := runEither(testContext(), Spec{Argv: args, Env: os.Environ()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	alive := 0
	for _, cmd := range own {
		if cmd.Process.Signal(syscall.Signal(0)) == nil && !isZombie(cmd.Process.Pid) {
			alive++
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	if json.NewEncoder(os.Stdout).Encode(libraryReport{result, alive}) != nil {
		return 1
	}
	return 0
}

type libraryReport struct {
	Result   Result
	OwnAlive int
}

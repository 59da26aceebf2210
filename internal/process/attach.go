package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
)

// Attached is a command in the user's own terminal.
type Attached struct {
	Argv           []string // the program by its path
	Dir            string
	Env            []string // the whole environment
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Attach runs a command in this process's terminal and waits for it: a login, where
// the user talks to the program and not to us. It is neither bounded nor hunted
// afterwards: what it leaves running, the user wanted. Ctrl-C reaches it, and does
// not end us before it. The status is the one of Result.ExitCode.
func Attach(ctx context.Context, a Attached) (status int, err error) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	cmd := exec.CommandContext(ctx, a.Argv[0], a.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Dir, a.Env, a.Stdin, a.Stdout, a.Stderr
	if err := cmd.Run(); err != nil {
		if _, ended := errors.AsType[*exec.ExitError](err); !ended {
			return -1, fmt.Errorf("run %s: %w", a.Argv[0], err)
		}
	}
	status, _ = exitStatus(cmd.ProcessState)
	return status, nil
}

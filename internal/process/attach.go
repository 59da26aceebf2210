package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"time"
)

// Attached is a command in the user's own terminal.
type Attached struct {
	Argv           []string // the path of the program and its arguments
	Dir            string
	Env            []string // the whole environment
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Attach runs a command in this process's terminal and waits for it, such as a login, where the
// user talks to the program directly. It has no time limit, and the processes that it leaves
// running are not killed, because the user wanted them. Ctrl-C reaches the command, and does not
// end this process before it. The status is that of Result.ExitCode.
func Attach(ctx context.Context, a Attached) (status int, err error) {
	return attach(ctx, a, func(int) func() { return func() {} })
}

// attach calls started with the ID of the command's process, and what started returns once the command has ended.
func attach(ctx context.Context, a Attached, started func(pid int) (ended func())) (status int, err error) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	cmd := exec.CommandContext(ctx, a.Argv[0], a.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Dir, a.Env, a.Stdin, a.Stdout, a.Stderr
	if err := cmd.Start(); err != nil {
		return -1, fmt.Errorf("run %s: %w", a.Argv[0], err)
	}
	ended := started(cmd.Process.Pid)
	err = cmd.Wait()
	ended()
	if err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			return -1, fmt.Errorf("run %s: %w", a.Argv[0], err)
		}
	}
	status, _ = exitStatus(cmd.ProcessState)
	return status, nil
}

// Conversation is an attached command whose agent starts processes, as that of a run does.
type Conversation struct {
	Attached
	// Marker is set in the environment as MarkerVariable, for Dead.
	Marker string
	// Keep returns processes that do not end with the conversation, with all that is below them.
	Keep func() []int
}

// conversationGrace is how long what a conversation left has after a SIGTERM, such as a server that closes its files.
const conversationGrace = 2 * time.Second

// Attach is like the function Attach, but ends the processes that the command leaves, and returns them. On Linux,
// orphans become children of this process meanwhile, so that none escapes, whatever its session and environment. Other
// systems end none.
func (c Conversation) Attach(ctx context.Context) (status int, left []Leftover, err error) {
	release, err := c.adoptOrphans()
	if err != nil {
		return -1, nil, err
	}
	c.Env = append(slices.Clip(c.Env), MarkerVariable+"="+c.Marker)
	earlier := ownChildren()
	status, err = attach(ctx, c.Attached, reapOrphans)
	keep := earlier
	if c.Keep != nil {
		keep = append(keep, c.Keep()...)
	}
	dead := Dead{Marker: c.Marker, orphans: true, keep: keep}
	left, alsoErr := dead.end(conversationGrace)
	if errors.Is(alsoErr, errors.ErrUnsupported) {
		alsoErr = nil
	}
	return status, left, errors.Join(err, alsoErr, release())
}

// Package awake keeps the system from going to sleep by itself while a run is active: with
// systemd-inhibit on Linux, with caffeinate on macOS. It is a convenience. Where that program is missing
// or refuses, as in a container without logind, nothing happens.
package awake

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
)

// Options say where to look for the program.
type Options struct {
	Env  []string               // its environment, with the PATH in which it is found
	Skip func(path string) bool // programs that are not used, such as those that an agent can write
}

// Start keeps the system awake until the returned function is called, or until this process ends in any
// way. It does not wait for the program.
func Start(o Options) (stop func()) {
	program, err := locate(o)
	if err != nil {
		return func() {}
	}
	stop, err = process.Accompany(command(program, untilInputEnds), o.Env)
	if err != nil {
		return func() {}
	}
	return stop
}

// Probe tries whether the system can be kept awake, and returns the program. If there is none, the error
// is process.ErrNotFound, or errors.ErrUnsupported on a system where none is known.
func Probe(ctx context.Context, o Options) (program string, err error) {
	const limit = 5 * time.Second
	if program, err = locate(o); err != nil {
		return "", err
	}
	var said strings.Builder
	ended, err := process.Run(ctx, process.Spec{
		Argv: command(program, []string{"/bin/sh", "-c", "exit 0"}), Env: o.Env, Timeout: limit,
		Stdout: process.Sink{Tap: &said}, StderrToStdout: true,
	})
	switch {
	case err != nil:
		return program, err
	case ended.State == process.TimedOut:
		return program, fmt.Errorf("no answer after %v", limit)
	case ended.State != process.Exited || ended.ExitCode != 0:
		return program, errors.New(text.OneLine(strings.TrimSpace(said.String())))
	}
	return program, nil
}

func locate(o Options) (string, error) {
	switch runtime.GOOS {
	case "linux":
		return process.Locate("systemd-inhibit", o.Env, o.Skip)
	case "darwin":
		return process.Locate("caffeinate", o.Env, o.Skip)
	}
	return "", errors.ErrUnsupported
}

// untilInputEnds waits for the end of its input, which comes with stop or with the end of this process.
var untilInputEnds = []string{"/bin/sh", "-c", "read -r end"}

// command returns the command line that keeps the system awake while a program runs.
func command(program string, while []string) []string {
	if runtime.GOOS == "darwin" {
		return append([]string{program, "-i"}, while...)
	}
	return append([]string{
		program, "--what=idle:sleep", "--mode=block", "--who=ralph", "--why=an agent is working",
	}, while...)
}

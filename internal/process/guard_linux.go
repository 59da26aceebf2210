package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// canGuard reports whether this program can be started again. It cannot without /proc.
var canGuard = sync.OnceValue(func() bool {
	_, err := os.Stat(selfProgram)
	return err == nil
})

// guard is our side of the process between us and the main process. It is nil if there is none.
type guard struct {
	control *os.File // closed when this process dies, however it dies
	report  *os.File
	answers *bufio.Reader
	end     *inside.End // nil if the guard was killed
}

// startGuarded starts this program again, which starts the program and kills its tree when that
// ends, or when this process does.
func (t *tree) startGuarded(
	ctx context.Context, s *Spec, program string, argv []string, attr *os.ProcAttr,
) (err error) {
	charge := inside.Charge{
		Program: program, Argv: argv, Dir: attr.Dir, Trace: tokenVariable + "=" + t.token, Filtered: s.Filtered,
		Groups: s.Limits.groups, FileSize: s.Limits.FileSize,
	}
	if strings.ContainsRune(program+attr.Dir+strings.Join(argv, ""), 0) {
		return syscall.EINVAL // as the system says
	}
	if t.enclosure != nil {
		charge.Enclosed, charge.Namespaces = true, t.enclosure.namespaces
	}
	g := &guard{}
	orders, err1 := inMemory(charge.Encode())
	report, theirReport, err2 := os.Pipe()
	theirControl, control, err3 := os.Pipe()
	theirs := []*os.File{orders, theirReport, theirControl}
	g.report, g.control = report, control
	defer func() {
		for _, file := range theirs {
			file.Close()
		}
		if err != nil {
			g.close()
		}
	}()
	if err = errors.Join(err1, err2, err3); err != nil {
		return &IOError{Op: "start guard", Err: err}
	}
	stdio, enclosure := attr.Files[:3], attr.Files[3:]
	own := &os.ProcAttr{Env: attr.Env, Files: slices.Concat(stdio, theirs, enclosure), Sys: ownSession()}
	if t.main, err = startProcess(selfProgram, []string{inside.GuardName}, own); err != nil {
		return &IOError{Op: "start guard", Err: withoutPath(err)}
	}
	theirReport.Close() // so that the pipe ends with the guard
	g.answers = bufio.NewReader(g.report)
	text, err := g.firstAnswer(ctx, t.main)
	if err == nil {
		t.program, err = inside.DecodeGuardAnswer(text)
	}
	// A program can kill its guard before that has answered. It then is a tree whose guard was killed.
	if err != nil && (!errors.Is(err, inside.ErrNoAnswer) || !wasKilled(t.main.Pid)) {
		return explainGuard(err)
	}
	t.guard = g
	t.memoryKills = memoryKills()
	t.recordIn(treeBegan)
	return nil
}

// wasKilled waits until a child is dead, and reports whether a signal killed it. It does not reap it.
func wasKilled(pid int) bool {
	const exited = 1 // CLD_EXITED
	var info unix.Siginfo
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil).(unix.Errno)
	}
	return err == 0 && info.Code != exited
}

// explainGuard returns the program's own failure as it is, and names what the guard could not do before.
func explainGuard(err error) error {
	failed, ok := errors.AsType[*inside.GuardError](err)
	if !ok {
		return fmt.Errorf("%w: %w", ErrGuard, err)
	}
	switch failed.Stage {
	case inside.StartProgram:
		return failed.Errno
	case inside.SetLimits:
		return fmt.Errorf("%w: %w", ErrLimits, failed.Errno)
	case inside.SetFilter:
		return fmt.Errorf("%w: %w", ErrFilter, failed.Errno)
	}
	return fmt.Errorf("%w: %w", ErrGuard, failed.Errno)
}

// firstAnswer reads the fields of the guard's first answer. The program may have stopped the guard before it
// could answer, so it is woken now and then. The system may keep it from answering at all.
func (g *guard) firstAnswer(ctx context.Context, main *os.Process) (text []byte, err error) {
	limit := time.Now().Add(answerLimit)
	for range inside.GuardAnswerFields {
		for answered := false; !answered; {
			_ = g.report.SetReadDeadline(time.Now().Add(wakeGuard))
			part, err := g.answers.ReadBytes(0)
			text = append(text, part...)
			switch {
			case err == nil:
				answered = true
			case !errors.Is(err, os.ErrDeadlineExceeded):
				return text, nil
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case time.Now().After(limit):
				return nil, fmt.Errorf("it did not answer within %s", answerLimit)
			default:
				_ = main.Signal(syscall.SIGCONT)
			}
		}
	}
	_ = g.report.SetReadDeadline(time.Time{})
	return text, nil
}

// wakeGuard is how long a guard may take to answer before it is woken.
const wakeGuard = 200 * time.Millisecond

// answerLimit is how long a guard may take to answer at all.
var answerLimit = inside.KillLimit

// ask sends an order to the guard. An agent may have stopped it.
func (t *tree) ask(order byte) error {
	_, err := t.guard.control.Write([]byte{order})
	return errors.Join(err, t.main.Signal(syscall.SIGCONT))
}

// finish returns how the tree ended, after the guard has. It returns nil if the guard could not say.
func (g *guard) finish() *inside.End {
	text, _ := io.ReadAll(g.answers)
	g.end, _ = inside.DecodeEnd(text)
	g.close()
	return g.end
}

func (g *guard) close() {
	g.report.Close()
	g.control.Close()
}

// describe fills in how the main process ended, if the guard could say.
func (g *guard) describe(r *Result) bool {
	if g == nil || g.end == nil {
		return false
	}
	r.ExitCode, r.Signal = shellStatus(syscall.WaitStatus(g.end.Status))
	r.CPU = g.end.CPU
	return true
}

package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// LookPath finds a program in the harness's own PATH. The error is ErrNotFound or
// ErrNotExecutable. Run does not use it: there the PATH of Spec.Env counts.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return "", fmt.Errorf("find %s: %w", name, ErrNotExecutable)
	}
	return "", fmt.Errorf("find %s: %w", name, ErrNotFound)
}

// Locate finds a program, by its bare name, in the PATH of env as Run does, but passes
// over every file that skip reports. The error is ErrNotFound or ErrNotExecutable.
func Locate(name string, env []string, skip func(path string) bool) (string, error) {
	return search(name, (&exec.Cmd{Env: append([]string{}, env...)}).Environ(), skip)
}

// launch starts the main process and puts its tree on the list. One in an enclosure
// is the program itself when launch returns.
func launch(ctx context.Context, s *Spec, out *output) (*tree, error) {
	stdin := s.Stdin
	if stdin == nil {
		var err error
		if stdin, err = openStdin(cmp.Or(s.StdinFile, os.DevNull)); err != nil {
			return nil, err
		}
		defer stdin.Close()
	}
	t := &tree{token: newToken(), since: systemNow()}
	env := environment(s, t.token)
	stdout, stderr := out.writeEnds()
	attr := &os.ProcAttr{Dir: s.Dir, Env: env, Files: []*os.File{stdin, stdout, stderr}, Sys: ownSession()}
	if s.Enclosure != nil {
		return t, t.plantEnclosed(ctx, s, attr)
	}
	program, err := resolve(s.Argv[0], env)
	if err != nil {
		return nil, err
	}
	if err := t.plant(program, s.Argv, attr); err != nil {
		return nil, startError(program, s, err)
	}
	return t, nil
}

// plant starts the main process. Afterwards the tree is on the list.
func (t *tree) plant(program string, argv []string, attr *os.ProcAttr) error {
	trees.planting.RLock()
	defer trees.planting.RUnlock()
	var err error
	if t.main, err = startProcess(program, argv, attr); err != nil {
		return err
	}
	t.pid = t.main.Pid
	offerToOOM(t.pid)
	trees.add(t)
	return nil
}

// plantEnclosed starts this very program, which makes the enclosure and becomes the
// wanted one. If it does not get there, nothing of it is left.
func (t *tree) plantEnclosed(ctx context.Context, s *Spec, attr *os.ProcAttr) error {
	g, err := enclose(s, attr)
	if err != nil {
		return err
	}
	defer g.discard()
	if err := t.plant(selfProgram, append([]string{inside.Name}, s.Argv...), attr); err != nil {
		return fmt.Errorf("%w: start in namespaces: %w", ErrEnclosure, err)
	}
	g.started()
	began := time.Now()
	err = g.wait(ctx, s)
	if s.Timeout > 0 {
		s.Timeout = max(s.Timeout-time.Since(began), 1) // it bounds this, too
	}
	if err != nil {
		t.kill()
		t.hunt()
		t.retire()
		return err
	}
	return nil
}

// openStdin does not wait for a writer if a pipe lies where the file should be.
func openStdin(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, &IOError{Op: "open stdin file", Path: path, Err: bare(err)}
	}
	if info, err := file.Stat(); path != os.DevNull && (err != nil || !info.Mode().IsRegular()) {
		file.Close()
		return nil, &IOError{Op: "open stdin file", Path: path, Err: errors.New("not a regular file")}
	}
	return file, nil
}

// startProcess tries again when the program is "busy": a script that another
// goroutine has just written is, while a third one's child still holds a copy of
// the descriptor.
func startProcess(program string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	for pause := time.Millisecond; ; pause *= 2 {
		p, err := os.StartProcess(program, argv, attr)
		if !errors.Is(err, errBusy) || pause > 200*time.Millisecond {
			return p, err
		}
		time.Sleep(pause)
	}
}

// environment is the child's, without duplicates and with the marks of its tree.
func environment(s *Spec, token string) []string {
	env := append(slices.Clip(s.Env), MarkerVariable+"="+cmp.Or(s.Marker, rand.Text()), tokenVariable+"="+token)
	// Only os/exec knows how names compare and which entries are special on each system.
	return (&exec.Cmd{Env: env}).Environ()
}

// startError says in our words why there is no process.
func startError(program string, s *Spec, err error) error {
	f := failedStart{name: s.Argv[0], program: program, dir: s.Dir, cause: err}
	if s.Dir != "" {
		info, err := os.Stat(s.Dir)
		f.noDir = err != nil || !info.IsDir()
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(s.Dir, program)
	}
	_, statErr := os.Stat(program)
	f.exists = statErr == nil
	return f.explain()
}

// failedStart is what there is to know of a program that could not be started.
type failedStart struct {
	name, program, dir string
	cause              error
	noDir              bool // dir is not a folder
	exists             bool // program is a file
}

func (f *failedStart) explain() error {
	cause := f.cause
	if errno, ok := errors.AsType[syscall.Errno](cause); ok {
		cause = errno
	}
	switch {
	case f.noDir:
		return fmt.Errorf("start %s in %s: %w: %w", f.name, f.dir, ErrNoDir, cause)
	case errors.Is(cause, fs.ErrNotExist), errors.Is(cause, syscall.ENOTDIR):
		if f.exists {
			return fmt.Errorf("start %s: %w: its interpreter is missing", f.program, ErrNotExecutable)
		}
		return fmt.Errorf("start %s: %w", f.program, ErrNotFound)
	case errors.Is(cause, fs.ErrPermission), isNotExecutable(cause):
		return fmt.Errorf("start %s: %w: %w", f.program, ErrNotExecutable, cause)
	}
	return fmt.Errorf("start %s: %w", f.program, cause)
}

// notStarted sorts a launch error: the program's fault is a result, ours an error.
func notStarted(err error) (Result, error) {
	r := Result{State: NotStarted, ExitCode: -1}
	if _, ours := errors.AsType[*IOError](err); ours {
		return r, err
	}
	r.StartError = err
	switch {
	case errors.Is(err, ErrNotFound):
		r.ExitCode = 127
	case errors.Is(err, ErrNotExecutable):
		r.ExitCode = 126
	}
	return r, nil
}

// exitStatus is the status as a shell would give it.
func exitStatus(exit *os.ProcessState) (code int, signal string) {
	if exit == nil {
		return -1, ""
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), status.Signal().String()
	}
	return exit.ExitCode(), ""
}

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

const plainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%"

// Words writes arguments so that the shell reads them back unchanged.
func Words(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		if arg != "" && strings.Trim(arg, plainCharacters) == "" {
			quoted[i] = arg
			continue
		}
		quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

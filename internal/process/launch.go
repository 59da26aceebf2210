package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// LookPath finds a program in the harness's own PATH. The error is ErrNotFound or ErrNotExecutable.
// Run does not use it: it uses the PATH of Spec.Env.
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

// Locate finds a program by its bare name in the PATH of env, as Run does, but ignores every file
// for which skip returns true. The error is ErrNotFound or ErrNotExecutable.
func Locate(name string, env []string, skip func(path string) bool) (string, error) {
	return search(name, (&exec.Cmd{Env: append([]string{}, env...)}).Environ(), skip)
}

// launch starts the main process and registers its tree. With an enclosure, it returns after the
// program itself has started.
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
		return t, t.startEnclosed(ctx, s, attr)
	}
	program, err := resolve(s.Argv[0], env)
	if err != nil {
		return nil, err
	}
	err = t.start(ctx, s, program, s.Argv, attr)
	if err != nil && !isOurs(err) {
		err = startError(program, s, err)
	}
	return t, err
}

// start starts the main process, with its guard if there is one, and registers the tree. If that fails, no
// process is left.
func (t *tree) start(ctx context.Context, s *Spec, program string, argv []string, attr *os.ProcAttr) error {
	err := t.startAndAdd(ctx, s, program, argv, attr)
	if err != nil && t.main != nil {
		// The guard may have started the program before it was killed, or stopped answering.
		t.kill()
		t.killRest()
		t.retire()
	}
	return err
}

// startAndAdd registers the tree whenever there is a process.
func (t *tree) startAndAdd(
	ctx context.Context, s *Spec, program string, argv []string, attr *os.ProcAttr,
) (err error) {
	trees.starting.RLock()
	defer trees.starting.RUnlock()
	switch guarded := s.Guarded && canGuard(); {
	case !guarded && (s.Filtered || s.Limits != Limits{}):
		return fmt.Errorf("%w: no guard can be started", ErrLimits)
	case guarded:
		err = t.startGuarded(ctx, s, program, argv, attr)
	default:
		t.main, err = startProcess(program, argv, attr)
	}
	if t.main == nil {
		return err
	}
	t.pid = t.main.Pid
	t.program = cmp.Or(t.program, t.pid)
	if err == nil {
		raiseOOMScore(t.program)
	}
	trees.add(t)
	return err
}

// startEnclosed starts this program again, which creates the enclosure and executes the actual
// program. If that fails, no process is left.
func (t *tree) startEnclosed(ctx context.Context, s *Spec, attr *os.ProcAttr) error {
	g, err := enclose(s, attr)
	if err != nil {
		return err
	}
	defer g.discard()
	t.enclosure = g
	switch err := t.start(ctx, s, selfProgram, append([]string{inside.Name}, s.Argv...), attr); {
	case err != nil && isOurs(err):
		return err
	case err != nil:
		return fmt.Errorf("%w: start in namespaces: %w", ErrEnclosure, err)
	}
	g.started()
	began := time.Now()
	err = g.wait(ctx, s)
	if s.Timeout > 0 {
		s.Timeout = max(s.Timeout-time.Since(began), 1) // the limit includes this time
	}
	if err != nil {
		t.kill()
		t.killRest()
		t.retire()
		return err
	}
	return nil
}

// openStdin opens a regular file, so that the program cannot change it. It does not block if there is a pipe
// instead.
func openStdin(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, &IOError{Op: "open stdin file", Path: path, Err: withoutPath(err)}
	}
	if info, err := file.Stat(); path != os.DevNull && (err != nil || !info.Mode().IsRegular()) {
		file.Close()
		return nil, &IOError{Op: "open stdin file", Path: path, Err: errors.New("not a regular file")}
	}
	if path == os.DevNull {
		return file, nil
	}
	content, err := unchangeable(file)
	if err != nil {
		return nil, &IOError{Op: "open stdin file", Path: path, Err: withoutPath(err)}
	}
	return content, nil
}

// startProcess retries while the program is "busy". That happens to a script that another goroutine
// has just written, while a child of a third one still has a copy of the descriptor.
func startProcess(program string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	for pause := time.Millisecond; ; pause *= 2 {
		p, err := os.StartProcess(program, argv, attr)
		if !errors.Is(err, errBusy) || pause > 200*time.Millisecond {
			return p, err
		}
		time.Sleep(pause)
	}
}

// environment returns the child's environment, without duplicates and with the variables of its
// tree.
func environment(s *Spec, token string) []string {
	env := append(slices.Clip(s.Env), MarkerVariable+"="+cmp.Or(s.Marker, rand.Text()), tokenVariable+"="+token)
	// os/exec knows how names compare and which entries are special on each system.
	return (&exec.Cmd{Env: env}).Environ()
}

// startError explains why there is no process.
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

// failedStart describes a program that could not be started.
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

// notStarted turns the program's own failure into a result, and trouble of the harness into an
// error.
func notStarted(ctx context.Context, err error) (Result, error) {
	r := Result{State: NotStarted, ExitCode: -1}
	if errors.Is(err, ErrGuard) && ctx.Err() != nil { // it was not waited for any longer
		r.State = Canceled
		return r, nil
	}
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

// exitStatus returns the status as a shell would.
func exitStatus(exit *os.ProcessState) (code int, signal string) {
	if exit == nil {
		return -1, ""
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok {
		return shellStatus(status)
	}
	return exit.ExitCode(), ""
}

func shellStatus(status syscall.WaitStatus) (code int, signal string) {
	if status.Signaled() {
		return 128 + int(status.Signal()), status.Signal().String()
	}
	return status.ExitStatus(), ""
}

// Detach starts a program in a session of its own that outlives this process, without input. What it prints goes to the
// file. It returns the ID of its process.
func Detach(argv []string, dir string, env []string, output *os.File) (pid int, err error) {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	defer nothing.Close()
	attr := &os.ProcAttr{Dir: dir, Env: env, Files: []*os.File{nothing, output, output}, Sys: ownSession()}
	started, err := startProcess(argv[0], argv, attr)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", argv[0], err)
	}
	pid = started.Pid
	return pid, started.Release()
}

const plainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%"

// Words quotes arguments so that the shell reads them back unchanged.
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

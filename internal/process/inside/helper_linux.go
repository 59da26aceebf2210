package inside

import (
	"errors"
	"os"
	"path"
	"runtime"
	"syscall"
	"time"
)

// init takes over before main and before almost every other package of the program.
func init() {
	if len(os.Args) > 1 && os.Args[0] == Name {
		makeEnclosure(os.Args[1:])
	}
}

// makeEnclosure creates the enclosure and executes the program. It does not return.
func makeEnclosure(argv []string) {
	runtime.LockOSThread() // capabilities belong to threads
	syscall.CloseOnExec(reportFD)
	var o *Orders
	text, err := readOrders()
	if err == nil {
		o, err = decodeOrders(text)
	}
	if err == nil {
		err = o.apply()
	} else {
		err = wrap("read orders", err)
	}
	if err == nil {
		if _, err = syscall.Write(reportFD, []byte{Ready}); err == nil && o.MakeOnly {
			syscall.Exit(0)
		}
	}
	r := Report{Failed: MakeEnclosure}
	if err != nil {
		r.Text = err.Error()
	} else {
		r = execProgram(argv, o.Dir)
	}
	_, _ = syscall.Write(reportFD, r.encode())
	syscall.Exit(1)
}

// readOrders avoids os.File, which would start a goroutine and with it another thread.
func readOrders() ([]byte, error) {
	var text []byte
	for part := make([]byte, 4096); ; {
		n, err := syscall.Read(ordersFD, part)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			_ = syscall.Close(ordersFD)
			return text, nil
		}
		text = append(text, part[:n]...)
	}
}

// execProgram replaces this process with the program. It returns only if that fails.
func execProgram(argv []string, dir string) Report {
	if err := syscall.Chdir(dir); err != nil {
		return failedStart(argv[0], dir, err)
	}
	program := argv[0]
	if path.Base(program) == program {
		// These are the variables that the parent chose for the program, so nothing of another origin is
		// read here.
		list, ok := syscall.Getenv("PATH")
		if !ok {
			list = SystemPath
		}
		var exists bool
		if program, exists = Search(argv[0], list, func(string) bool { return false }); program == "" {
			return Report{Failed: FindProgram, Text: argv[0], Exists: exists}
		}
	}
	for pause := time.Millisecond; ; pause *= 2 {
		err := syscall.Exec(program, argv, syscall.Environ())
		if err != syscall.ETXTBSY || pause > 200*time.Millisecond {
			return failedStart(program, dir, err)
		}
		time.Sleep(pause) // another process may have just written the program
	}
}

// failedStart adds what only this process can see.
func failedStart(program, dir string, err error) Report {
	r := Report{Failed: StartProgram, Text: program, Dir: dir}
	r.Errno, _ = err.(syscall.Errno)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		r.NoDir = true
	}
	if !path.IsAbs(program) {
		program = path.Join(dir, program)
	}
	_, err = os.Stat(program)
	r.Exists = err == nil
	return r
}

// Stage is a step of the helper process, or of a guard.
type Stage string

// The stages that can fail.
const (
	MakeEnclosure Stage = "enclosure"
	FindProgram   Stage = "find"
	StartProgram  Stage = "start"

	BecomeGuard Stage = "guard"
	SetLimits   Stage = "limits"
	SetFilter   Stage = "filter"
)

// Report says why there is no program.
type Report struct {
	Failed Stage
	Text   string // the error of the enclosure, or the program's name
	Dir    string // the working folder
	Errno  syscall.Errno
	NoDir  bool // Dir is not a folder
	Exists bool // the program's file exists; with FindProgram it is not executable
}

func (r *Report) encode() []byte {
	return joinFields(
		string(r.Failed), r.Text, r.Dir, itoa(int(r.Errno)), flagText(r.NoDir), flagText(r.Exists),
	)
}

func flagText(set bool) string {
	if set {
		return "yes"
	}
	return ""
}

// DecodeReport parses a complete report.
func DecodeReport(text []byte) (Report, error) {
	fields := splitFields(text)
	if len(fields) != 6 {
		return Report{}, errors.New("not a report")
	}
	r := Report{Failed: Stage(fields[0]), Text: fields[1], Dir: fields[2], NoDir: fields[4] != "", Exists: fields[5] != ""}
	errno, ok := atoi(fields[3])
	if !ok {
		return Report{}, errors.New("not a report")
	}
	r.Errno = syscall.Errno(errno)
	return r, nil
}

package inside

import (
	"errors"
	"syscall"
	"time"
)

const (
	// The descriptor on which a guard is told what to do. It reads its charge from ordersFD and answers
	// on reportFD.
	controlFD = 5
	// The descriptors that a guard passes on to the process that creates an enclosure.
	enclosureOrdersFD, enclosureReportFD = 6, 7

	// guardStarted is the first field of the answer of a guard whose program runs. A stage is that of another one.
	guardStarted = "started"
)

// Encode writes the charge as fields that end with a zero byte.
func (c *Charge) Encode() []byte {
	fields := []string{
		c.Program, c.Dir, c.Trace, flagText(c.Enclosed), flagText(c.NoNetwork), flagText(c.OwnUsers), flagText(c.Filtered),
		c.Groups, itoa(int(c.FileSize)),
	}
	return joinFields(append(fields, c.Argv...)...)
}

func decodeCharge(text []byte) (*Charge, error) {
	f := splitFields(text)
	if len(f) < 10 {
		return nil, errBadOrders
	}
	fileSize, _ := atoi(f[8])
	return &Charge{
		Program: f[0], Dir: f[1], Trace: f[2], Argv: f[9:], Groups: f[7], FileSize: int64(fileSize), Filtered: f[6] != "",
		Enclosed: f[3] != "", Namespaces: Namespaces{NoNetwork: f[4] != "", OwnUsers: f[5] != ""},
	}, nil
}

// GuardAnswerFields is the number of fields of a guard's first answer.
const GuardAnswerFields = 2

// ErrNoAnswer means that a guard ended before it could answer.
var ErrNoAnswer = errors.New("it ended too early")

// GuardError says why a guard has no program.
type GuardError struct {
	Stage Stage
	Errno syscall.Errno
}

func (e *GuardError) Error() string { return string(e.Stage) + ": " + e.Errno.Error() }

// failedIn returns nil for no error.
func failedIn(stage Stage, errno syscall.Errno) *GuardError {
	if errno == 0 {
		return nil
	}
	return &GuardError{Stage: stage, Errno: errno}
}

// errnoOf returns the number of an error of the system.
func errnoOf(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return syscall.EIO
}

// DecodeGuardAnswer parses a guard's first answer: the ID of the program's process, or why there is none. The
// error is a *GuardError if the guard could say why.
func DecodeGuardAnswer(text []byte) (pid int, err error) {
	fields := splitFields(text)
	if len(fields) != GuardAnswerFields {
		return 0, ErrNoAnswer
	}
	number, ok := atoi(fields[1])
	switch {
	case !ok:
		return 0, errBadOrders
	case fields[0] == guardStarted:
		return int(number), nil
	}
	return 0, &GuardError{Stage: Stage(fields[0]), Errno: syscall.Errno(number)}
}

func (e *End) encode() []byte {
	return joinFields(append([]string{
		itoa(int(e.Status)), itoa(int(e.CPU)), itoa(e.Survivors), itoa(e.Unkillable),
	}, e.Names...)...)
}

// DecodeEnd parses a guard's last answer. It returns false if the guard did not get that far.
func DecodeEnd(text []byte) (*End, bool) {
	const numbers = 4
	fields := splitFields(text)
	if len(fields) < numbers {
		return nil, false
	}
	var n [numbers]uint64
	for i := range n {
		var ok bool
		if n[i], ok = atoi(fields[i]); !ok {
			return nil, false
		}
	}
	e := &End{Status: uint32(n[0]), CPU: time.Duration(n[1]), Survivors: int(n[2]), Unkillable: int(n[3])}
	e.Names = append(e.Names, fields[numbers:]...)
	return e, true
}

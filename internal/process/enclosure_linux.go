package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	selfProgram = "/proc/self/exe"

	// Where the program that makes an enclosure finds its orders and says how it went.
	ordersFD, reportFD = 3, 4

	// ready is reported right before the program takes over. Whatever is reported after that is about the program.
	ready = '+'
)

// orders is an enclosure on its way to the process that makes it. Paths are bytes: JSON would change those that are no UTF-8.
type orders struct {
	Mounts    []mountOrder `json:"mounts,omitempty"`
	Root      []byte       `json:"root,omitempty"`
	Edits     []editOrder  `json:"edits,omitempty"`
	Dir       []byte       `json:"dir,omitempty"`
	NoNetwork bool         `json:"no_network,omitempty"`
	MakeOnly  bool         `json:"make_only,omitempty"`
	// OwnUsers says that there is a user namespace, whose rights have to be given back. Rights are those that this process has.
	OwnUsers bool   `json:"own_users,omitempty"`
	Rights   uint64 `json:"rights,omitempty"`
}

type mountOrder struct {
	Kind                               MountKind
	Target, Source, Lower, Upper, Work []byte
}

type editOrder struct{ Name, Source []byte }

func (s *Spec) orders(rights uint64) orders {
	e := s.Enclosure
	o := orders{Root: []byte(e.Root), Dir: []byte(s.Dir), NoNetwork: e.NoNetwork, MakeOnly: s.makeOnly, Rights: rights}
	o.OwnUsers = os.Geteuid() != 0 || rights&(1<<unix.CAP_SYS_ADMIN) == 0
	for _, m := range e.Mounts {
		o.Mounts = append(o.Mounts, mountOrder{m.Kind, []byte(m.Target), []byte(m.Source), []byte(m.Lower), []byte(m.Upper), []byte(m.Work)})
	}
	for _, edit := range e.Edits {
		o.Edits = append(o.Edits, editOrder{[]byte(edit.Name), []byte(edit.Source)})
	}
	return o
}

// report is why there is no program.
type report struct {
	Text string `json:"text"`
	Kind string `json:"kind,omitempty"` // one of the reasons below
}

var reasons = map[string]error{"not_found": ErrNotFound, "not_executable": ErrNotExecutable, "no_dir": ErrNoDir}

func newReport(err error) report {
	r := report{Text: err.Error()}
	for kind, reason := range reasons {
		if errors.Is(err, reason) {
			r.Kind = kind
		}
	}
	return r
}

// reportedError is an error of the other process, in its words.
type reportedError struct {
	text string
	kind error
}

func (e *reportedError) Error() string { return e.text }

func (e *reportedError) Unwrap() error { return e.kind }

// gate is where a program that makes an enclosure says that it is through.
type gate struct {
	orders *os.File
	report *os.File // what we read
	theirs *os.File
}

// enclose makes attr start a process in namespaces of its own that can read its orders.
func enclose(s *Spec, attr *os.ProcAttr) (*gate, error) {
	o := s.orders(ownRights())
	text, err := json.Marshal(o)
	if err != nil {
		return nil, &IOError{Op: "write enclosure", Err: err}
	}
	g := &gate{}
	if g.orders, err = inMemory(text); err != nil {
		return nil, &IOError{Op: "write enclosure", Err: err}
	}
	if g.report, g.theirs, err = os.Pipe(); err != nil {
		g.discard()
		return nil, &IOError{Op: "make pipe", Err: bare(err)}
	}
	attr.Dir = "" // it is entered when it looks as it should
	attr.Files = append(attr.Files, g.orders, g.theirs)
	attr.Sys.Cloneflags = unix.CLONE_NEWNS
	if s.Enclosure.NoNetwork {
		attr.Sys.Cloneflags |= unix.CLONE_NEWNET
	}
	if o.OwnUsers {
		ownUserNamespace(attr.Sys)
	}
	return g, nil
}

// ownUserNamespace gives the process the rights that mounts take, over nothing but its own namespaces. It stays the user that it is: programs that
// refuse to run as root, and those that do otherwise then, must not see a difference.
func ownUserNamespace(sys *syscall.SysProcAttr) {
	sys.Cloneflags |= unix.CLONE_NEWUSER
	sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	// An overlay acts with the rights of whoever mounts it: without these it could not copy a file up into a folder that is closed to its owner.
	sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH,
		unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETPCAP}
}

// ownRights are the capabilities of this process, as bits.
func ownRights() uint64 {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return 0
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective)
}

func inMemory(text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("enclosure", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "enclosure")
	if _, err := file.Write(text); err != nil {
		file.Close()
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// started lets go of what the process has by now, so that its end can be seen.
func (g *gate) started() {
	g.theirs.Close()
	g.theirs = nil
}

func (g *gate) discard() {
	for _, file := range []*os.File{g.orders, g.report, g.theirs} {
		if file != nil {
			file.Close()
		}
	}
}

// wait returns when the program has taken over. A done context, or the limit, is no error: whoever watches the tree sees it, too.
func (g *gate) wait(ctx context.Context, limit time.Duration) error {
	if limit > 0 {
		_ = g.report.SetReadDeadline(time.Now().Add(limit))
	}
	defer context.AfterFunc(ctx, func() { _ = g.report.SetReadDeadline(time.Unix(1, 0)) })()
	text, err := io.ReadAll(g.report)
	switch {
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case err != nil:
		return fmt.Errorf("%w: wait for it: %w", ErrEnclosure, err)
	}
	isReady := len(text) > 0 && text[0] == ready
	if isReady {
		text = text[1:]
	}
	if isReady && len(text) == 0 {
		return nil
	}
	var r report
	if json.Unmarshal(text, &r) != nil {
		return fmt.Errorf("%w: its maker ended too early", ErrEnclosure)
	}
	if !isReady {
		return fmt.Errorf("%w: %s", ErrEnclosure, r.Text)
	}
	return &reportedError{r.Text, reasons[r.Kind]}
}

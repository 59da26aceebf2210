package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralphloop/ralph/internal/process/inside"
)

const selfProgram = "/proc/self/exe"

func (s *Spec) orders(rights uint64) *inside.Orders {
	e := s.Enclosure
	return &inside.Orders{
		Mounts:    e.Mounts,
		Root:      e.Root,
		Edits:     e.Edits,
		Dir:       s.Dir,
		NoNetwork: e.NoNetwork,
		MakeOnly:  s.makeOnly,
		OwnUsers:  os.Geteuid() != 0 || rights&(1<<unix.CAP_SYS_ADMIN) == 0,
		Rights:    rights,
	}
}

// handshake is the channel on which the helper process receives its orders and reports when the
// enclosure is complete.
type handshake struct {
	orders *os.File
	report *os.File // our end of the pipe
	theirs *os.File // the end of the helper process

	namespaces inside.Namespaces
}

// enclose makes attr start a process in new namespaces that can read its orders.
func enclose(s *Spec, attr *os.ProcAttr) (*handshake, error) {
	if err := checkNames(s.Enclosure.Edits); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEnclosure, err)
	}
	o := s.orders(ownRights())
	g := &handshake{}
	var err error
	if g.orders, err = inMemory(o.Encode()); err != nil {
		return nil, &IOError{Op: "write enclosure", Err: err}
	}
	if g.report, g.theirs, err = os.Pipe(); err != nil {
		g.discard()
		return nil, &IOError{Op: "make pipe", Err: withoutPath(err)}
	}
	attr.Dir = "" // the helper enters it after the mounts
	attr.Files = append(attr.Files, g.orders, g.theirs)
	g.namespaces = inside.Namespaces{NoNetwork: o.NoNetwork, OwnUsers: o.OwnUsers}
	g.namespaces.Apply(attr.Sys)
	return g, nil
}

// ownRights returns the capabilities of this process, as bits.
func ownRights() uint64 {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return 0
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective)
}

// started closes our copy of the helper's end, so that we notice when the helper closes its own.
func (g *handshake) started() {
	g.theirs.Close()
	g.theirs = nil
}

func (g *handshake) discard() {
	for _, file := range []*os.File{g.orders, g.report, g.theirs} {
		if file != nil {
			file.Close()
		}
	}
}

// wait returns when the program has taken over. A canceled context or a timeout is no error here:
// Run, which watches the tree, sees it too.
func (g *handshake) wait(ctx context.Context, s *Spec) error {
	if s.Timeout > 0 {
		_ = g.report.SetReadDeadline(time.Now().Add(s.Timeout))
	}
	defer context.AfterFunc(ctx, func() { _ = g.report.SetReadDeadline(time.Unix(1, 0)) })()
	text, err := io.ReadAll(g.report)
	switch {
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case err != nil:
		return fmt.Errorf("%w: wait for it: %w", ErrEnclosure, err)
	}
	text, isReady := bytes.CutPrefix(text, []byte{inside.Ready})
	if isReady && len(text) == 0 {
		return nil
	}
	r, err := inside.DecodeReport(text)
	switch {
	case err != nil:
		return fmt.Errorf("%w: its helper process ended too early", ErrEnclosure)
	case r.Failed == inside.FindProgram:
		return notFoundError(r.Text, r.Exists)
	case r.Failed == inside.StartProgram:
		f := failedStart{name: s.Argv[0], program: r.Text, dir: r.Dir, cause: r.Errno, noDir: r.NoDir, exists: r.Exists}
		return f.explain()
	}
	return fmt.Errorf("%w: %s", ErrEnclosure, r.Text)
}

//go:build !linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
)

const selfProgram = ""

// handshake is never used: there are no enclosures on this system.
type handshake struct{}

func enclose(*Spec, *os.ProcAttr) (*handshake, error) {
	return nil, fmt.Errorf("%w on this system: %w", ErrEnclosure, errors.ErrUnsupported)
}

func (*handshake) started() {}

func (*handshake) discard() {}

func (*handshake) wait(context.Context, *Spec) error { return nil }

func canGuard() bool { return false }

// guard is never used: this system has no way to adopt orphans.
type guard struct{}

func (t *tree) startGuarded(context.Context, *Spec, string, []string, *os.ProcAttr) error {
	return errors.ErrUnsupported
}

func (t *tree) ask(byte) error { return errors.ErrUnsupported }

func (*guard) describe(*Result) bool { return false }

func memoryKills() int { return 0 }

func systemNow() uint64 { return 0 }

func raiseOOMScore(int) {}

func (t *tree) await() { t.reap() }

// OwnOrphans is not supported on this system.
func OwnOrphans() error { return fmt.Errorf("own orphans: %w", errors.ErrUnsupported) }

// Leftovers is not supported on this system: other processes' environments cannot be read reliably.
func (Dead) Leftovers() ([]Leftover, error) {
	return []Leftover{}, fmt.Errorf("find leftover processes: %w", errors.ErrUnsupported)
}

// Kill is not supported on this system.
func (Dead) Kill() (int, error) {
	return 0, fmt.Errorf("kill leftover processes: %w", errors.ErrUnsupported)
}

// KeepRecord does nothing on this system.
func KeepRecord(string) error { return nil }

const treeBegan, treeEnded = "", ""

func (t *tree) recordIn(string) {}

package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ralphloop/ralph"
)

// Order is an order from another process to a run. It is an empty file of that name in the run's inbox.
type Order string

// The orders.
const (
	Stop  Order = "stop"  // finish the iteration, judge it, then end
	Pause Order = "pause" // start no iteration until the order is cleared
)

func orderPath(runDir string, order Order) string {
	return filepath.Join(runDir, "mailbox", string(order))
}

// Send puts an order into the inbox of a run. Sending it twice has no further effect.
func (s *Store) Send(run string, order Order) error {
	if _, err := os.Stat(s.logPath(run)); err != nil {
		return fmt.Errorf("send %s: %w", order, err)
	}
	path := orderPath(s.RunDir(run), order)
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return fmt.Errorf("send %s: %w", order, unwritable("mkdir", path, err))
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, fileMode)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("send %s: %w", order, unwritable("create", path, err))
	}
	return nil
}

// Clear removes an order from the inbox of a run. It is no error if the order is not there.
func (s *Store) Clear(run string, order Order) error {
	path := orderPath(s.RunDir(run), order)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear %s: %w", order, unwritable("remove", path, err))
	}
	return nil
}

// Poll returns the orders in the inbox. It neither blocks nor reads a file, and it leaves the orders in
// the inbox.
func (l *Log) Poll() (ralph.Orders, error) {
	stop, stopErr := hasOrder(l.Dir(), Stop)
	pause, pauseErr := hasOrder(l.Dir(), Pause)
	if err := errors.Join(stopErr, pauseErr); err != nil {
		return ralph.Orders{}, fmt.Errorf("poll mailbox: %w", err)
	}
	return ralph.Orders{Stop: stop, Pause: pause}, nil
}

func hasOrder(runDir string, order Order) (bool, error) {
	_, err := os.Lstat(orderPath(runDir, order))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// HasOrder reports whether an order is in the inbox of a run.
func (s *Store) HasOrder(run string, order Order) (bool, error) {
	return hasOrder(s.RunDir(run), order)
}

package process

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralphloop/ralph/internal/process/inside"
)

// adoptOrphans makes orphans of the command children of this process. It is not OwnOrphans: a judge that is kept may
// outlive the conversation, and must not be taken for the orphan of a later tree.
func (Conversation) adoptOrphans() (release func() error, err error) {
	adopt := func(on uintptr) error {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, on, 0, 0, 0); err != nil {
			return fmt.Errorf("adopt orphans: %w", err)
		}
		return nil
	}
	if ownsOrphans.Load() {
		return func() error { return nil }, nil
	}
	return func() error { return adopt(0) }, adopt(1)
}

// ownChildren returns the processes that are children of this one already: it may have replaced a shell that had some.
func ownChildren() (pids []int) {
	all, _ := inside.Processes()
	for pid, p := range all {
		if p.Parent == os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// reapOrphans reaps orphans that end while the command runs, which may be for days. It never waits for the command
// itself: its status is for the caller.
func reapOrphans(command int) (stop func()) {
	ended, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(ended, syscall.SIGCHLD)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-ended:
				for reapOne(command) {
				}
			}
		}
	})
	return func() {
		signal.Stop(ended)
		close(done)
		all.Wait()
	}
}

// reapOne reports whether it reaped a child.
func reapOne(command int) bool {
	all, _ := inside.Processes()
	for pid, p := range all {
		if pid == command || p.Parent != os.Getpid() || !p.Gone() {
			continue
		}
		if reaped, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); err == nil && reaped == pid {
			return true
		}
	}
	return false
}

// end asks the leftovers to end, waits for that for some time, and kills the rest. It returns what there was.
func (d Dead) end(grace time.Duration) ([]Leftover, error) {
	left, err := d.Leftovers()
	if err != nil || len(left) == 0 {
		return nil, err
	}
	for _, p := range left {
		_ = syscall.Kill(p.PID, syscall.SIGTERM) // it may have ended
	}
	for limit := time.Now().Add(grace); time.Now().Before(limit); time.Sleep(10 * time.Millisecond) {
		if now, err := d.find(); err != nil || len(now) == 0 {
			break
		}
	}
	_, err = d.Kill()
	return left, err
}

//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// companions are the sessions of programs that Accompany started.
var companions struct {
	mu       sync.Mutex
	sessions []int
}

// leave starts a program in the background of a shell and ends the shell: the program loses its parent.
// The input of a program in the background is empty, unless it is named.
const leave = `exec 3<&0; "$@" <&3 3<&- >/dev/null 2>&1 &`

// Accompany starts a program beside this process. It belongs to no tree: Run neither waits for it nor
// kills it. It is not even a child of this process, because Run ends faster if there are no other
// children. The program's input is a pipe to which nothing is written. It ends with stop, and with this
// process, even if that is killed; a program that waits for its end ends with it. Accompany does not wait
// for the program, and does not know whether it works.
//
// Call it while no tree is alive: orphans of a tree could escape meanwhile.
func Accompany(argv, env []string) (stop func(), err error) {
	input, err := accompany(argv, env)
	if err != nil {
		return nil, err
	}
	return func() { input.Close() }, nil
}

// accompany is Accompany for a program that gets something to read. It ends when the file is closed.
func accompany(argv, env []string) (*os.File, error) {
	trees.starting.Lock()
	defer trees.starting.Unlock()
	if len(trees.all()) > 0 {
		return nil, errors.New("accompany: a tree is alive")
	}
	input, end, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("accompany: %w", err)
	}
	defer input.Close()
	nothing, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("accompany: %w", err), end.Close())
	}
	defer nothing.Close()
	shell := append(Shell(leave), append([]string{"ralph"}, argv...)...)
	attr := &os.ProcAttr{Env: env, Files: []*os.File{input, nothing, nothing}, Sys: ownSession()}
	err = giveUpOrphans(func() error {
		parent, err := startProcess(shell[0], shell, attr)
		if err != nil {
			return err
		}
		companions.mu.Lock()
		companions.sessions = append(companions.sessions, parent.Pid)
		companions.mu.Unlock()
		_, err = parent.Wait()
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("accompany: %w", err), end.Close())
	}
	return end, nil
}

package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/runlog"
)

// lock takes the workspace for a run, or says who has it.
func lock(store *runlog.Store, run string) (*runlog.Lock, error) {
	host, _ := os.Hostname()
	identity, _ := process.Identity(os.Getpid())
	held, err := store.Lock(runlog.Owner{PID: os.Getpid(), Run: run, Host: host, Started: time.Now().UTC(), Identity: identity})
	if _, locked := errors.AsType[*runlog.Locked](err); locked {
		err = fmt.Errorf("%w; ralph status tells about it, and ralph stop ends it after its iteration", err)
	}
	return held, err
}

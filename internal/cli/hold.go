package cli

import (
	"os"
	"time"

	"github.com/ralphloop/ralph/process"
	"github.com/ralphloop/ralph/runlog"
)

// lock takes the workspace for a run, or says who has it.
func lock(store *runlog.Store, run string) (*runlog.Lock, error) {
	host, _ := os.Hostname()
	identity, _ := process.Identity(os.Getpid())
	return store.Lock(runlog.Owner{PID: os.Getpid(), Run: run, Host: host, Started: time.Now().UTC(), Identity: identity})
}

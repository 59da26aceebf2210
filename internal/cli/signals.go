package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/loop"
)

// onSignals calls handle with every signal that would end this process, and with a function that
// cancels the returned context. The returned function stops watching.
func onSignals(ctx context.Context, handle func(s os.Signal, kill context.CancelCauseFunc)) (context.Context, func()) {
	ctx, kill := context.WithCancelCause(ctx)
	signals, done := make(chan os.Signal, 8), make(chan struct{})
	signal.Notify(signals, deadlySignals()...)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				handle(s, kill)
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		watching.Wait()
		kill(nil)
	}
}

// watchSignals ends the run after its iteration on the first Ctrl-C. The second Ctrl-C, or another
// signal, ends it now. The third one cuts short what a killed run still does: restoring files that
// checks wrote, and stop hooks. The returned function stops watching.
func watchSignals(ctx context.Context, loop *loop.Loop, v view) (context.Context, func()) {
	interrupts := 0
	return onSignals(ctx, func(s os.Signal, kill context.CancelCauseFunc) {
		if s == os.Interrupt {
			switch interrupts++; interrupts {
			case 1:
				v.Say("stopping after this iteration; press Ctrl-C again to kill it now")
				loop.Stop(ralph.SignalInterrupt)
				return
			case 2:
				v.Say("killing the agent and saving the state")
			case 3:
				v.Say("leaving without waiting for hooks")
				loop.Abandon()
			}
		} else {
			interrupts = max(interrupts, 2) // the run is killed now, so the next Ctrl-C is the third step
		}
		kill(killedBy(s))
	})
}

// untilSignal returns a context that is canceled by the first signal that would end this process.
// Its cause is then a ralph.Killed. The returned function stops watching.
func untilSignal(ctx context.Context) (context.Context, func()) {
	return onSignals(ctx, func(s os.Signal, kill context.CancelCauseFunc) { kill(killedBy(s)) })
}

// interrupted returns the status of a command that a signal ended, or nil.
func interrupted(ctx context.Context) error {
	if killed, ok := errors.AsType[ralph.Killed](context.Cause(ctx)); ok {
		return exitStatus(ralph.ExitCode(ralph.Interrupted, killed.Signal))
	}
	return nil
}

// deadlySignals returns the signals that would end this process and leave its children running.
func deadlySignals() []os.Signal {
	deadly := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		deadly = append(deadly, syscall.SIGHUP)
	}
	return deadly
}

func killedBy(s os.Signal) ralph.Killed {
	switch s {
	case os.Interrupt:
		return ralph.Killed{Signal: ralph.SignalInterrupt}
	case syscall.SIGHUP:
		return ralph.Killed{Signal: ralph.SignalHangup}
	}
	return ralph.Killed{Signal: ralph.SignalTerminate}
}

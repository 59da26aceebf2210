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

// onSignals calls heed with every signal that would end this process, and a way to end the returned context now. The
// returned function stops watching.
func onSignals(ctx context.Context, heed func(s os.Signal, kill context.CancelCauseFunc)) (context.Context, func()) {
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
				heed(s, kill)
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

// watchSignals lets the first Ctrl-C end the run after its iteration and anything stronger end it now; the third one cuts
// short what the run does after that. The returned function stops watching.
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
			interrupts = max(interrupts, 2) // it is killed; a Ctrl-C after that is the third step
		}
		kill(killedBy(s))
	})
}

// untilSignal is done with the first signal that would end this process; its cause is then a ralph.Killed. The returned function stops watching.
func untilSignal(ctx context.Context) (context.Context, func()) {
	return onSignals(ctx, func(s os.Signal, kill context.CancelCauseFunc) { kill(killedBy(s)) })
}

// interrupted is the status of a command that a signal ended, nil if none did.
func interrupted(ctx context.Context) error {
	if killed, ok := errors.AsType[ralph.Killed](context.Cause(ctx)); ok {
		return exitStatus(ralph.ExitCode(ralph.Interrupted, killed.Signal))
	}
	return nil
}

// deadlySignals are those that would end this process, and leave behind what it started.
func deadlySignals() []os.Signal {
	deadly := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) { // nohup means it
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

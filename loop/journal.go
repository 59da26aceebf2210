package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/judge"
)

// journal is what the parts of a loop share: the record of the run, its clock, and the orders of other processes.
// emit is the only way to change the state of a run.
type journal struct {
	cfg    Config
	policy ralph.Policy
	id     string
	about  ralph.RunStarted
	state  *fold.State

	recorder  ralph.Recorder
	observers []func(ralph.Event)
	live      func(ralph.Activity)
	storage   error           // the first failure to record; nothing is recorded after it
	warned    map[string]bool // what was said and is not said again
	unmetered bool            // it was said that not everything is counted

	begun     time.Time  // of this process's share of the run
	before    ralph.Span // spent by earlier processes
	iteration int        // under way, 0 before the first
	crashed   bool       // the process before this one did not end the run

	inbox     ralph.Inbox
	stop      atomic.Pointer[ralph.Signal]
	abandon   sync.Once
	abandoned chan struct{} // closed when the user does not wait for what comes after a kill
}

// emit records one event, applies it, and tells it.
func (j *journal) emit(kind ralph.EventType, data any) {
	e := ralph.Event{
		Version:   ralph.EventVersion,
		Seq:       j.state.Seq + 1,
		Time:      time.Now().UTC(),
		Run:       j.id,
		Iteration: j.iteration,
		Type:      kind,
		Data:      data,
	}
	bug := j.store(func() error { return j.recorder.Append(e) })
	if err := j.state.Apply(e); err != nil {
		panic(err)
	}
	broke := false
	for i, see := range j.observers {
		if see != nil && !callSafely(func() { see(e) }) { // a view that breaks must not break the run
			j.observers[i], broke = nil, true
		}
	}
	if broke {
		j.warn("observer_panicked", "a view of this run broke down and is told nothing more")
	}
	j.warnPanic(bug)
}

// warn records a warning.
func (j *journal) warn(code, format string, args ...any) {
	j.emit(ralph.EvWarning, ralph.Notice{Code: code, Text: fmt.Sprintf(format, args...)})
}

// notice records something that the user may want to know.
func (j *journal) notice(code, text string) {
	j.emit(ralph.EvNotice, ralph.Notice{Code: code, Text: text})
}

// warnOnce warns, but not in every iteration.
func (j *journal) warnOnce(code, text string) {
	if j.firstTime(text) {
		j.warn(code, "%s", text)
	}
}

// firstTime reports whether something is said for the first time.
func (j *journal) firstTime(about string) bool {
	before := j.warned[about]
	j.warned[about] = true
	return !before
}

// callSafely reports whether a view took what it was told without panicking.
func callSafely(tell func()) bool { return catch(tell) == nil }

// sync makes everything recorded so far durable.
func (j *journal) sync() { j.warnPanic(j.store(func() error { return j.recorder.Sync() })) }

// store writes to the recorder, if there is one and it has not failed before. A panic there is a failure to record.
func (j *journal) store(write func() error) (bug *caught) {
	if j.recorder == nil || j.storage != nil {
		return nil
	}
	var err error
	if bug = catch(func() { err = write() }); bug != nil {
		err = fmt.Errorf("the recorder panicked: %v", bug.value)
	}
	if err != nil {
		j.storageFailed(err)
	}
	return bug
}

// warnPanic records a panic with its stack, if there was one.
func (j *journal) warnPanic(bug *caught) {
	if bug != nil {
		j.warn("panic", "%v\n%s", bug.value, bug.stack)
	}
}

func (j *journal) storageFailed(err error) {
	if errors.Is(err, ralph.ErrIO) {
		j.storage = err
		return
	}
	j.storage = fmt.Errorf("%w: %w", ralph.ErrIO, err)
}

func (j *journal) storageVerdict() ralph.Verdict {
	return judge.Abort(j.state.History.Breaker, ralph.IOFailed, "%v", j.storage)
}

func (j *journal) elapsed() ralph.Span { return (j.before + ralph.Span(time.Since(j.begun))).Rounded() }

// moment is what the clock and the world outside say right now.
func (j *journal) moment(ctx context.Context) ralph.Moment {
	at := ralph.Moment{Elapsed: j.elapsed()}
	if ctx.Err() != nil {
		at.Signal, at.Killed = ralph.SignalInterrupt, true
		var killed ralph.Killed
		if errors.As(context.Cause(ctx), &killed) {
			at.Signal = killed.Signal
		}
		return at
	}
	if orders, err := j.orders(); err == nil && orders.Stop {
		stop := ralph.SignalStop
		j.stop.CompareAndSwap(nil, &stop)
	}
	if s := j.stop.Load(); s != nil {
		at.Signal = *s
	}
	return at
}

func (j *journal) orders() (ralph.Orders, error) {
	if j.inbox == nil {
		return ralph.Orders{}, nil
	}
	return j.inbox.Poll()
}

// stopsAt gives the verdict if the next iteration is not to begin.
func (j *journal) stopsAt(at ralph.Moment) *ralph.Verdict {
	v := judge.Decide(j.policy, j.state.History.Judge(at))
	if v.Action != ralph.Stop {
		return nil
	}
	j.iteration = j.state.History.Started // the next one never began
	j.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	return &v
}

// detached is a context for what is done after a kill as well: putting files back, hooks of the end. Once the run was
// killed, Abandon cancels it.
func (j *journal) detached(ctx context.Context) (context.Context, context.CancelFunc) {
	killed := ctx.Done()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	watching.Go(func() {
		for _, next := range []<-chan struct{}{killed, j.abandoned} {
			select {
			case <-next:
			case <-ctx.Done():
				return
			}
		}
		cancel()
	})
	return ctx, func() {
		cancel()
		watching.Wait()
	}
}

// couldStillPass reports whether a claim may still be accepted, and the run goes on.
func (j *journal) couldStillPass(ctx context.Context) bool {
	return ctx.Err() == nil && j.storage == nil && judge.CouldStillPass(j.policy, j.state.History)
}

// timeLeft is how long the agent may work: the iteration's time-out, or the run's time if that ends sooner.
func (j *journal) timeLeft() time.Duration {
	left := j.policy.IterationTimeout
	if j.policy.MaxTime > 0 {
		if budget := max(j.policy.MaxTime-j.elapsed(), ralph.Span(time.Millisecond)); left == 0 || budget < left {
			left = budget
		}
	}
	return left.Duration()
}

// folder is where this iteration leaves its files, "" when nothing keeps them.
func (j *journal) folder() (string, error) {
	folders, ok := j.recorder.(ralph.Folders)
	if !ok {
		return "", nil
	}
	dir, err := folders.Folder(j.iteration)
	if err != nil && !errors.Is(err, ralph.ErrIO) {
		err = fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	return dir, err
}

func (j *journal) checkFolder(checks int) (string, error) {
	folder, err := j.folder()
	if err != nil || folder == "" || checks == 0 {
		return "", err
	}
	folder = filepath.Join(folder, "checks")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	return folder, nil
}

// warnUnmetered says that a cap was not counted against, or not with everything: somebody was cut short, or does not tell.
func (j *journal) warnUnmetered(what string, s ralph.Spending, end ralph.EndClass) {
	cost := j.policy.MaxCost > 0 && (s.Cost == nil || s.CostPartial)
	tokens := j.policy.MaxTokens > 0 && (s.Tokens == nil || s.TokensPartial)
	if !cost && !tokens || !end.Failed() && j.unmetered { // one that never tells is told of once
		return
	}
	j.unmetered = true
	known := map[bool]string{false: "not known", true: "known only in part"}
	if cost {
		j.warn("cost_unknown", "what %s cost is %s, so more than --max-cost may be spent", what, known[s.Cost != nil])
	}
	if tokens {
		j.warn("tokens_unknown", "how many tokens %s took is %s, so more than --max-tokens may be spent", what,
			known[s.Tokens != nil])
	}
}

// caught is a panic with the stack of the goroutine that it happened on.
type caught struct {
	value any
	stack []byte
}

// Error makes a panic that was raised again readable, should nothing catch it.
func (c *caught) Error() string { return fmt.Sprintf("%v\n%s", c.value, c.stack) }

// catch calls do and returns its panic, nil if there was none. A panic that was caught before keeps its first stack.
func catch(do func()) (bug *caught) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *caught:
			bug = value
		default:
			bug = &caught{value, debug.Stack()}
		}
	}()
	do()
	return nil
}

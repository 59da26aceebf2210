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

// journal is what the parts of a loop share: the record of the run, its clock, and the orders of
// other processes. emit is the only way to change the state of a run.
type journal struct {
	cfg    Config
	policy ralph.Policy
	id     string
	about  ralph.RunStarted
	state  *fold.State

	recorder  ralph.Recorder
	observers []func(ralph.Event)
	live      func(ralph.Activity)
	storage   error           // the first failure of storage, which ends the run
	lost      bool            // the recorder failed, and nothing is recorded after that
	warned    map[string]bool // warnings that were given and are not repeated
	unmetered bool            // the user knows that not everything is counted

	begun     time.Time  // start of this process's share of the run
	before    ralph.Span // time spent by earlier processes
	iteration int        // current iteration, 0 before the first
	crashed   bool       // the previous process did not end the run

	inbox     ralph.Inbox
	stop      atomic.Pointer[ralph.Signal]
	abandon   sync.Once
	abandoned chan struct{} // closed when the user does not wait for the cleanup after a kill
}

// emit records one event, applies it, and passes it to the observers.
func (j *journal) emit(kind ralph.EventType, data any) {
	e, bug := j.record(kind, data)
	j.tell(e)
	j.warnPanic(bug)
}

// record records one event and applies it.
func (j *journal) record(kind ralph.EventType, data any) (ralph.Event, *caughtPanic) {
	e := ralph.Event{
		Version:   ralph.EventVersion,
		Seq:       j.state.Seq + 1,
		Time:      time.Now().UTC(),
		Run:       j.id,
		Iteration: j.iteration,
		Type:      kind,
		Data:      j.masked(kind, data),
	}
	bug := j.store(func() error { return j.recorder.Append(e) })
	if err := j.state.Apply(e); err != nil {
		panic(err)
	}
	return e, bug
}

// recordEnd records how the run ended, and tells the observers when that is durable. If only that fails, the log gets
// another end, because a later process may still find the first one.
func (j *journal) recordEnd(stopped ralph.RunStopped) {
	e, bug := j.record(ralph.EvRunStopped, j.orRecordLost(stopped))
	written := !j.lost
	j.sync()
	if written && j.lost {
		j.lost = false
		e, _ = j.record(ralph.EvRunStopped, j.orRecordLost(stopped))
		j.lost = true
	}
	j.tell(e)
	j.warnPanic(bug)
}

// tell passes an event to the observers.
func (j *journal) tell(e ralph.Event) {
	broke := false
	for i, see := range j.observers {
		if see != nil && !callSafely(func() { see(e) }) { // a broken view must not break the run
			j.observers[i], broke = nil, true
		}
	}
	if broke {
		j.warn("observer_panicked", "a view of this run crashed and receives no more events")
	}
}

// warn records a warning.
func (j *journal) warn(code, format string, args ...any) {
	j.emit(ralph.EvWarning, ralph.Notice{Code: code, Text: fmt.Sprintf(format, args...)})
}

// notice records something the user may want to know.
func (j *journal) notice(code, text string) {
	j.emit(ralph.EvNotice, ralph.Notice{Code: code, Text: text})
}

// warnOnce gives a warning only the first time, not in every iteration.
func (j *journal) warnOnce(code, text string) {
	if j.firstTime(text) {
		j.warn(code, "%s", text)
	}
}

// firstTime reports whether this is the first call with about.
func (j *journal) firstTime(about string) bool {
	before := j.warned[about]
	j.warned[about] = true
	return !before
}

// callSafely calls tell and reports whether it returned without panicking.
func callSafely(tell func()) bool { return catch(tell) == nil }

// sync makes everything recorded so far durable.
func (j *journal) sync() { j.warnPanic(j.store(func() error { return j.recorder.Sync() })) }

// store writes to the recorder, if there is one and it has not failed before. A panic counts as a
// failure to record.
func (j *journal) store(write func() error) (bug *caughtPanic) {
	if j.recorder == nil || j.lost {
		return nil
	}
	var err error
	if bug = catch(func() { err = write() }); bug != nil {
		err = fmt.Errorf("the recorder panicked: %v", bug.value)
	}
	if err != nil {
		j.lost = true
		j.storageFailed(err)
	}
	return bug
}

// warnPanic records a panic with its stack, if there was one.
func (j *journal) warnPanic(bug *caughtPanic) {
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

// moment returns the time elapsed and the signals and orders received so far.
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

// decideNow decides whether another iteration may start.
func (j *journal) decideNow(ctx context.Context) ralph.Verdict {
	if j.storage != nil {
		return j.storageVerdict()
	}
	at := j.moment(ctx)
	v := judge.Decide(j.policy, j.state.History.Judge(at))
	if v.Action == ralph.Stop {
		j.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	}
	return v
}

// stopsAt returns the verdict if the next iteration must not begin.
func (j *journal) stopsAt(at ralph.Moment) *ralph.Verdict {
	v := judge.Decide(j.policy, j.state.History.Judge(at))
	if v.Action != ralph.Stop {
		return nil
	}
	j.iteration = j.state.History.Started // the next one never began
	j.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: v})
	return &v
}

// detachedContext returns a context for work that also runs after a kill: a last look at the tree,
// stop hooks. Once the run was killed, Abandon cancels it.
func (j *journal) detachedContext(ctx context.Context) (context.Context, context.CancelFunc) {
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

// couldStillPass reports whether a claim may still be accepted and the run continues.
func (j *journal) couldStillPass(ctx context.Context) bool {
	return ctx.Err() == nil && j.storage == nil && judge.CouldStillPass(j.policy, j.state.History)
}

// timeLeft returns how long the agent may work: the iteration's timeout, or the run's remaining
// time if that is shorter.
func (j *journal) timeLeft() time.Duration {
	left := j.policy.IterationTimeout
	if j.policy.MaxTime > 0 {
		if budget := max(j.policy.MaxTime-j.elapsed(), ralph.Span(time.Millisecond)); left == 0 || budget < left {
			left = budget
		}
	}
	return left.Duration()
}

// folder returns the folder for this iteration's files, or "" if nothing stores them.
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

func (j *journal) checkFolder() (string, error) {
	folder, err := j.folder()
	if err != nil || folder == "" {
		return "", err
	}
	folder = filepath.Join(folder, "checks")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	return folder, nil
}

// warnUnmetered warns that a limit may be exceeded because the spending is unknown or incomplete:
// the agent was cut short, or does not report it.
func (j *journal) warnUnmetered(what string, s ralph.Spending, end ralph.EndClass) {
	cost := j.policy.MaxCost > 0 && (s.Cost == nil || s.CostPartial)
	tokens := j.policy.MaxTokens > 0 && (s.Tokens == nil || s.TokensPartial)
	stopped := end.Failed() || end == ralph.EndCut
	if !cost && !tokens || !stopped && j.unmetered { // warn once about an agent that never reports
		return
	}
	j.unmetered = true
	known := map[bool]string{false: "unknown", true: "only partly known"}
	if cost {
		j.warn("cost_unknown", "the cost of %s is %s, so the run may exceed --max-cost", what, known[s.Cost != nil])
	}
	if tokens {
		j.warn("tokens_unknown", "the token usage of %s is %s, so the run may exceed --max-tokens", what,
			known[s.Tokens != nil])
	}
}

// caughtPanic is a panic with the stack of its goroutine.
type caughtPanic struct {
	value any
	stack []byte
}

// Error makes a re-raised panic readable if nothing catches it.
func (c *caughtPanic) Error() string { return fmt.Sprintf("%v\n%s", c.value, c.stack) }

// catch calls do and returns its panic, or nil. A panic that was caught before keeps its first
// stack.
func catch(do func()) (bug *caughtPanic) {
	defer func() {
		switch value := recover().(type) {
		case nil:
		case *caughtPanic:
			bug = value
		default:
			bug = &caughtPanic{value, debug.Stack()}
		}
	}()
	do()
	return nil
}

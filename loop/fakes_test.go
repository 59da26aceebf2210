package loop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

// world is a run with everything around it in memory. Under synctest its clock stops until all
// goroutines wait.
type world struct {
	t       *testing.T
	cfg     Config
	policy  ralph.Policy
	agent   *fakeAgent
	checker *fakeChecker
	tree    *fakeTree
	log     *memoryLog
	options []Option
	loop    *Loop
}

// worked is how long a fake agent works, so that time passes.
const worked = 5*time.Second + 500*time.Millisecond

func newWorld(t *testing.T, turns ...turn) *world {
	w := &world{
		t: t, cfg: Config{Task: "make it green", AgentName: "fake", Checks: []string{"go test"}},
		policy: lenientPolicy(), agent: &fakeAgent{turns: turns}, checker: &fakeChecker{}, tree: &fakeTree{},
		log: &memoryLog{},
	}
	w.cfg.Agent = w.agent
	return w
}

// run runs the loop to its end.
func (w *world) run(ctx context.Context) ralph.Result {
	w.t.Helper()
	w.make()
	result, err := w.loop.Run(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// make builds the loop, once.
func (w *world) make() {
	w.t.Helper()
	if w.loop != nil {
		return
	}
	options := append([]Option{
		WithPolicy(w.policy), WithChecker(w.checker), WithTree(w.tree), WithRecorder(w.log),
		WithRun("R1", ralph.RunStarted{Ralph: "test"}),
	}, w.options...)
	loop, err := New(w.cfg, options...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.loop = loop
}

// stopAfter asks the run to end while it is under way.
func (w *world) stopAfter(d time.Duration, signals ...ralph.Signal) {
	w.make()
	time.AfterFunc(d, func() {
		for _, s := range signals {
			w.loop.Stop(s)
		}
	})
}

// ends runs the loop and compares how it ended.
func (w *world) ends(reason ralph.StopReason, agentRuns int) ralph.Result {
	w.t.Helper()
	result := w.run(w.t.Context())
	w.ended(result, reason, agentRuns)
	return result
}

func (w *world) ended(result ralph.Result, reason ralph.StopReason, agentRuns int) {
	w.t.Helper()
	if result.StopReason != reason || len(w.agent.inputs) != agentRuns {
		w.t.Fatalf("ended with %q (%s) after %d agents, want %q after %d", result.StopReason, result.Summary,
			len(w.agent.inputs), reason, agentRuns)
	}
	if want := ralph.ExitCode(reason, w.log.stopped().Signal); result.ExitCode != want && w.log.failAt == 0 {
		w.t.Fatalf("exit code %d, want %d", result.ExitCode, want)
	}
	if len(w.log.events) > 0 && w.log.events[0].Seq == 1 {
		mustReplay(w.t, w.log.events)
	}
}

func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// turn is what a fake agent does in one iteration.
type turn func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome

type fakeAgent struct {
	mu     sync.Mutex
	turns  []turn // the last one is repeated
	inputs []ralph.AgentInput
	starts []time.Time
	err    error
}

func (a *fakeAgent) Run(ctx context.Context, in ralph.AgentInput) (ralph.AgentOutcome, error) {
	a.mu.Lock()
	a.inputs, a.starts = append(a.inputs, in), append(a.starts, time.Now())
	play := a.turns[min(len(a.inputs), len(a.turns))-1]
	a.mu.Unlock()
	begun := time.Now()
	o := play(ctx, in)
	o.Duration = ralph.Span(time.Since(begun))
	return o, a.err
}

// runs is how many agents were started, asked while one may be at work.
func (a *fakeAgent) runs() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.inputs)
}

// gaps are the pauses between the starts of agents, their work left out.
func (a *fakeAgent) gaps() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(a.starts); i++ {
		gaps = append(gaps, a.starts[i].Sub(a.starts[i-1])-worked)
	}
	return gaps
}

// works passes time as an agent does: until it is done, its time is up, or it is killed.
func works(ctx context.Context, in ralph.AgentInput, o ralph.AgentOutcome) ralph.AgentOutcome {
	var timeout <-chan time.Time
	if in.Timeout > 0 {
		timeout = time.After(in.Timeout)
	}
	select {
	case <-ctx.Done():
		return ralph.AgentOutcome{End: ralph.EndInterrupted, Error: "killed"}
	case <-timeout:
		return ralph.AgentOutcome{End: ralph.EndTimeout, Error: "timed out", Said: o.Said}
	case <-time.After(worked):
		return o
	}
}

func says(said promise.Report) turn {
	said.Text = true
	return func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		return works(ctx, in, ralph.AgentOutcome{End: ralph.EndOK, OutputBytes: 100, Said: said})
	}
}

func ends(o ralph.AgentOutcome) turn {
	return func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome { return works(ctx, in, o) }
}

func nothing() turn { return says(promise.Report{}) }
func done() turn    { return says(promise.Report{Complete: true, CompleteTag: "COMPLETE"}) }

// then does something to the world at the end of a turn.
func (play turn) then(do func()) turn {
	return func(ctx context.Context, in ralph.AgentInput) ralph.AgentOutcome {
		o := play(ctx, in)
		do()
		return o
	}
}

// fakeChecker returns results by the number of the call; the last repeats, and without results the
// check fails.
type fakeChecker struct {
	results []ralph.CheckResult
	calls   int
	inputs  []ralph.CheckInput
	err     error
	before  func(ctx context.Context, call int)
}

func (c *fakeChecker) Check(ctx context.Context, in ralph.CheckInput) (ralph.CheckResult, error) {
	c.calls++
	c.inputs = append(c.inputs, in)
	if c.before != nil {
		c.before(ctx, c.calls)
	}
	if len(c.results) == 0 {
		return ralph.CheckResult{Name: in.Name, ExitCode: 1, Output: "FAIL"}, c.err
	}
	result := c.results[min(c.calls, len(c.results))-1]
	result.Name = in.Name
	return result, c.err
}

var (
	isGreen  = ralph.CheckResult{Passed: true}
	isRed    = ralph.CheckResult{ExitCode: 1, Output: "FAIL"}
	isBroken = ralph.CheckResult{Broken: true, ExitCode: 127, Output: "not found"}
)

// fakeTree gives another tree at every call, unless it is frozen.
type fakeTree struct {
	frozen  bool
	changes int
	inputs  []ralph.TreeInput
	err     error
}

func (f *fakeTree) Fingerprint(_ context.Context, in ralph.TreeInput) (ralph.TreeState, error) {
	f.inputs = append(f.inputs, in)
	if !f.frozen {
		f.changes++
	}
	return ralph.TreeState{Known: true, Head: "c0", Hash: string(rune('a' + f.changes))}, f.err
}

var errDisk = errors.New("no space left on device")

// memoryLog keeps events, and can fail at its k-th operation, once or from there on.
type memoryLog struct {
	mu       sync.Mutex
	events   []ralph.Event
	results  []ralph.Result
	synced   int // events that are durable
	ops      int
	failAt   int
	failed   func()
	onAppend func(ralph.Event)
}

func (m *memoryLog) op() error {
	m.ops++
	if m.failAt > 0 && m.ops == m.failAt {
		if m.failed != nil {
			m.failed()
		}
		return errDisk
	}
	return nil
}

func (m *memoryLog) Append(e ralph.Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.op(); err != nil {
		return err
	}
	m.events = append(m.events, e)
	if m.onAppend != nil {
		m.onAppend(e)
	}
	return nil
}

func (m *memoryLog) Sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.synced = len(m.events)
	return m.op()
}

// durable reports whether everything recorded is, and what was recorded last.
func (m *memoryLog) durable() (all bool, last ralph.EventType) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.synced == len(m.events), m.events[len(m.events)-1].Type
}

func (m *memoryLog) WriteResult(r ralph.Result) error {
	m.results = append(m.results, r)
	return m.op()
}

func (m *memoryLog) types() []ralph.EventType {
	var types []ralph.EventType
	for _, e := range m.events {
		types = append(types, e.Type)
	}
	return types
}

func (m *memoryLog) stopped() ralph.RunStopped {
	for _, e := range slices.Backward(m.events) {
		if data, ok := e.Data.(ralph.RunStopped); ok {
			return data
		}
	}
	return ralph.RunStopped{}
}

// payloads are the data of one type of the log, in order.
func payloads[T any](m *memoryLog) []T {
	var found []T
	for _, e := range m.events {
		if data, ok := e.Data.(T); ok {
			found = append(found, data)
		}
	}
	return found
}

func notices(m *memoryLog) []string {
	var codes []string
	for _, n := range payloads[ralph.Notice](m) {
		codes = append(codes, n.Code)
	}
	return codes
}

type fakeInbox func() (ralph.Orders, error)

func (f fakeInbox) Poll() (ralph.Orders, error) { return f() }

type promptFunc func(in ralph.PromptInput) (ralph.Prompt, error)

func (f promptFunc) Prompt(_ context.Context, in ralph.PromptInput) (ralph.Prompt, error) {
	return f(in)
}

// lenientPolicy is the default policy, except that claims need not be shown. Tests of that rule use the
// default.
func lenientPolicy() ralph.Policy {
	p := ralph.DefaultPolicy()
	p.Shown, p.TestChange = ralph.ShownOff, ralph.TestsWarn
	return p
}

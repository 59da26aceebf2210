package fold

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// histories returns how many random runs the property tests use.
func histories() int {
	if testing.Short() {
		return 1_000
	}
	return 10_000
}

// simulation is a random run in progress, seen both by the real fold and by the oracle.
type simulation struct {
	t         *testing.T
	seed      uint64
	state     State
	oracle    oracle
	log       []ralph.Event
	number    int
	clock     time.Time
	extraTime ralph.Span               // by waits that are not in the script
	stops     map[ralph.StopReason]int // how often each reason ended a run

	handOvers, returns int // to a later agent in the list, and back to an earlier one
	hookStops          int // runs ended by a hook
	shown              shownCounts
	script             script
	selected           []ralph.CheckResult // own checks of a task that ran since the last iteration
	answered           []string            // tasks whose questions were answered since the last iteration
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Helper()
	counts := shownCounts{proofs: map[ralph.ProofWord]int{}}
	return &simulation{t: t, seed: seed, stops: map[ralph.StopReason]int{}, shown: counts}
}

func (r *simulation) emit(kind ralph.EventType, data any) {
	r.t.Helper()
	r.clock = r.clock.Add(time.Second)
	e := ralph.Event{
		Version:   ralph.EventVersion,
		Seq:       r.state.Seq + 1,
		Time:      r.clock,
		Run:       "R",
		Iteration: r.number,
		Type:      kind,
		Data:      data,
	}
	if err := r.state.Apply(e); err != nil {
		r.t.Fatalf("seed %d: %v", r.seed, err)
	}
	r.log = append(r.log, e)
}

// play runs a script through the fold until a verdict ends it, and compares every verdict with the
// oracle's.
func (r *simulation) play(s script) {
	r.t.Helper()
	r.script = s
	r.oracle = oracle{policy: s.policy, base: s.base, baseline: s.baseline, list: s.list}
	r.emit(ralph.EvRunStarted, ralph.RunStarted{Agent: "fake", Checks: s.names, Policy: s.policy})
	if len(s.list) > 0 {
		r.emit(ralph.EvTaskSelected, ralph.TaskSelected{List: s.list})
	}
	r.takeBaseline(s)
	var ended *ending
	for _, st := range s.steps {
		if ended != nil {
			r.resume(ended.raised, ralph.RunResumed{})
			st.resumed, ended = true, nil
		}
		if st.cut == cutBetween {
			r.resume(st.raised, ralph.RunResumed{})
			st.resumed = true
			if r.number == 0 {
				r.takeBaseline(s)
			}
		}
		r.passTime(st.pause)
		if r.stopsBetween(iteration{at: ralph.Moment{Elapsed: r.state.Elapsed}, resumed: st.resumed}) {
			return
		}
		if st.hook != nil && r.stopsBetween(iteration{at: r.afterHook(*st.hook), resumed: st.resumed}) {
			if r.state.History.Moment.Blocked != "" && r.state.Verdict.Reason == ralph.Blocked {
				r.hookStops++
			}
			return
		}
		if r.iterate(st) {
			if r.accept(st.after) || !st.after.resumes || r.state.Verdict.Reason != ralph.Unconfirmed {
				return
			}
			ended = &st.after
		}
	}
}

func (r *simulation) takeBaseline(s script) {
	r.emit(ralph.EvTreeSnapshot, s.base)
	for _, c := range s.baseline {
		r.emit(ralph.EvCheckFinished, c)
	}
}

// afterHook returns the moment after a hook ran. Meanwhile the time may have run out, or the user
// may have interrupted the run.
func (r *simulation) afterHook(at ralph.Moment) ralph.Moment {
	at.Elapsed += r.state.Elapsed
	return at
}

func (r *simulation) resume(p ralph.Policy, data ralph.RunResumed) {
	data.Policy, data.Agent = p, "fake"
	r.oracle.policy = p
	r.emit(ralph.EvRunResumed, data)
}

// stopsBetween compares the verdicts between two iterations and reports whether they end the run.
func (r *simulation) stopsBetween(next iteration) bool {
	r.t.Helper()
	at, want := next.at, r.oracle.mayStart(next)
	got := judge.Decide(r.state.Policy, r.state.History.Judge(at))
	if got.Reason != want || (got.Action == ralph.Stop) != (want != "") {
		r.t.Fatalf("seed %d: before iteration %d: Decide says %s %s, the oracle %s",
			r.seed, r.number+1, got.Action, got.Reason, want)
	}
	if got.Action == ralph.Stop {
		r.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: got})
		r.compareProof(got)
		r.requireShown(got)
		r.stops[got.Reason]++
	}
	return got.Action == ralph.Stop
}

// iterate simulates one iteration and reports whether it ended the run.
func (r *simulation) iterate(st step) bool {
	r.t.Helper()
	r.number++
	st.at.Elapsed += r.extraTime
	st.Task = r.selectTask(st.resumed)
	st.agentIndex = r.startIteration(st.resumed)
	if st.cut == cutBeforeExit {
		r.record(iteration{
			Observation: judge.Observation{Task: st.Task, Agent: ralph.AgentOutcome{End: ralph.EndInterrupted}},
			agentIndex:  st.agentIndex,
			resumed:     st.resumed,
		})
		r.resume(st.raised, ralph.RunResumed{Interrupted: r.number})
		r.number++
		st.Task = r.selectTask(true)
		st.agentIndex = r.startIteration(true)
		st.resumed = true
	}
	r.emit(ralph.EvAgentExited, st.Agent)
	for _, id := range st.Listed {
		r.emit(ralph.EvSignal, ralph.SignalSeen{Kind: id + ":DONE", From: ralph.FromList})
	}
	if st.cut == cutAfterExit {
		r.emit(ralph.EvTreeSnapshot, ralph.TreeState{Known: true, Hash: "half gathered"})
		r.emit(ralph.EvCheckFinished, ralph.CheckResult{Name: "half gathered", Passed: true})
		before := r.state.Policy.Agents
		r.resume(st.raised, ralph.RunResumed{Judged: r.number})
		st.resumed = true
		if len(before) > 0 {
			if st.agentIndex = slices.Index(st.raised.Agents, before[st.agentIndex]); st.agentIndex < 0 {
				st.agentIndex = len(st.raised.Agents) // no longer an agent of this run
			}
		}
	}
	r.emit(ralph.EvTreeSnapshot, st.Tree)
	if len(r.oracle.list) > 0 {
		st.Checks = r.checksRun(st)
	}
	r.gatherEvidence(&st)
	r.record(st.iteration)
	return r.judge(st.at)
}

func (r *simulation) judge(at ralph.Moment) bool {
	r.t.Helper()
	history := r.state.History.Judge(at)
	got := judge.Decide(r.state.Policy, history)
	want := r.oracle.answer()
	if diff := cmp.Diff(want, answerOf(got), cmpopts.EquateEmpty()); diff != "" {
		r.t.Fatalf("seed %d, iteration %d: oracle (-) and Decide (+) disagree:\n%s\npolicy %+v\nnow %+v\nat %+v",
			r.seed, r.number, diff, r.state.Policy, r.oracle.now(), at)
	}
	history.NoteTasks(got.Tasks)
	if diff := cmp.Diff(r.oracle.tally(), countsOf(r.state.Policy, history)); diff != "" {
		r.t.Fatalf("seed %d, iteration %d: oracle (-) and fold (+) count differently:\n%s", r.seed, r.number, diff)
	}
	r.requireProof(got)
	before := statesOf(r.state.History.Tasks)
	r.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: got})
	r.compareTasks(before, got)
	r.compareShown(got)
	r.requireShown(got)
	if got.Action == ralph.Stop {
		r.stops[got.Reason]++
	}
	r.passTime(got.Wait)
	return got.Action == ralph.Stop
}

// requireProof checks exit 0 against the evidence itself.
func (r *simulation) requireProof(v ralph.Verdict) {
	r.t.Helper()
	if v.Action != ralph.Stop || ralph.ExitCode(v.Reason, v.Signal) != 0 {
		return
	}
	now, p := r.oracle.now(), r.state.Policy
	now.Checks = slices.DeleteFunc(slices.Clone(now.Checks), r.oracle.isIgnored)
	green, accepted := passesChecks(now), r.oracle.evaluatorAccepted()
	unverified := p.AllowUnverified && oneOf(v.Reason, ralph.Unverified, ralph.TasksDone)
	if len(r.oracle.list) > 0 {
		r.requireProvenList(v)
	}
	switch {
	case now.Agent.End.Failed():
		r.t.Fatalf("seed %d: exit 0 after an agent that ended with %s", r.seed, now.Agent.End)
	case len(r.oracle.list) == 0 && !v.Claimed && (p.Claim != ralph.ClaimOptional || !green):
		r.t.Fatalf("seed %d: exit 0 without a claim", r.seed)
	case len(now.Checks) > 0 && !green:
		r.t.Fatalf("seed %d: exit 0 beside a red check", r.seed)
	case len(now.Checks) == 0 && !accepted && !unverified:
		r.t.Fatalf("seed %d: exit 0 with %s and no check", r.seed, v.Reason)
	case len(r.oracle.now().Checks) == 0 && len(v.VerifiedBy) > 0 && !accepted:
		r.t.Fatalf("seed %d: verified by %v, and no check ran", r.seed, v.VerifiedBy)
	case now.Stale || len(now.Tampered) > 0 || len(r.oracle.proofRefusals(now.Checks)) > 0:
		r.t.Fatalf("seed %d: exit 0 on evidence that is none: %+v", r.seed, now)
	case p.Evaluator != "" && len(r.oracle.list) == 0 && !accepted:
		r.t.Fatalf("seed %d: exit 0 though the evaluator did not accept it", r.seed)
	case len(ralph.RefusalsOf(v.Gates)) > 0:
		r.t.Fatalf("seed %d: exit 0 through a shut gate: %v", r.seed, v.Gates)
	}
}

func answerOf(v ralph.Verdict) answer {
	a := answer{
		Row:      v.Row,
		Action:   v.Action,
		Reason:   v.Reason,
		Signal:   v.Signal,
		Wait:     v.WaitFor,
		Rests:    v.Cooldown != nil && v.Action != ralph.Stop,
		Claimed:  v.Claimed,
		Counted:  v.Counted,
		Progress: v.Progress,
		Breaker:  v.Breaker.State,
	}
	if v.WaitFor == ralph.WaitLimit {
		a.Length = v.Wait
	}
	for _, refusal := range v.Refusals() {
		a.Refusals = append(a.Refusals, refusal.Code)
	}
	return a
}

// tally has the fold's counts, for comparison.
type tally struct {
	Started, Counted                        int
	Cost                                    float64
	Tokens                                  int64
	AgentFailures, ProviderFailures, Broken int
	NoProgress, SameError, Denials          int
	LimitWaited                             ralph.Span // only with several agents
}

func countsOf(p ralph.Policy, h judge.History) tally {
	t := tally{
		h.Started, h.Counted, h.Cost, h.Tokens.Total(), h.AgentFailures, h.ProviderFailures, h.BrokenChecks,
		h.NoProgress, h.SameError, h.Denials, 0,
	}
	if len(p.Agents) > 1 {
		t.LimitWaited = h.LimitWaited
	}
	return t
}

// tally returns the oracle's counts before the last verdict takes effect.
func (o oracle) tally() tally {
	spent := o.spent()
	from := 0
	if last := len(o.iterations) - 1; last > 0 {
		from = o.upTo(last - 1).nextBreaker().from
	}
	if o.now().resumed {
		from = len(o.iterations) - 1
	}
	s := o.stalls(from)
	return tally{
		len(o.iterations), spent.iterations, spent.cost, spent.tokens,
		o.ownFailures(), o.providerFailures(), o.brokenChecks(),
		s.NoProgress, s.SameError, s.Denials, o.waitedForLimits(),
	}
}

func TestDecideAgreesWithAnOracleWrittenFromTheContract(t *testing.T) {
	stops := map[ralph.StopReason]int{}
	var shown shownCounts
	handOvers, returns, hooked := 0, 0, 0
	for seed := range uint64(histories()) {
		r := newSimulation(t, seed)
		r.stops = stops
		r.play(newDice(seed).script())
		handOvers, returns = handOvers+r.handOvers, returns+r.returns
		hooked += r.hookStops
		shown.add(r.shown)
	}
	shown.requireAll(t)
	if hooked == 0 {
		t.Error("no made-up run was ended by a hook")
	}
	if handOvers == 0 || returns == 0 {
		t.Errorf("%d times another agent took over, %d times one came back", handOvers, returns)
	}
	for _, reason := range reachable {
		if stops[reason] == 0 {
			t.Errorf("no made-up run ended with %s: the property was not tested there", reason)
		}
	}
	t.Logf("ends: %v; another agent took over %d times, one came back %d times", stops, handOvers, returns)
}

// reachable are the stop reasons that Decide can return in this version.
var reachable = []ralph.StopReason{
	ralph.Tampered,
	ralph.EvaluatorCap,
	ralph.EvaluatorAccepted,
	ralph.IterCap,
	ralph.NoCase,
	ralph.EmptyResponses,
	ralph.TasksDone,
	ralph.TaskTries,
	ralph.AllChecksPassed,
	ralph.Unverified,
	ralph.MaxIterations,
	ralph.Blocked,
	ralph.NeedsDecision,
	ralph.SandboxError,
	ralph.AuthError,
	ralph.ProgramMissing,
	ralph.Timeout,
	ralph.MaxCost,
	ralph.MaxTokens,
	ralph.CircuitOpen,
	ralph.RateLimited,
	ralph.AgentFailed,
	ralph.ProviderFailed,
	ralph.CheckBroken,
	ralph.Interrupted,
	ralph.Unconfirmed,
}

func TestReplayOfALogGivesTheSameStateAndVerdicts(t *testing.T) {
	for seed := range uint64(histories() / 10) {
		r := newSimulation(t, seed)
		r.play(newDice(seed).script())
		again := mustReplay(t, r.log)
		if diff := cmp.Diff(r.state, again, cmp.AllowUnexported(judge.History{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: live (-) and replayed (+) state differ:\n%s", seed, diff)
		}
	}
}

// mustReplay folds a log as read from disk and repeats every verdict.
func mustReplay(t *testing.T, log []ralph.Event) State {
	t.Helper()
	var again State
	for _, e := range log {
		e = eventViaJSON(t, e)
		if reached, ok := e.Data.(ralph.VerdictReached); ok {
			got := judge.Decide(viaJSON(t, again.Policy), viaJSON(t, again.History).Judge(reached.At))
			if recorded, repeated := asJSON(t, reached.Verdict), asJSON(t, got); recorded != repeated {
				t.Fatalf("event %d: recorded (-) and repeated (+) verdict differ:\n%s", e.Seq, cmp.Diff(reached.Verdict, got))
			}
		}
		if err := again.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	return again
}

// viaJSON returns a value as another program would read it.
func viaJSON[T any](t *testing.T, value T) T {
	t.Helper()
	var again T
	if err := json.Unmarshal([]byte(asJSON(t, value)), &again); err != nil {
		t.Fatal(err)
	}
	return again
}

func asJSON(t *testing.T, data any) string {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eventViaJSON writes an event as the log does and reads it back.
func eventViaJSON(t *testing.T, e ralph.Event) ralph.Event {
	t.Helper()
	var raw struct {
		ralph.Event
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal([]byte(asJSON(t, e)), &raw); err != nil {
		t.Fatal(err)
	}
	data, err := ralph.DecodePayload(e.Type, raw.Data)
	if err != nil {
		t.Fatal(err)
	}
	back := raw.Event
	back.Data = data
	return back
}

func TestIgnoredDataChangesNothing(t *testing.T) {
	for seed := range uint64(histories() / 10) {
		r := newSimulation(t, seed)
		r.play(newDice(seed).script())
		var whole, bare State
		for _, e := range r.log {
			if err := whole.Apply(e); err != nil {
				t.Fatal(err)
			}
			if bare.Ignores(e.Type) {
				e.Data = nil
			}
			if err := bare.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(whole, bare, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: with all data (-) and without what is ignored (+):\n%s", seed, diff)
		}
	}
}

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

// histories is how many made-up runs the property tests go through.
func histories() int {
	if testing.Short() {
		return 1_000
	}
	return 10_000
}

// enacted is a made-up run under way: the real fold on one side, the notebook of the oracle on the other.
type enacted struct {
	t      *testing.T
	seed   uint64
	state  State
	notes  notebook
	log    []ralph.Event
	number int
	clock  time.Time
	late   ralph.Span               // by waits that the script knows nothing of
	stops  map[ralph.StopReason]int // how often each end was met

	handOvers, returns int // to an agent further down, and back up
	hooked             int // ended by a hook
}

func (r *enacted) emit(kind ralph.EventType, data any) {
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

// play takes a script through the fold until a verdict ends it, and asks the oracle at every verdict.
func (r *enacted) play(s script) {
	r.t.Helper()
	r.notes = notebook{policy: s.policy, base: s.base, baseline: s.baseline, list: s.list}
	r.emit(ralph.EvRunStarted, ralph.RunStarted{Agent: "fake", Checks: s.names, Policy: s.policy})
	if len(s.list) > 0 {
		r.emit(ralph.EvTaskSelected, ralph.TaskSelected{List: s.list})
	}
	r.takeBaseline(s)
	for _, st := range s.steps {
		if st.cut == cutBetween {
			r.resume(st.raised, ralph.RunResumed{})
			st.resumed = true
			if r.number == 0 {
				r.takeBaseline(s)
			}
		}
		r.pass(st.pause)
		if r.mayNotStart(page{at: ralph.Moment{Elapsed: r.state.Elapsed}, resumed: st.resumed}) {
			return
		}
		if st.hook != nil && r.mayNotStart(page{at: r.asked(*st.hook), resumed: st.resumed}) {
			if r.state.History.Moment.Blocked != "" && r.state.Verdict.Reason == ralph.Blocked {
				r.hooked++
			}
			return
		}
		if r.iterate(st) {
			return
		}
	}
}

func (r *enacted) takeBaseline(s script) {
	r.emit(ralph.EvTreeSnapshot, s.base)
	for _, c := range s.baseline {
		r.emit(ralph.EvCheckFinished, c)
	}
}

// asked is the moment after a hook was asked: it may have taken longer than there was time, and somebody may have lost patience meanwhile.
func (r *enacted) asked(at ralph.Moment) ralph.Moment {
	at.Elapsed += r.state.Elapsed
	return at
}

func (r *enacted) resume(p ralph.Policy, data ralph.RunResumed) {
	data.Policy, data.Agent = p, "fake"
	r.notes.policy = p
	r.emit(ralph.EvRunResumed, data)
}

// mayNotStart compares what is said between two iterations.
func (r *enacted) mayNotStart(next page) bool {
	r.t.Helper()
	at, want := next.at, r.notes.mayStart(next)
	got := judge.Decide(r.state.Policy, r.state.History.Judge(at))
	if got.Reason != want || (got.Action == ralph.Stop) != (want != "") {
		r.t.Fatalf(
			"seed %d: before iteration %d: Decide says %s %s, the oracle %s",
			r.seed,
			r.number+1,
			got.Action,
			got.Reason,
			want,
		)
	}
	if got.Action == ralph.Stop {
		r.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: got})
		r.stops[got.Reason]++
	}
	return got.Action == ralph.Stop
}

// iterate enacts one iteration and reports whether it ended the run.
func (r *enacted) iterate(st step) bool {
	r.t.Helper()
	r.number++
	st.at.Elapsed += r.late
	st.Task = r.choose(st.resumed)
	st.who = r.takeTurn(st.resumed)
	if st.cut == cutBeforeExit {
		r.write(
			page{
				Observation: judge.Observation{Task: st.Task, Agent: ralph.AgentOutcome{End: ralph.EndInterrupted}},
				who:         st.who,
				resumed:     st.resumed,
			},
		)
		r.resume(st.raised, ralph.RunResumed{Interrupted: r.number})
		r.number++
		st.Task = r.choose(true)
		st.who = r.takeTurn(true)
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
			if st.who = slices.Index(st.raised.Agents, before[st.who]); st.who < 0 {
				st.who = len(st.raised.Agents) // nobody of this run any more
			}
		}
	}
	r.emit(ralph.EvTreeSnapshot, st.Tree)
	if len(r.notes.list) > 0 {
		st.Checks = r.measured(st)
	}
	r.gatherEvidence(&st)
	r.write(st.page)
	return r.judge(st.at)
}

func (r *enacted) judge(at ralph.Moment) bool {
	r.t.Helper()
	history := r.state.History.Judge(at)
	got := judge.Decide(r.state.Policy, history)
	want := r.notes.answer()
	if diff := cmp.Diff(want, answerOf(got), cmpopts.EquateEmpty()); diff != "" {
		r.t.Fatalf(
			"seed %d, iteration %d: oracle (-) and Decide (+) disagree:\n%s\npolicy %+v\nnow %+v\nat %+v",
			r.seed,
			r.number,
			diff,
			r.state.Policy,
			r.notes.now(),
			at,
		)
	}
	history.NoteTasks(got.Tasks)
	if diff := cmp.Diff(r.notes.counts(), countsOf(r.state.Policy, history)); diff != "" {
		r.t.Fatalf("seed %d, iteration %d: oracle (-) and fold (+) count differently:\n%s", r.seed, r.number, diff)
	}
	r.mustBeProven(got)
	before := statesOf(r.state.History.Tasks)
	r.emit(ralph.EvVerdict, ralph.VerdictReached{At: at, Verdict: got})
	r.mustStandAsTheOracleSays(before, got)
	if got.Action == ralph.Stop {
		r.stops[got.Reason]++
	}
	r.pass(got.Wait)
	return got.Action == ralph.Stop
}

// mustBeProven holds exit 0 against the evidence itself.
func (r *enacted) mustBeProven(v ralph.Verdict) {
	r.t.Helper()
	if v.Action != ralph.Stop || ralph.ExitCode(v.Reason, v.Signal) != 0 {
		return
	}
	now, p := r.notes.now(), r.state.Policy
	now.Checks = slices.DeleteFunc(slices.Clone(now.Checks), r.notes.harmless)
	green := greenPage(now)
	if len(r.notes.list) > 0 {
		r.mustHaveProvenTheList(v)
	}
	switch {
	case now.Agent.End != ralph.EndOK && now.Agent.End != ralph.EndEmpty:
		r.t.Fatalf("seed %d: exit 0 after an agent that ended with %s", r.seed, now.Agent.End)
	case len(r.notes.list) == 0 && !v.Claimed && (p.Claim != ralph.ClaimOptional || !green):
		r.t.Fatalf("seed %d: exit 0 without a claim", r.seed)
	case len(now.Checks) > 0 && !green:
		r.t.Fatalf("seed %d: exit 0 beside a red check", r.seed)
	case len(now.Checks) == 0 && !r.notes.accepted() && (!p.AllowUnverified || !oneOf(v.Reason, ralph.Unverified, ralph.TasksDone)):
		r.t.Fatalf("seed %d: exit 0 with %s and no check", r.seed, v.Reason)
	case len(r.notes.now().Checks) == 0 && len(v.VerifiedBy) > 0 && !r.notes.accepted():
		r.t.Fatalf("seed %d: verified by %v, and no check ran", r.seed, v.VerifiedBy)
	case now.Stale || len(now.Tampered) > 0 || len(r.notes.doubts(now.Checks)) > 0:
		r.t.Fatalf("seed %d: exit 0 on evidence that is none: %+v", r.seed, now)
	case p.Evaluator != "" && len(r.notes.list) == 0 && !r.notes.accepted():
		r.t.Fatalf("seed %d: exit 0 though the evaluator did not accept it", r.seed)
	case len(ralph.RefusalsOf(v.Gates)) > 0:
		r.t.Fatalf("seed %d: exit 0 through a shut gate: %v", r.seed, v.Gates)
	}
}

func answerOf(v ralph.Verdict) answer {
	a := answer{
		Row:    v.Row,
		Action: v.Action,
		Reason: v.Reason,
		Signal: v.Signal,
		Wait:   v.WaitFor,
		Rests: v.Cooldown != nil &&
			v.Action != ralph.Stop,
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

// tally is what the fold counts, for comparison.
type tally struct {
	Started, Counted                        int
	Cost                                    float64
	Tokens                                  int64
	AgentFailures, ProviderFailures, Broken int
	NoProgress, SameError, Denials          int
	LimitWaited                             ralph.Span // where several agents work
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

// counts are the oracle's numbers before the last page's verdict has had its consequences.
func (n notebook) counts() tally {
	spent := n.spent()
	from := 0
	if last := len(n.pages) - 1; last > 0 {
		from = n.upTo(last - 1).breaker().from
	}
	if n.now().resumed {
		from = len(n.pages) - 1
	}
	s := n.stalls(from)
	return tally{
		len(n.pages), spent.iterations, spent.cost, spent.tokens, n.ownFailures(), n.providerFailures(), n.brokenChecks(),
		s.NoProgress, s.SameError, s.Denials, n.slept(),
	}
}

func TestDecideAgreesWithAnOracleWrittenFromTheContract(t *testing.T) {
	stops := map[ralph.StopReason]int{}
	handOvers, returns, hooked := 0, 0, 0
	for seed := range uint64(histories()) {
		r := &enacted{t: t, seed: seed, stops: stops}
		r.play(newDice(seed).script())
		handOvers, returns = handOvers+r.handOvers, returns+r.returns
		hooked += r.hooked
	}
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

// reachable are the stop reasons that Decide can give in this version.
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
}

func TestReplayOfALogGivesTheSameStateAndVerdicts(t *testing.T) {
	for seed := range uint64(histories() / 10) {
		r := &enacted{t: t, seed: seed, stops: map[ralph.StopReason]int{}}
		r.play(newDice(seed).script())
		again := mustReplay(t, r.log)
		if diff := cmp.Diff(r.state, again, cmp.AllowUnexported(judge.History{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: live (-) and replayed (+) state differ:\n%s", seed, diff)
		}
	}
}

// mustReplay folds a log as it is read from disk, and asks for every verdict again.
func mustReplay(t *testing.T, log []ralph.Event) State {
	t.Helper()
	var again State
	for _, e := range log {
		e = throughJSON(t, e)
		if reached, ok := e.Data.(ralph.VerdictReached); ok {
			got := judge.Decide(againFromJSON(t, again.Policy), againFromJSON(t, again.History).Judge(reached.At))
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

// againFromJSON is a value as another program would read it.
func againFromJSON[T any](t *testing.T, value T) T {
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

// throughJSON writes an event as the log does and reads it back.
func throughJSON(t *testing.T, e ralph.Event) ralph.Event {
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
		r := &enacted{t: t, seed: seed, stops: map[ralph.StopReason]int{}}
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

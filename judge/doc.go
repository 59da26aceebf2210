// Package judge decides whether a run continues, waits or stops. [Decide] returns the verdict on an
// iteration. It is a pure function of a [ralph.Policy] and a [History], without a clock and without
// I/O. The live loop, a resumed run, `ralph explain`, `ralph replay` and your own program all get the
// same verdict from the same history.
//
// To find out why a run stopped, read decide.go from top to bottom. It is the verdict table of
// docs/contract.md, section 5, one rule per row. The other files:
//
//   - gates.go and gates_proof.go: the conditions between a claim and exit 0
//   - taskverdict.go and tasklist.go: the rules for the tasks of a list
//   - limits.go: time, money and waits
//   - breaker.go: detects a run that makes no progress
//   - fallback.go: chooses the agent that works next
//   - claim.go: the decisions inside an iteration, such as what is still worth checking, whether to ask
//     an evaluator again, and how to answer a submitted case
//   - goal.go and toolevidence.go: the verdict on a goal in a live session, by evidence from tool calls
//   - history.go, streaks.go and evidence.go: what is known about a run, and how it adds up
//
// A History can be built by hand or read from JSON. Its zero value is a run that has not started.
// [History.Judge] folds the observation of the current iteration into streaks and totals. The size of
// a History does not grow with the run.
package judge

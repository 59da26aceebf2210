// Package judge decides. [Decide] gives the verdict on an iteration: go on, wait, or stop with one reason. It is a
// pure function of a [ralph.Policy] and a [History], without a clock and without I/O, so the live loop, a resumed run,
// `ralph explain`, `ralph replay` and a program of yours all get the same verdict from the same history.
//
// To find out why a run stopped, read decide.go from top to bottom: it is the verdict table of docs/contract.md,
// section 5, one rule a row. gates.go and gates_proof.go are the conditions between a claim and exit 0, taskverdict.go
// has the rules about the tasks of a list, limits.go those about time and money, breaker.go notices a run that makes
// no progress, and fallback.go chooses the agent that works next. claim.go has the decisions inside an iteration: what
// is still worth checking, whether an evaluator is asked again, and how a submitted case is answered. Below them are
// history.go, what is known, and streaks.go, how it adds up.
//
// A History can be built by hand or read from JSON; its zero value is a run that has not started. [History.Judge]
// folds the observation of the current iteration into streaks and totals. Its size does not grow with the run.
package judge

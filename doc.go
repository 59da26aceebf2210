// Package ralph is the vocabulary of a program that runs a coding agent again and again, each time with a fresh
// context, until its work is proven done: what happens ([Event] and its payloads), how it can end ([StopReason] and
// its exit code), which rules hold ([Policy]), what is decided ([Verdict]), and the small interfaces that a loop
// consumes ([Agent], [Checker], [Tree], [Recorder] …).
//
// The program is read in this order:
//
//   - ralph: the words
//   - judge: why a run goes on, waits or stops; a pure function of a policy and a history
//   - fold: what is known of a run; a pure fold of its events
//   - loop: the driver, which builds prompts, runs agents and checks, and asks judge
//
// To run a loop in a program of your own, start with package loop.
package ralph

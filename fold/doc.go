// Package fold computes the state of a run from its events. [State.Apply] folds one event into the
// [State] and is the only way to change it: the live loop, a resumed run and every view fold the same
// events. [Replay] decides a run again from its events alone, perhaps under another policy.
// [State.Result] returns the result of the run. Like judge, the package has no clock and does no I/O.
package fold

// Package fold knows what happened. [State.Apply] folds the events of a run into its [State], the only way a state
// ever changes: the live loop, a resumed run and every view are folds of the same events. [Replay] decides a run
// again from its events alone, perhaps under another policy, and [State.Result] is the object that a run leaves
// behind. Like judge, the package has no clock and does no I/O.
package fold

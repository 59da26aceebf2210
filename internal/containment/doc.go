// Package containment knows the machine that package sandbox does not look at: which tiers work here,
// and what the wall around an agent has to contain.
//
// [Choose] finds the tier for a run. A [Room] is the wall of a run: it makes commands start behind it,
// and removes what it made when the run ends.
package containment

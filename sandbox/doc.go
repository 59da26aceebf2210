// Package sandbox turns a command into the command that starts it behind a wall.
//
// [Tier.Enclose] is a pure function: it reads no clock, no file and no variable. A [Wall] says what the
// command can reach, and each [Tier] expresses that in its own way. A tier hides, and shows, everything as
// the wall demands, or [Tier.Check] says what it cannot do: there is no best effort. Only [Landlock] is
// weaker in one respect: what can only be read, in a folder that can be changed, can be changed too.
//
// What a wall has to contain on a certain machine, for a certain agent, is the matter of
// internal/containment, and so is whether a tier works there.
package sandbox

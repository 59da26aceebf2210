// Package probe finds out whether an installed agent CLI behaves as its dialect believes.
//
// CLIs change under their users: an event gets another shape, a flag another meaning. The probe runs the CLI that is there, through the very code
// that a run uses ([agent.CLI]), against a scripted model on this machine. It costs no token, needs no network, and never sees the user's login: the
// CLI gets a home folder of its own, which is thrown away, and a key that is none.
//
// # Aspects
//
// [Run] gives a [Report] of four aspects, each of them ok, failed, or unknown:
//
//   - stream shape: its output is understood to the end, and its exit status agrees;
//   - tag round trip: a tag that the model says arrives as a claim, one that a tool prints does not, and the tokens arrive;
//   - permission flag: in edit mode it edits files, runs an allowed command and no other, and says which one it refused; with permissions bypassed
//     it runs any;
//   - session isolation: two runs have sessions of their own, nothing of the first reaches the model in the second, and what the user has set up for
//     the CLI to start by itself stays out unless the run is to inherit it.
//
// Failed means that something was seen that breaks a run. What was not seen is unknown, and the detail says why.
//
// # How it looks
//
// Three runs, one after the other: with permissions bypassed, in edit mode, and one that inherits the user's settings. The home folder holds a hook
// and an MCP server that leave a mark when they are started. The third run is for them alone: a mark that does not appear there either proves nothing
// by its absence from the first two.
//
// How a CLI is made to ask the local model is a table, one row a dialect. A CLI without a row cannot be probed.
//
// # What is kept
//
// A [Cache] keeps reports by program, version and [Revision], so that a CLI is probed once. A report that is not all ok is believed for a day; one of
// a probe that was cut short is not kept at all.
package probe

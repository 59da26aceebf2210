// Package probe finds out whether an installed agent CLI behaves as its dialect expects.
//
// CLIs change: an event gets another shape, a flag another meaning. The probe runs the installed
// CLI, through the same code that a run uses ([agent.CLI]), against a scripted model on this
// machine. It costs no tokens, needs no network, and never sees the user's login: the CLI gets its
// own temporary home folder and a fake key.
//
// # Aspects
//
// [Run] returns a [Report] of four aspects, each of them ok, failed, or unknown:
//
//   - stream shape: its output is understood to the end, and its exit status agrees;
//   - tag round trip: a tag that the model writes arrives as a claim, one that a tool prints does
//     not, and the tokens arrive;
//   - permission flag: in edit mode it edits files, runs an allowed command and no other, and
//     reports which one it refused; with permissions bypassed it runs any;
//   - session isolation: two runs have separate sessions, nothing of the first reaches the model in
//     the second, and what the user has configured the CLI to start stays out unless the run
//     inherits it.
//
// Failed means that the probe saw something that breaks a run. What it did not see is unknown, and
// the detail says why.
//
// # How it works
//
// Three runs, one after the other: with permissions bypassed, in edit mode, and one that inherits
// the user's settings. The home folder holds a hook and an MCP server that leave a mark when they
// are started. The third run is only for them: if a mark does not appear there either, its absence
// from the first two runs proves nothing.
//
// A table with one row per dialect says how a CLI is made to call the local model. A CLI without a
// row cannot be probed.
//
// # What is stored
//
// A [Cache] stores reports by program, version and [Revision], so that a CLI is probed once. A
// report that is not all ok is valid for a day. A report of an interrupted probe is not stored at
// all.
package probe

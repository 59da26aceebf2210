// Package verify runs checks: the commands that prove a claim, or fail to.
//
// # One check
//
// [Shell] runs a check as the user would type it: with `/bin/sh -c`, in the workspace, without a
// terminal and with empty stdin. A program that asks a question therefore fails instead of waiting.
// Standard output and standard error go into one file in the order of writing. The file keeps the
// beginning and the end of very long output. The result carries the last 2,000 characters as a
// person would see them on a screen. When Check returns, no process of the check is alive, whether
// it passed, failed, timed out or left a server behind.
//
// # Passes, fails, cannot run
//
// A check passes with status 0. It fails with any other status, by a signal, or by running out of
// time. It cannot run if the shell did not start, or if the status is 126 or 127 and the command's
// first word cannot be run here: it is no shell builtin, not on PATH and no path in the workspace.
// That is for the user to fix, not for the agent. Assignments, redirections, brackets and `!`
// before that word are skipped. If only the shell can know the word, as with `$(cat tool)`, the
// check counts as failed.
//
// A bare name is not a path: a shell does not look for `run-tests.sh` in the workspace, only for
// `./run-tests.sh`.
package verify

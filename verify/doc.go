// Package verify runs checks: the commands that prove a claim, or don't.
//
// # One check
//
// [Shell] runs a check as the user would type it, with `/bin/sh -c` in the workspace,
// without a terminal and with nothing on stdin, so that a program that wants to ask
// something fails instead of waiting. Standard output and standard error go into one
// file in the order of writing; it keeps the beginning and the end of a flood. The
// result carries the last 2,000 characters as a person would read them on a screen.
// When Check returns, no process of the check is alive, whether it passed, failed,
// timed out or left a server behind.
//
// # Passes, fails, cannot run
//
// A check passes with status 0. It fails with any other status, by a signal, or by
// running out of time. It cannot run, which is the user's business and not the
// agent's, if the shell did not start, or if the status is 126 or 127 and the
// command's first word is nothing that could be run here: no builtin of the shell, not
// on PATH, no path in the workspace. Assignments, redirections, brackets and `!`
// before that word are passed over. A word that only the shell can know, such as
// `$(cat tool)`, is given the benefit of the doubt: the check failed.
//
// A bare name is no path: a shell does not look for `run-tests.sh` in the workspace,
// only for `./run-tests.sh`.
package verify

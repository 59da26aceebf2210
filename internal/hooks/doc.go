// Package hooks decides about what the worker does: each tool call before it is made, edits after
// they were made, and the start and end of an iteration and of a run.
//
// # Order
//
// For each hook the built-in rules come first, then Go functions, then commands, each in order. The
// first hook that blocks decides, and no further hook is asked. A hook that warns changes nothing;
// its text is passed on. [Verdict.Runs] lists every hook that was asked, for the log.
//
// # Commands
//
// The system's shell runs a command in the workspace. It reads one JSON object: "hook" is the name
// of the hook, "run", "iteration", "task" and "dir" give the context, and the fields of the hook's
// own struct follow ([ToolCall], [Edit], [ralph.IterationAhead], [ralph.IterationJudged],
// [ralph.RunEnd]). Exit code 0 allows. Exit code 2 blocks; the reason is standard error, or else
// standard output. Anything else warns, because a broken hook must not stop the work. So does a
// hook that takes longer than [Set.Timeout].
//
// # The built-in rules
//
// [Deny] refuses shell commands that cannot be undone: pushes that overwrite or delete, git reset
// --hard, git clean -f, sudo, running programs directly from the network, fork bombs, rm -r of the
// root, the home folder or the workspace's own .git, and writing over disks. It parses commands
// like bash, so that quotes do not hide a program and a quoted sentence is not mistaken for one. It
// refuses what it cannot parse.
//
// It is a guard rail against accidents, not a wall: an agent that wants to get past it can write a
// script and run that. Use a sandbox for walls.
package hooks

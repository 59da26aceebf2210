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
// Package deny refuses shell commands that cannot be undone. If it cannot determine what a command
// does, commands and functions for pre_tool learn why ([ToolCall.Undetermined]) and decide; with
// [Set.Strict] the command is refused.
package hooks

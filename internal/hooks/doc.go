// Package hooks decides about what the worker does: each tool call before it is made, edits after they were made, and the beginning and the end of an
// iteration and of a run.
//
// # Who is asked
//
// For each hook the built-in rules come first, then Go functions, then commands, each in their order. The first that blocks decides, and nobody else is asked.
// A hook that warns changes nothing; its words are passed on. Every one that was asked is in [Verdict.Runs], for the log.
//
// # Commands
//
// A command is run by the system's shell in the workspace and reads one JSON object: "hook" is the name of the hook, "run", "iteration", "task" and "dir" say
// where things stand, and the fields of the hook's own struct follow ([ToolCall], [Edit], [ralph.IterationAhead], [ralph.IterationJudged], [ralph.RunEnd]). Exit
// code 0 allows, 2 blocks, with what stands on standard error, or else on standard output, as the reason. Anything else warns: a hook that is broken must not
// stop the work. So does one that takes longer than [Set.Timeout].
//
// # The built-in rules
//
// [Deny] keeps a shell command from what cannot be undone: pushes that overwrite or delete, git reset --hard, git clean -f, sudo, programs that are run while they are fetched, fork
// bombs, rm -r of the root, the home folder or the workspace's own .git, and writing over disks. It parses commands as bash does, so that quotes do not hide
// a program and a quoted sentence is none, and refuses what it cannot parse.
//
// It is a guard rail against accidents and no wall: whoever means to get past it writes a script and runs that. Walls are a sandbox's matter.
package hooks

// Package ralph runs a coding agent again and again, each time with a fresh context, until its work is proven done.
//
// The agent reports, the loop decides, and an outcome of COMPLETE means proven: a claim of the agent, and checks that the loop itself ran on the
// very tree that the claim was made for. Everything else that can happen has an outcome of its own, with an exit code that scripts can rely on.
//
// # A loop in a program
//
// A loop needs an [Agent], a goal, and something that can prove the goal met:
//
//	loop, err := ralph.New(ralph.Config{
//		Task:   "make the tests pass",
//		Agent:  ralph.AgentFunc(askMyModel),
//		Checks: []string{"tests"},
//	}, ralph.WithChecker(ralph.CheckFuncs{"tests": runTests}))
//	result, err := loop.Run(ctx)
//
// Package agent has agents that are command-line programs (Claude Code, Codex, any command), package verify runs checks that are shell commands,
// package gitrepo hashes the workspace so that the loop knows progress from idling, and package runlog keeps everything in a crash-safe log.
//
// # What happens in an iteration
//
// The loop builds a prompt from the goal and from what the iteration before left behind: checks that failed, and why its claim was refused. A
// fresh agent works until it ends. When no process of it is alive any more, the loop hashes the tree, runs the checks, and asks [Decide].
//
// [Decide] is a pure function of a [Policy] and a [History]. It has no clock and does no I/O, so the same verdict can be had again from a log:
// that is what [Replay] does.
//
// # Outcomes are values
//
// Run returns an error only if the run could not be begun. Whether it completed, was blocked, or ran into a limit is in the [Result]. Cancel
// the context to kill the agent and save the state; call [Loop.Stop] to end after the iteration under way.
//
// # Events
//
// Everything that happens is an [Event]. [State.Apply] folds events into what is known of a run; the running loop, a resumed one and every
// view are folds of the same events. Give a [Recorder] to keep them and [WithObserver] to watch them.
package ralph

// Package loop runs a coding agent again and again, each time with a fresh context, until its work
// is proven done.
//
// The agent reports and the loop decides. The outcome COMPLETE means proven: the agent made a
// claim, and the loop itself ran the checks on exactly the tree that the claim was made for. Every
// other way to end has its own outcome, with an exit code that scripts can rely on.
//
// # A loop in a program
//
// A loop needs an agent, a goal, and something that can prove the goal is met:
//
//	l, err := loop.New(loop.Config{
//		Task:   "make the tests pass",
//		Agent:  ralph.AgentFunc(askMyModel),
//		Checks: []string{"tests"},
//	}, loop.WithChecker(ralph.CheckFuncs{"tests": runTests}))
//	result, err := l.Run(ctx)
//
// Package agent provides agents that are command-line programs (Claude Code, Codex, any command).
// Package verify runs checks that are shell commands. Package gitrepo hashes the workspace so that
// the loop can tell progress from idling. Package runlog keeps everything in a crash-safe log.
//
// Options provide the parts of a loop: [WithChecker], [WithTree], [WithRecorder], [WithTasks],
// [WithEvaluator], [WithExaminer], [WithCommits], [WithWorktrees], [WithHooks], [WithPrompter],
// [WithInbox], [WithPolicy]. Watch it with [WithObserver] and [WithActivity]. [Loop.Preview] shows
// the first prompt, [Loop.Stop] ends a run after its current iteration, and [Loop.State] returns
// its state.
//
// # What happens in an iteration
//
// The loop builds a prompt from the goal and from the results of the previous iteration: which
// checks failed, and why its claim was refused. A fresh agent works until it ends. Once none of its
// processes is alive, the loop hashes the tree, runs the checks, and asks [judge.Decide].
//
// # Outcomes are values
//
// Run returns an error only if the run could not start. Whether it completed, was blocked, or
// reached a limit is in the [ralph.Result]. Cancel the context to kill the agent and save the
// state; call [Loop.Stop] to end after the current iteration.
//
// # Events
//
// Everything that happens is a [ralph.Event]. [fold.State.Apply] folds events into the state of a
// run. Pass a [ralph.Recorder] to keep them and [WithObserver] to watch them.
package loop

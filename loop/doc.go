// Package loop runs a coding agent again and again, each time with a fresh context, until its work is proven done.
//
// The agent reports, the loop decides, and an outcome of COMPLETE means proven: a claim of the agent, and checks that
// the loop itself ran on the very tree that the claim was made for. Everything else that can happen has an outcome of
// its own, with an exit code that scripts can rely on.
//
// # A loop in a program
//
// A loop needs an agent, a goal, and something that can prove the goal met:
//
//	l, err := loop.New(loop.Config{
//		Task:   "make the tests pass",
//		Agent:  ralph.AgentFunc(askMyModel),
//		Checks: []string{"tests"},
//	}, loop.WithChecker(ralph.CheckFuncs{"tests": runTests}))
//	result, err := l.Run(ctx)
//
// Package agent has agents that are command-line programs (Claude Code, Codex, any command), package verify runs
// checks that are shell commands, package gitrepo hashes the workspace so that the loop knows progress from idling,
// and package runlog keeps everything in a crash-safe log.
//
// What a loop is made of is given as options: [WithChecker], [WithTree], [WithRecorder], [WithTasks], [WithEvaluator],
// [WithExaminer], [WithCommits], [WithWorktrees], [WithHooks], [WithPrompter], [WithInbox], [WithPolicy]. Watch it with
// [WithObserver] and [WithActivity]. [Loop.Preview] shows the first prompt, [Loop.Stop] ends a run after its current
// iteration, and [Loop.State] is what is known of it.
//
// # What happens in an iteration
//
// The loop builds a prompt from the goal and from what the iteration before left behind: checks that failed, and why
// its claim was refused. A fresh agent works until it ends. When no process of it is alive any more, the loop hashes
// the tree, runs the checks, and asks [judge.Decide].
//
// # Outcomes are values
//
// Run returns an error only if the run could not start. Whether it completed, was blocked, or reached a limit is in
// the [ralph.Result]. Cancel the context to kill the agent and save the state; call [Loop.Stop] to end after the
// current iteration.
//
// # Events
//
// Everything that happens is a [ralph.Event]. [fold.State.Apply] folds events into what is known of a run. Give a
// [ralph.Recorder] to keep them and [WithObserver] to watch them.
package loop

// Package ralph holds the types of a program that runs a coding agent again and again, each time with
// a fresh context, until its work is proven done. To run a loop in your own program, start with
// package loop. Such a program needs only a few names from this package:
//
//   - An agent is an [Agent], or a function wrapped by [AgentFunc]. It gets an [AgentInput] and returns
//     an [AgentOutcome] with an [EndClass], [Tokens] and what it said.
//   - A [Checker], or functions in [CheckFuncs], run checks and return a [CheckResult].
//   - The workspace is a [Tree], whose fingerprint is a [TreeState]. A [Committer] commits it and
//     [Worktrees] makes a [Worktree] of it.
//   - A task list is [Tasks], each a [Task] with a [TaskStatus].
//   - An [Evaluator] gives a second opinion as an [Evaluation].
//   - A [Prompter] builds prompts from a [PromptInput]. [Hooks], or [HookFuncs], run before and after
//     an iteration and at the end of the run.
//   - Everything that happens is an [Event] with an [EventType]. A [Recorder] keeps events,
//     [DecodePayload] reads their data, and an [Inbox] passes on orders from other processes.
//   - Rules and limits are a [Policy]; [DefaultPolicy] returns the defaults. A decision is a [Verdict]
//     with an [Action], its [Gate]s and [Refusal]s.
//   - A run ends with a [Result]: a [Status], a [StopReason] and an [ExitCode]. [Outcomes] lists them
//     all. Cancel a run with [Killed] and a [Signal] as the cause. [Span] is a time in seconds,
//     [NewRunID] names a run, and [ErrIO] marks storage that cannot be written.
//
// Read the program in this order: ralph has the types; judge decides whether a run continues, waits or
// stops; fold computes the state of a run from its events; loop drives the run.
package ralph

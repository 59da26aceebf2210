// Package ralph is the vocabulary of a program that runs a coding agent again and again, each time with a fresh
// context, until its work is proven done. To run a loop in a program of your own, start with package loop; the names
// that such a program needs of this package are few:
//
//   - An agent is an [Agent], or a function made one by [AgentFunc]. It gets an [AgentInput] and returns an
//     [AgentOutcome] with an [EndClass], [Tokens] and what it said.
//   - Checks are run by a [Checker], or by functions in [CheckFuncs], and give a [CheckResult].
//   - The workspace is a [Tree], whose fingerprint is a [TreeState]. A [Committer] commits it, [Worktrees] makes
//     a [Worktree] of it.
//   - A task list is [Tasks], each a [Task] with a [TaskStatus].
//   - A second opinion comes from an [Evaluator] as an [Evaluation].
//   - Prompts are built by a [Prompter] from a [PromptInput]. [Hooks], or [HookFuncs], are asked at the edges of an
//     iteration.
//   - Everything that happens is an [Event] with an [EventType]; a [Recorder] keeps events, [DecodePayload] reads
//     their data, and a [Inbox] brings orders from outside.
//   - Rules and limits are a [Policy]; [DefaultPolicy] has the defaults. What is decided is a [Verdict] with an
//     [Action], its [Gate]s and [Refusal]s.
//   - A run ends with a [Result]: a [Status], a [StopReason] and an [ExitCode]. [Outcomes] lists them all, and
//     [Killed] with a [Signal] is the cause to cancel a run with. [Span] is a time in seconds, [NewRunID] names a run,
//     and [ErrIO] marks storage that cannot be written.
//
// The program is read in this order: ralph, the words; judge, which decides why a run goes on, waits or stops; fold,
// which knows what happened; loop, which drives.
package ralph

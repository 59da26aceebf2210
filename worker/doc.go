// Package worker is Ralph's own agent: a loop of model calls and tool calls inside this process. It
// implements [ralph.Agent] and [ralph.Submitter].
//
//	w := worker.New(worker.Options{Client: client, Model: "claude-sonnet-4-5", Env: env, KeyEnv: "ANTHROPIC_API_KEY"})
//	loop, err := loop.New(loop.Config{Agent: w, …})
//
// # One Run
//
// A Run is one task in one fresh context. Nothing of it is kept for the next Run except the files.
// The first message is the iteration's prompt. The worker runs the model's tool calls until the
// model submits a case that the loop accepts, or until one of these:
//
//   - the answer to a case says that the iteration is over;
//   - the worker is out of turns (iter_cap), replies three times in a row without a call (no_case),
//     or gets three empty replies in a row from the model (empty_responses):
//     [ralph.AgentOutcome.TaskEnd];
//   - it reports that it needs a person;
//   - the loop allows no further turn, the time is up, the run is interrupted, or the model is
//     unavailable: [ralph.EndClass] says which.
//
// # What counts as a turn
//
// A reply of the model is a turn: with calls, with a case, or with text only. Running tools and
// hooks, the checks, the reviewer and the call that may propose a learning do not count. A refused
// case costs only the turns it takes to fix it. After an empty reply the worker asks again after a
// pause, which costs no turn. Neither do provider faults, which [model.Retrier] waits for.
//
// The iteration's timeout ends tools and model calls, but not a check that a case has started. The
// client handles a silent stream, because it can tell silence from a model that is thinking.
//
// # What a model can do wrong
//
// Calls to unknown tools, input that is not JSON or does not match the tool, a thousand calls at
// once: the worker answers each with a sentence about the problem and continues. Calls run one
// after the other, in order. A case comes last in its turn.
//
// # The window
//
// A conversation that approaches the end of the model's window loses its oldest tool results, many
// at once, so that the provider's cache is seldom invalidated. The prompt, everything that the
// model said, the results of its cases, and the newest messages stay.
//
// # Reviewers
//
// [Reviewer] is the same loop with read-only tools. It ends with a verdict instead of a case, for
// internal/proof/evaluate.
package worker

// Package worker is an agent of our own: a loop of model calls and tool calls inside of this process. It implements [ralph.Agent] and [ralph.Submitter].
//
//	w := worker.New(worker.Options{Client: client, Model: "claude-sonnet-4-5", Env: env, KeyEnv: "ANTHROPIC_API_KEY"})
//	loop, err := loop.New(loop.Config{Agent: w, …})
//
// # One Run
//
// A Run is one task in one fresh context, and nothing of it is kept for the next: what lasts is in the files. The first message is the iteration's prompt. The
// model's tool calls are run and answered until it submits a case that the loop accepts, or until one of these:
//
//   - a case is answered with the word that it is over;
//   - its turns are used up (iter_cap), it goes quiet three times in a row (no_case), or nothing at all comes from the model three times in a row
//     (empty_responses): [ralph.AgentOutcome.TaskEnd];
//   - it reports that it needs a person;
//   - the loop allows no other turn, the time is up, the run is interrupted, or the model cannot be had: [ralph.EndClass] says which.
//
// # What counts as a turn
//
// A reply of the model is a turn: with calls, with a case, or with nothing but words. Running tools and hooks, the checks, the reviewer and the call that
// may propose a learning are none; that a case was refused costs the turns that it takes to mend it. A reply in which nothing came is asked for
// again after a pause and costs no turn, and so are faults of the provider, which [model.Retrier] waits for.
//
// The iteration's time-out ends tools and model calls, but no check that a case has begun. Silence of a stream is the client's matter, which knows it from
// a model that thinks.
//
// # What a model can do wrong
//
// Calls of tools that are not there, input that is no JSON or not what the tool asks for, a thousand calls at once: each is answered, with a sentence
// about what was wrong, and the loop goes on. Calls are run one after the other, in their order. A case comes last in its turn.
//
// # The window
//
// A conversation that comes near the end of the model's window loses its oldest tool results, many at once, so that what a provider caches of it is
// seldom lost. What stays is the prompt, everything that the model said, what became of its cases, and the newest messages.
//
// # Reviewers
//
// [Reviewer] is the same loop with tools that only read. It ends with a verdict instead of a case, for verify/evaluate.
package worker

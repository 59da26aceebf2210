// Package agent runs agent CLIs: it starts one, gives it the prompt, reads its output while it
// works, and reports how it ended, what it said and what it cost.
//
// # Dialects
//
// Each CLI has its own command line and its own output format. A [Dialect] knows both, and is one
// file (with the reader of its stream beside it):
//
//   - claude, codex, gemini, opencode, qwen, copilot, cursor, amp, goose: CLIs that print one JSON
//     event per line, each with its own events;
//   - aider: a CLI that prints text;
//   - acp: any agent that speaks the Agent Client Protocol, a conversation handled by package acp;
//   - command: any shell command that prints text.
//
// Everything else known about a CLI (its login, its variables, what it meters, and how that was
// verified) is its [About].
//
// [New] makes a [CLI] from a dialect and [Options]; it is a ralph.Agent. [Detect] finds the first
// known CLI that is installed.
//
// # The agent's own text
//
// Only text that the agent itself wrote reaches the promise scanner, message by message: not tool
// output, files, thinking or sub-agents, and not what a CLI says in the agent's name when the model
// cannot be reached. The text of a plain command is its standard output; then the scanner gets the
// prompt, so that an echo of it does not count.
//
// # How it ended
//
// An exit status of 0 is not success. A CLI with a structured stream succeeded if its closing event
// is there, reports success, and the exit status agrees. Text never decides: neither the agent's,
// nor that on standard error, whose last line is merely quoted when nothing else is known. The text
// of an error event is read if the event has no code, unless it is a copy of the agent's text. Some
// CLIs report a missing login only on standard error. If such a CLI failed and not one event was
// understood, the first line there is the CLI's own text, and a dialect may recognize it by its
// beginning.
//
// An exit status that stands for a signal, without a closing event, means that something else
// killed the agent.
//
// A refused login ends the agent as soon as the CLI says that it will retry: it would only fail
// again, minutes later. An agent whose closing event was seen but that does not exit is ended after
// [Options.Linger], and counts as successful. An agent with processes that could not be killed does
// not.
//
// The cost is also in the closing event. Without one the tokens are those of its messages, which is
// less than was spent, or unknown. If a CLI reports tokens and model but no cost, the cost is
// estimated from the list price and marked as such.
//
// # Readers
//
// With [PermitReading] an agent may read files and nothing else: it is asked for its opinion, not
// for work. How far a CLI can enforce that is its [About.ReadMode]. Instructions that a CLI would
// read from the repository are excluded if possible. The last message of such an agent is kept as
// the outcome's Answer. [Options.Enter] can make any agent run elsewhere than in the plain
// workspace.
//
// # Files left behind
//
// In the iteration's folder: prompt.md (which is also the agent's standard input), agent.jsonl (its
// raw standard output, with the middle cut out beyond [Options.OutputLimit]) and agent.stderr.
// Memory does not grow with the output.
package agent

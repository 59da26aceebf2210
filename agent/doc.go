// Package agent runs agent CLIs: it starts one, hands it the prompt, reads what it prints while it works, and says afterwards how it ended, what
// it said and what it cost.
//
// # Dialects
//
// Each CLI has its own command line and its own way to talk. A [Dialect] knows both, and is one file (with the reader of its stream beside it):
//
//   - claude, codex, gemini, opencode, qwen, copilot, cursor, amp, goose: CLIs that print one JSON event a line, each with events of its own;
//   - aider: a CLI that prints text;
//   - acp: any agent that speaks the Agent Client Protocol, which is talked to instead of called, by package acp;
//   - command: any shell command that prints text.
//
// What is known of a CLI besides (its login, its own variables, what it meters, how all that is known) is its [About].
//
// [New] makes a [CLI] of a dialect and [Options]; it is a ralph.Agent. [Detect] finds the first known CLI that is installed.
//
// # The agent's own words
//
// Only text that the agent itself wrote reaches the promise scanner, message by message: not what tools printed, not files, not thinking, not
// sub-agents, and not what a CLI says in the agent's name when the model cannot be reached. A plain command's words are its standard output; the
// scanner is then given the prompt, so that an echo of it does not count.
//
// # How it ended
//
// An exit status of 0 is not success. A CLI with a structured stream ended well if its closing event is there, says so, and the exit status
// agrees. Words never decide: not those of the agent, and not those on standard error, whose last line is merely quoted when nothing else is
// known. Words inside an error event are read where the event has no code for what it means, unless they are a copy of
// the agent's. And there are CLIs that tell a missing login nowhere but on standard error: where one ended with an error and not one event was
// understood, the first line there is the CLI's own text and no agent's, and a dialect may know it by its beginning.
//
// An exit status that stands for a signal, without a closing event, is the end of an agent that somebody else killed.
//
// A login that is refused ends the agent at once, as soon as the CLI says that it will try again: it would only fail again, minutes later. An
// agent whose closing event was seen but that does not exit is ended after [Options.Linger], and has ended well. One of which processes could not be killed has not.
//
// What it cost is in the closing event, too. Without one the tokens are what its messages tell, which is less than was spent, or unknown. Where a CLI
// tells tokens and model but no cost, it is reckoned from the list price and marked estimated.
//
// # Readers
//
// With [PermitReading] an agent may look at files and nothing else: it is asked for its opinion, not for work. How far a CLI can be held to that is its
// [About.ReadMode]; what a repository could tell the CLI of its own accord is kept out where there is a way. Of such an agent the last message is kept, as
// the outcome's Answer. [Options.Enter] can have any agent run somewhere else than in the plain workspace.
//
// # What is left behind
//
// In the iteration's folder: prompt.md (which is also the agent's standard input), agent.jsonl (its standard output as it came, middle cut out
// past [Options.OutputCap]) and agent.stderr. Memory does not grow with the output.
package agent

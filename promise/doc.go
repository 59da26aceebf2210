// Package promise reads what an agent says about its own work: promise tags and status blocks,
// found in text that the agent itself wrote. It is the only parser of these. All it yields is
// claims; other packages prove whether they hold.
//
//	s := promise.NewScanner(promise.Options{})
//	io.Copy(s, agentOutput) // in pieces of any size; EndMessage between messages
//	report := s.Report()
//
// # Tags
//
// A tag is <promise>TYPE:content</promise>. TYPE is COMPLETE or DONE (or the configured completion
// tags), BLOCKED, DECIDE, UNTESTABLE, or a task's id with the content DONE. TYPE may be in any case.
// White space around TYPE and content is ignored, and inside the content it becomes one space.
//
// Models talk about tags as often as they print them, so a tag counts only where it looks like a
// report:
//
//   - it has no letter or digit before it on its line, or none after it;
//   - it is not in a quoted line, directly inside quotation marks, or after a backslash;
//   - it is not in a code span or fence that holds anything other than tags and white space;
//   - the clause around it does not talk about it: no "not", "once", "if", "will" and the like,
//     and no question mark. Negations are fine for BLOCKED and DECIDE, since "I cannot go on"
//     naturally precedes them.
//
// A tag that fails one of these rules is a mention, which is recorded so that Ralph can tell the
// agent. In a quoted line or a fence it is ignored.
//
// A tag ends at the first </promise> and begins at the last <promise> before it. One that is never
// closed is text, and so is everything after it. A tag that begins in a fence must end in it, and
// one in a quoted line must end on that line.
//
// # Status block
//
// The lines from ---RALPH_STATUS--- to ---END_RALPH_STATUS--- hold seven fields, each once. The
// last complete valid block counts. A tag inside a valid block is part of a field's value and
// counts for nothing. A block that has no end line, or has any error, is ordinary text.
//
// Completion phrases are counted beside the block: whole words in the agent's text. One that the
// agent denies, limits, asks or quotes does not count: "not all done", "all done once it passes", "all
// done except one test", "all done?". Its own words ("no remaining work") deny nothing.
//
// # Learnings
//
// A line that begins with LEARNING and a colon passes one line of text on to later iterations. List
// markers and bold type around the word are allowed. In a quoted line or a fence it is ignored.
//
// # Text
//
// Terminal sequences, carriage returns and malformed UTF-8 are handled first. A plain command may
// echo its prompt: with Options.Prompt set, two or more consecutive lines that are also consecutive
// in the prompt are dropped as if they had not been printed. Thoughts that a model writes into its
// text (<think>…</think>, <thinking>…</thinking>) are dropped too, and so is everything in a message before
// a closing tag that has no opening one.
//
// [OneLine] makes such text safe to show or quote.
//
// # How it works
//
// Bytes run through a chain of stages: terminalCleaner, echoFilter (only with a prompt),
// thinkingFilter, tagFinder, lineReader. Each stage passes on as much as it can and holds back as little as
// it must. A line is judged when it ends. All limits count characters of cleaned text, never writes, so the report
// does not depend on how the text was cut into pieces.
package promise

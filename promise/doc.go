// Package promise reads what an agent said about its own work: promise tags and status blocks, from text that the agent itself wrote. It is the only parser of
// these, and all it yields is claims; whether they hold is for others to prove.
//
//	s := promise.NewScanner(promise.Options{})
//	io.Copy(s, agentsWords) // in pieces of any size; EndMessage between messages
//	report := s.Report()
//
// # Tags
//
// A tag is <promise>TYPE:content</promise>. TYPE is COMPLETE or DONE (or the configured completion tags), BLOCKED, DECIDE, or a task's id with the content
// DONE; it may be written in any case. Blanks and line breaks around TYPE and content are ignored, and inside the content they become one blank.
//
// Models talk about tags as readily as they print them, so a tag counts only where it looks like a report:
//
//   - no letter or digit stands before it on its line, or none after it;
//   - it is not in a quoted line, nor directly inside quotation marks, nor behind a backslash;
//   - it is not in a code span or fence that holds anything beside tags and blanks;
//   - the clause around it does not talk about it: no "not", "once", "if", "will" and the like, and no question mark. For BLOCKED and DECIDE the negations are
//     fine, since "I cannot go on" leads into them.
//
// A tag that fails one of these is a mention, which is recorded so that the agent can be told; in a quoted line or a fence it is nothing at all.
//
// A tag ends at the first </promise> and begins at the last <promise> before it. One that is never closed is text, with everything behind it. A tag that
// begins in a fence ends in it, and one in a quoted line ends on that line.
//
// # Status block
//
// The lines from ---RALPH_STATUS--- to ---END_RALPH_STATUS--- hold seven fields, each once. The last whole valid block counts. A tag inside a valid block is
// part of a field's value and counts for nothing; without its end, or with anything wrong in it, a block is text like any other.
//
// # Learnings
//
// A line that begins with LEARNING and a colon hands one line of text on to later iterations. List markers and bold type around the word do no harm. In a
// quoted line or a fence it is nothing.
//
// # Text
//
// Terminal sequences, carriage returns and malformed UTF-8 are dealt with before anything else. A plain command may echo its prompt: with Options.Prompt set,
// two or more lines in a row that stand in a row in the prompt are left out as if they had not been printed.
//
// [OneLine] is for showing or quoting something of the kind.
//
// # How it works
//
// Bytes run through a chain of stages, each of which passes on as much as it can and holds back as little as it must: terminalCleaner, echoFilter (only with
// a prompt), tagFinder, lineReader. A line is judged when it ends. All limits are counted in characters of cleaned text, never in writes, so the report does
// not depend on how the text was cut into pieces.
package promise

// Package report makes a document of a run, from its events alone: what was proven, by which commands, on which files, what the agent claimed and
// what the harness saw, what it cost, and whether the log is still the one that was written.
//
// A [Builder] is shown every event in order, as [fold.State.Apply] is. [Builder.Report] then gives a [Report], a plain value whose JSON form is
// documented field by field; [Report.Markdown] writes it for people.
//
// Much of a log was written by agents and by the commands that they wrote. None of it is trusted: control characters and invisible ones are gone
// from every text of a Report, and the Markdown escapes what could be markup, so that a table stays a table and nobody is linked to or mentioned.
// Output of commands is never quoted, only hashed. Of hidden checks there is a number and how they fared.
package report

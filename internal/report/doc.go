// Package report makes a document of a run from its events alone. It says what was proven, by
// which commands and on which files. It compares the agent's claims with what Ralph saw. It lists
// costs, and says whether the log was changed after it was written.
//
// A [Builder] sees every event in order, like [fold.State.Apply]. [Builder.Report] then returns a
// [Report], a plain value whose JSON form is documented field by field. [Report.Markdown] writes
// it for people.
//
// Agents, and commands that they wrote, produced much of the text in a log. The report trusts none
// of it. It removes control characters and invisible characters from every text. The Markdown
// escapes everything that could be markup: a table stays a table, and no text becomes a link or a
// mention. The report never quotes the output of commands, only its hash. Of hidden checks it
// shows only numbers and results.
package report

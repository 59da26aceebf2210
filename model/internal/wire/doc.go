// Package wire is what the clients of models have in common, whatever they speak: how long they wait, how much they take, what a failure means, and what may be
// sent back.
//
// A [Line] guards one exchange. [Line.Post] sends a request and gives what answers it, bounded; an error status or a page is a [Refusal] with the body as it came.
// [Read] reads the stream's events. [Line.Watch] ends an exchange in which nothing happens. [Line.Fault] makes a [*model.Fault] of whatever went wrong, by the table
// of docs/decisions/0006-worker.md.
package wire

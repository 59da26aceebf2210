// Package wire is what the clients of models have in common, whatever they speak: how long they wait, how much they take, what a failure means, and what may be
// sent back.
//
// A [Line] guards one exchange. [Line.Guard] stands between an SDK and its HTTP client: an error status becomes a [Refusal] with the body as it came, since the SDKs
// lose bodies that are not of their own shape, and a good body is bounded. [Line.Watch] ends an exchange in which nothing happens. [Line.Fault] makes a
// [*model.Fault] of whatever went wrong, by the table of docs/decisions/0006-worker.md.
package wire

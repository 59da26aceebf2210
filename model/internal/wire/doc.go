// Package wire is the code that the clients of models share, whatever API they use: timeouts, size
// limits, the meaning of failures, and what may be sent back.
//
// An [Endpoint] handles one exchange. [Endpoint.Post] sends a request and returns the bounded
// response; an error status or a web page is a [Refusal] with its body. [Events] reads the events
// of the stream. [Endpoint.Watch] ends an exchange that makes no progress. [Endpoint.Fault] turns
// any failure into a [*model.Fault], by the table in docs/decisions/0006-worker.md.
package wire

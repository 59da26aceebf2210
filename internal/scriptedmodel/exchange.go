package scriptedmodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// exchange is one request to a model and its answer.
type exchange struct {
	server   *Server
	progress *progress
	wire     wire
	ask      ask
	entry    Request
	to       http.ResponseWriter
	request  *http.Request
	step     step
}

// serve chooses the answer to the request and sends it.
func (x *exchange) serve() {
	x.step = x.progress.next(x.wire.name()+" "+x.request.UserAgent(), x.ask)
	status := x.fillEntry()
	x.server.note(x.entry, status)
	fault := x.step.fault
	if fault == nil {
		x.answer()
		return
	}
	switch {
	case fault.Do == FaultHang:
		x.wait()
	case fault.Do == FaultDrop:
		panic(http.ErrAbortHandler)
	case fault.Do == FaultStatus, fault.Do == FaultErrorEvent && !x.ask.streaming: // without a stream there are no events
		x.refuse(fault)
	default:
		x.answerBadly(fault)
	}
}

// refuse sends an error status with its body.
func (x *exchange) refuse(fault *Fault) {
	t := x.trouble(fault)
	for name, values := range t.headers() {
		x.to.Header()[name] = values
	}
	x.setRequestID()
	writeJSON(x.to, t.Status, x.wire.failure(t))
}

// fillEntry fills in the log entry, and returns the status that is about to be sent.
func (x *exchange) fillEntry() int {
	e := &x.entry
	e.Wire, e.Model, e.Stream, e.Side = x.wire.name(), x.ask.model, x.ask.streaming, x.step.side
	if !x.step.side {
		e.Agent, e.Turn = x.step.agent+1, x.step.place.turn+1
	}
	for _, o := range x.ask.tools {
		e.Tools = append(e.Tools, o.name)
	}
	if x.step.fault == nil {
		return http.StatusOK
	}
	e.Fault = x.step.fault.Do
	switch {
	case e.Fault == FaultHang, e.Fault == FaultDrop:
		return 0
	case e.Fault == FaultStatus, e.Fault == FaultErrorEvent && !e.Stream:
		return x.trouble(x.step.fault).Status
	}
	return http.StatusOK
}

// setRequestID sends the request's ID, which clients include in their error messages.
func (x *exchange) setRequestID() {
	x.to.Header().Set("Request-Id", x.id())
	x.to.Header().Set("X-Request-Id", x.id())
}

func (x *exchange) id() string { return fmt.Sprintf("req_%d", x.step.serial) }

func (x *exchange) compose() answer {
	prefix := "call"
	if x.wire.name() == "anthropic" {
		prefix = "toolu"
	}
	calls, missing := x.step.calls(prefix, x.ask)
	a := answer{ask: x.ask, turn: x.step.turn, usage: DefaultUsage, calls: calls, now: time.Now()}
	a.turn.Text = x.step.turn.filled(x.entry.Body)
	a.id = fmt.Sprintf("%s%d", strconv.FormatInt(a.now.UnixNano(), 36), x.step.serial)
	if missing != "" {
		a.turn.Text = strings.TrimSpace(a.turn.Text + "\n\n" + missing)
	}
	if x.step.turn.Usage != nil {
		a.usage = *x.step.turn.Usage
	}
	return a
}

func (x *exchange) answer() {
	a := x.compose()
	x.setRequestID()
	if !x.ask.streaming {
		x.progress.answered(x.step)
		writeJSON(x.to, http.StatusOK, x.wire.whole(a))
		return
	}
	frames := x.frames(a)
	last := len(frames) - 1
	if x.send(frames[:last]) {
		x.progress.answered(x.step)
		x.send(frames[last:])
	}
}

// frames returns the pieces of a stream. The pieces of an array have commas between them and
// brackets around them.
func (x *exchange) frames(a answer) []string {
	var pieces []string
	for _, f := range x.wire.stream(a) {
		pieces = append(pieces, x.piece(f, len(pieces) == 0))
	}
	if x.ask.asArray {
		pieces[len(pieces)-1] += "]"
	}
	return pieces
}

func (x *exchange) piece(f frame, first bool) string {
	switch {
	case !x.ask.asArray:
		return f.String()
	case first:
		return "[" + f.data
	}
	return ",\n" + f.data
}

// answerBadly starts the answer, and then stalls, breaks off, or sends an error.
func (x *exchange) answerBadly(fault *Fault) {
	if len(x.step.turn.Text)+len(x.step.turn.Tools) == 0 {
		x.step.turn.Text = "This answer does not come to its end."
	}
	a := x.compose()
	x.setRequestID()
	var pieces []string
	if x.ask.streaming {
		pieces = x.frames(a)
	} else {
		whole, _ := json.Marshal(x.wire.whole(a)) // as mustJSON
		x.to.Header().Set("Content-Type", "application/json")
		x.to.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		pieces = []string{string(whole[:len(whole)/2]), string(whole[len(whole)/2:])}
	}
	half := max(len(pieces)/2, 1)
	if !x.send(pieces[:half]) {
		return
	}
	switch fault.Do {
	case FaultStall:
		x.wait()
	case FaultPing:
		x.keepAlive()
	case FaultCut:
		panic(http.ErrAbortHandler)
	case FaultEnd:
	case FaultGarble:
		x.send([]string{x.piece(frame{data: `{"type": "oops`}, false), "\n\n"})
	default:
		for _, f := range x.wire.failureFrames(x.trouble(fault), half) {
			x.send([]string{x.piece(f, false)})
		}
	}
}

func (x *exchange) trouble(fault *Fault) trouble {
	t := trouble{Fault: *fault, now: time.Now(), request: x.id()}
	t.Status = cmp.Or(t.Status, http.StatusInternalServerError)
	return t
}

// send writes pieces of an answer, with the turn's pauses between them. It reports whether the
// client is still connected.
func (x *exchange) send(pieces []string) bool {
	if x.ask.streaming {
		contentType := "text/event-stream; charset=utf-8"
		if x.ask.asArray {
			contentType = "application/json"
		}
		x.to.Header().Set("Content-Type", contentType)
		x.to.Header().Set("Cache-Control", "no-cache")
	}
	out := http.NewResponseController(x.to)
	for _, piece := range pieces {
		if _, err := x.to.Write([]byte(piece)); err != nil {
			return false
		}
		if out.Flush() != nil || !x.rest(time.Duration(x.step.turn.Pace)) {
			return false
		}
	}
	return true
}

// rest waits, and reports whether the request is still active afterwards.
func (x *exchange) rest(d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.request.Context().Done():
	case <-x.server.closing:
	}
	return false
}

// wait keeps the connection open, silently, until the client disconnects or the server closes.
func (x *exchange) wait() {
	select {
	case <-x.request.Context().Done():
	case <-x.server.closing:
	}
	panic(http.ErrAbortHandler)
}

// pingEvery is how often a connection is kept alive.
const pingEvery = 50 * time.Millisecond

// keepAlive sends pings until the client disconnects or the server closes.
func (x *exchange) keepAlive() {
	if !x.ask.streaming {
		x.wait() // nothing can be inserted into a body of known length
	}
	for x.rest(pingEvery) && x.send([]string{x.ping()}) {
	}
	panic(http.ErrAbortHandler)
}

// ping returns the format's message without content.
func (x *exchange) ping() string {
	switch {
	case x.wire.name() == "anthropic":
		return typed("ping", object{}).String()
	case x.ask.asArray:
		return "\n"
	}
	return ": ping\n\n"
}

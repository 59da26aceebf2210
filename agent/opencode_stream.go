package agent

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// opencodeStream reads the events of `opencode run --format json`.
//
//	step_start   a call of the model
//	text         what the agent said in it
//	tool_use     a tool that ended, well or not
//	step_finish  the end of the call: why, tokens, cost
//	error        the end of a bad run, as a rule
//
// There is no closing event: a step that the model ended of its own accord is the last one, unless another begins. Nothing is told while the CLI
// tries again, not even at a limit of hours: only the idle time-out ends that.
type opencodeStream struct {
	*stream.Reading
	buffer   []byte
	paid     float64
	tooled   bool   // a tool was called in this step
	endless  int    // steps in a row that ended for no reason and did nothing
	rejected string // a call that was turned down, which ends the turn
}

// maxEndless is how many cut streams are enough. The CLI would begin again for ever, for no tokens at all, so that no budget ends it.
const maxEndless = 3

// opencodeEvent is one event taken apart, strings still escaped.
type opencodeEvent struct {
	kind, session []byte
	part          opencodePart
	failure       []byte
}

// opencodePart is what was said, done or used. The detail and the complaint are text.
type opencodePart struct {
	text, tool, status, reason []byte
	detail, complaint          string
	notOwn                     bool
	tokens                     ralph.Tokens
	cost                       float64
}

func (o *opencodeStream) ignores(kind []byte) bool { return string(kind) == "reasoning" }

func (o *opencodeStream) event(text []byte) bool {
	e, ok := o.parse(text)
	if !ok {
		return false
	}
	if o.Hopeless { // what still comes until it is gone
		return true
	}
	switch string(e.kind) {
	case "reasoning":
	case "step_start":
		o.Closed, o.Fault, o.tooled, o.rejected = false, nil, false, ""
	case "text":
		o.speak(e.part)
	case "tool_use":
		o.used(e.part)
	case "step_finish":
		o.finishStep(e.part)
	case "error":
		o.fail(opencodeComplaint(e.failure))
	default:
		return true
	}
	o.InSession(e.session)
	o.Events++
	return true
}

// longEvent is a tool's output, as a rule.
func (o *opencodeStream) longEvent(head []byte) bool {
	e, _ := o.parse(head)
	if string(e.kind) != "tool_use" {
		return false
	}
	o.Events++
	o.used(e.part)
	return true
}

// parse takes an event apart in one pass. It stops early at those that nobody looks into.
func (o *opencodeStream) parse(text []byte) (e opencodeEvent, ok bool) {
	w := stream.Walker{Text: text}
	for key := range w.Fields() {
		switch string(key) {
		case "type":
			if e.kind, _ = w.Str(); o.ignores(e.kind) {
				return e, true
			}
		case "sessionID":
			e.session, _ = w.Str()
		case "part":
			e.part.parse(&w)
		case "error":
			e.failure = w.Raw()
		}
	}
	return e, !w.Bad && len(e.kind) > 0
}

func (p *opencodePart) parse(w *stream.Walker) {
	for key := range w.Fields() {
		switch string(key) {
		case "text":
			p.text, _ = w.Str()
		case "synthetic", "ignored":
			p.notOwn = w.Truth() || p.notOwn
		case "tool":
			p.tool, _ = w.Str()
		case "state":
			p.parseState(w)
		case "reason":
			p.reason, _ = w.Str()
		case "tokens":
			p.tokens = opencodeTokens(w)
		case "cost":
			p.cost, _ = w.Number()
		}
	}
}

func (p *opencodePart) parseState(w *stream.Walker) {
	for key := range w.Fields() {
		switch string(key) {
		case "status":
			p.status, _ = w.Str()
		case "input":
			p.detail = string(stream.Unescape(nil, tellingField(w)))
		case "error":
			p.complaint = w.Word()
		}
	}
}

// opencodeTokens reads the tokens of one step. What the model thought is told beside what it wrote.
func opencodeTokens(w *stream.Walker) (t ralph.Tokens) {
	for key := range w.Fields() {
		switch string(key) {
		case "input":
			t.Input = w.Count()
		case "output", "reasoning":
			t.Output += w.Count()
		case "cache":
			for key := range w.Fields() {
				switch string(key) {
				case "read":
					t.CacheRead = w.Count()
				case "write":
					t.CacheWrite = w.Count()
				}
			}
		}
	}
	return t
}

func (o *opencodeStream) speak(p opencodePart) {
	if p.notOwn {
		return
	}
	o.buffer = stream.Unescape(o.buffer[:0], p.text)
	o.Say(o.buffer)
	o.Said.EndMessage()
}

// What the CLI says of a call that it did not allow: by a rule, or because nobody was there to be asked.
const (
	opencodeDenied   = "The user has specified a rule which prevents you from using this specific tool call."
	opencodeRejected = "The user rejected permission to use this specific tool call"
)

func (o *opencodeStream) used(p opencodePart) {
	name := string(stream.Unescape(nil, p.tool))
	o.tooled, o.endless = true, 0
	o.Tool(name, p.detail)
	if string(p.status) != "error" {
		return
	}
	switch {
	case strings.HasPrefix(p.complaint, opencodeDenied):
	case strings.HasPrefix(p.complaint, opencodeRejected):
		o.rejected = strings.TrimSuffix(name+": "+p.detail, ": ")
	default:
		return // it failed like any other
	}
	o.Denied(name, p.detail, opencodeAllows(name, p.detail, p.complaint))
}

// opencodeAllows is what allows a call that was denied. Rules for the agent come after all others; those of a command hold for one command without
// a pipe or the like.
func opencodeAllows(tool, detail, complaint string) string {
	outside := strings.Contains(complaint, `"permission":"external_directory"`)
	var rule string
	switch {
	case outside && tool != "bash" && detail != "":
		rule = `"external_directory":{` + strconv.Quote(filepath.ToSlash(filepath.Dir(detail))+"/*") + `:"allow"}`
	case tool != "bash":
		rule = strconv.Quote(tool) + `:"allow"`
	case outside, detail == "", strings.ContainsAny(detail, "&|;<>()`$*?\n\r"):
		return "--yolo"
	default:
		rule = `"bash":{` + strconv.Quote(detail) + `:"allow"}`
	}
	return `--yolo, or put this into opencode.json: {"agent":{"build":{"permission":{` + rule + `}}}}`
}

// finishStep adds up what was used and looks for the end.
func (o *opencodeStream) finishStep(p opencodePart) {
	o.Step()
	stream.AddTokens(&o.Spent, p.tokens)
	if o.paid += p.cost; o.paid > 0 { // what has no price for the CLI costs nothing, it says
		paid := o.paid
		o.Cost = &paid
	}
	if p.tokens.Total() > 0 || p.cost > 0 {
		o.TellSpent()
	}
	switch string(p.reason) {
	case "tool-calls":
		o.endless, o.Retry = 0, nil
		if o.rejected != "" {
			o.fail(&stream.Fault{Class: ralph.EndFailed, Text: "the agent stopped at a call that was not allowed: " + promise.OneLine(o.rejected, stream.DetailSize)})
		}
	case "", "unknown":
		o.endAgain()
	case "error":
		o.fail(&stream.Fault{Class: ralph.EndProvider, Text: "the model's answer ended with an error"})
	default: // "stop", "length" …: the model ended it
		o.Closed, o.endless, o.Retry = true, 0, nil
	}
}

// endAgain notes a stream that was cut. Once or twice it may be bad luck, and what was said may have been the end.
func (o *opencodeStream) endAgain() {
	f := &stream.Fault{Class: ralph.EndProvider, Text: "the model's stream was cut"}
	if o.tooled {
		o.endless = 0
	} else {
		o.endless++
	}
	if o.endless < maxEndless {
		o.Retrying(f)
		return
	}
	f.Text += " again and again"
	o.Retry = nil
	o.Fault, o.Hopeless = f, true
}

// fail ends the stream, as far as can be seen. What says more than that something is wrong counts.
func (o *opencodeStream) fail(f *stream.Fault) {
	o.Closed, o.Retry = true, nil
	if o.Fault == nil || f.Hint != opencodeModel {
		o.Fault = f
	}
}

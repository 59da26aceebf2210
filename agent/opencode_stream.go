package agent

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// opencodeStream reads the events of `opencode run --format json`.
//
//	step_start   a model call
//	text         what the agent said in it
//	tool_use     a tool that ended, successfully or not
//	step_finish  the end of the call: why, tokens, cost
//	error        usually the end of a failed run
//
// There is no closing event: a step that the model ended by itself is the last one, unless another
// begins. Nothing is reported while the CLI retries, not even at a limit of hours: only the idle
// timeout ends that.
type opencodeStream struct {
	*stream.Reading
	paid     float64
	tooled   bool   // a tool was called in this step
	endless  int    // consecutive steps that ended for no reason and did nothing
	rejected string // a rejected call, which ends the turn
}

// maxEndless is how many cut streams are enough. The CLI would start again forever, without using
// tokens, so no budget would end it.
const maxEndless = 3

type opencodeEvent struct {
	Type    string        `json:"type"`
	Session string        `json:"sessionID"`
	Part    opencodePart  `json:"part"`
	Failure opencodeError `json:"error"`
}

// opencodePart is what was said, done or used.
type opencodePart struct {
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Ignored   bool   `json:"ignored"`
	Tool      string `json:"tool"`
	CallID    string `json:"callID"`
	State     struct {
		Status   string    `json:"status"`
		Input    toolInput `json:"input"`
		Error    string    `json:"error"`
		Output   string    `json:"output"`
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
	} `json:"state"`
	Reason string         `json:"reason"`
	Tokens opencodeTokens `json:"tokens"`
	Cost   float64        `json:"cost"`
}

// opencodeTokens are those of one step. Thinking is reported separately from the output.
type opencodeTokens struct {
	Input     float64 `json:"input"`
	Output    float64 `json:"output"`
	Reasoning float64 `json:"reasoning"`
	Cache     struct {
		Read  float64 `json:"read"`
		Write float64 `json:"write"`
	} `json:"cache"`
}

func (o *opencodeStream) ignores(kind string) bool { return kind == "reasoning" }

func (o *opencodeStream) event(e *opencodeEvent) bool {
	if o.Hopeless { // events that still arrive until it is gone
		return false
	}
	switch e.Type {
	case "reasoning":
	case "step_start":
		o.Closed, o.Fault, o.tooled, o.rejected = false, nil, false, ""
	case "text":
		if !e.Part.Synthetic && !e.Part.Ignored {
			o.SayAll(e.Part.Text)
		}
	case "tool_use":
		o.used(e.Part)
	case "step_finish":
		o.finishStep(e.Part)
	case "error":
		o.fail(e.Failure.fault())
	default:
		return false
	}
	o.InSession(e.Session)
	return true
}

// longEvent is usually a tool's output.
func (o *opencodeStream) longEvent(e *opencodeEvent) bool {
	if e.Type != "tool_use" {
		return false
	}
	o.used(e.Part)
	return true
}

// What the CLI prints for a call that it did not allow: by a rule, or because there was no one to
// ask.
const (
	opencodeDenied   = "The user has specified a rule which prevents you from using this specific tool call."
	opencodeRejected = "The user rejected permission to use this specific tool call"
)

func (o *opencodeStream) used(p opencodePart) {
	detail, complaint := p.State.Input.about(), p.State.Error
	o.tooled, o.endless = true, 0
	o.Tool(p.Tool, detail)
	o.Evidence.Began(p.CallID, p.Tool, p.State.Input.run)
	failed, output := p.State.Status != "completed", cmp.Or(p.State.Output, complaint)
	o.Evidence.Ended(p.CallID, stream.Ended{Exit: p.State.Metadata.Exit, Failed: failed, Output: output}, o.Now())
	if p.State.Status != "error" {
		return
	}
	switch {
	case strings.HasPrefix(complaint, opencodeDenied):
	case strings.HasPrefix(complaint, opencodeRejected):
		o.rejected = strings.TrimSuffix(p.Tool+": "+detail, ": ")
	default:
		return // an ordinary failure
	}
	o.Denied(p.Tool, detail, opencodeAllows(p.Tool, detail, complaint))
}

// opencodeAllows returns what allows a denied call. Rules for the agent come after all others; a
// rule for a command covers one command without a pipe or the like.
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

// finishStep adds up the usage and looks for the end.
func (o *opencodeStream) finishStep(p opencodePart) {
	o.Step()
	used := ralph.Tokens{
		Input: int64(p.Tokens.Input), Output: int64(p.Tokens.Output + p.Tokens.Reasoning),
		CacheRead: int64(p.Tokens.Cache.Read), CacheWrite: int64(p.Tokens.Cache.Write),
	}
	o.Spent = o.Spent.Plus(used)
	if o.paid += p.Cost; o.paid > 0 { // the CLI reports 0 for a model without a price
		paid := o.paid
		o.Cost = &paid
	}
	if used.Total() > 0 || p.Cost > 0 {
		o.TellSpent()
	}
	switch p.Reason {
	case "tool-calls":
		o.endless, o.Retry = 0, nil
		if o.rejected != "" {
			o.fail(&stream.Fault{
				Class: ralph.EndFailed,
				Text:  "the agent stopped at a call that was not allowed: " + promise.OneLine(o.rejected, stream.DetailSize),
			})
		}
	case "", "unknown":
		o.endAgain()
	case "error":
		o.fail(&stream.Fault{Class: ralph.EndProvider, Text: "the model's answer ended with an error"})
	default: // "stop", "length" …: the model ended it
		o.Closed, o.endless, o.Retry = true, 0, nil
	}
}

// endAgain records a stream that was cut off. Once or twice may be bad luck, and what was said may
// have been the end.
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
	f.Text += " repeatedly"
	o.Retry = nil
	o.Fault, o.Hopeless = f, true
}

// fail ends the stream, as far as can be seen. A specific error outranks an unspecific one.
func (o *opencodeStream) fail(f *stream.Fault) {
	o.Closed, o.Retry = true, nil
	if o.Fault == nil || f.Hint != opencodeModel {
		o.Fault = f
	}
}

package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

const (
	// maxCalls limits how many calls of one reply are run.
	maxCalls = 64
	// maxResultBytes limits the result of any tool.
	maxResultBytes = 256 << 10
	// After remarkAt identical calls with the same result, the model gets a remark; after urgeAt, a
	// firmer one.
	remarkAt, urgeAt = 3, 6
)

// answer runs the calls of a reply and adds their results. They run in order, except for the
// closing call, which comes last.
func (t *conversation) answer(ctx context.Context, r model.Reply) *ending {
	calls := r.Message.Calls
	outputs := make([]tools.Output, len(calls))
	closing, closingAt := t.lead.closing().Name, -1
	for i, c := range calls {
		switch {
		case i >= maxCalls:
			outputs[i] = tools.Failf("not run: only the first %d calls of a reply are run", maxCalls)
			continue
		case c.Name == closing && closingAt >= 0:
			outputs[i] = tools.Failf("ignored: only the first %s call of a reply counts", closing)
			t.refusedInputs = append(t.refusedInputs, string(c.Input))
			continue
		case c.Name == closing:
			closingAt = i
			continue
		}
		if end := t.timeIsUp(ctx); end != nil {
			return end
		}
		t.usedTool(c)
		outputs[i] = t.withRepeatRemark(c, t.call(ctx, c, r.End))
		if why := outputs[i].NoSandbox; why != "" { // the model could only try again
			t.addResults(calls[:i+1], outputs[:i+1], nil)
			return &ending{class: ralph.EndSandbox, text: fmt.Sprintf("sandbox %s: %s", t.o.Sandbox, why)}
		}
	}
	var end *ending
	var kept []int // the result of a case is never dropped
	if closingAt >= 0 {
		if end := t.timeIsUp(ctx); end != nil {
			return end
		}
		c := calls[closingAt]
		t.usedTool(c)
		outputs[closingAt], end = t.close(ctx, c, r.End)
		kept = []int{closingAt}
	}
	t.addResults(calls, outputs, kept)
	return end
}

// close answers the call that may end the conversation.
func (t *conversation) close(ctx context.Context, c model.Call, replyEnd model.End) (tools.Output, *ending) {
	var output tools.Output
	var end *ending
	if problem := malformed(c, replyEnd); problem != nil {
		output = *problem
	} else {
		output, end = t.lead.close(ctx, c.Input)
	}
	if end == nil {
		t.refusedInputs = append(t.refusedInputs, string(c.Input))
	}
	return t.withRepeatRemark(c, output), end
}

func (t *conversation) addResults(calls []model.Call, outputs []tools.Output, kept []int) {
	results := make([]model.Result, len(calls))
	for i, c := range calls {
		results[i] = model.Result{ID: c.ID, Text: clean(outputs[i].Text), Failed: outputs[i].Failed}
	}
	if warning := t.lead.turnWarning(t.o.MaxTurns - t.turns); warning != "" {
		results[len(results)-1].Text += "\n\n[" + warning + "]"
	}
	t.add(model.Message{Role: model.ToolRole, Results: results}, entry{Turn: t.turns}, kept...)
}

// call runs one call. It reports any problem to the model.
func (t *conversation) call(ctx context.Context, c model.Call, replyEnd model.End) tools.Output {
	tool, ok := t.tools[c.Name]
	if !ok {
		return tools.Failf("there is no tool %q; the tools are %s", promise.OneLine(c.Name, shownSize), tools.Names(t.specs))
	}
	if problem := malformed(c, replyEnd); problem != nil {
		return *problem
	}
	ctx, cancel := t.withDeadline(ctx)
	defer cancel()
	blocked, remarks := t.mayCall(ctx, c)
	if blocked != nil {
		return *blocked
	}
	output := tool.Run(ctx, c.Input)
	t.noteEvidence(c, output)
	output.Text += remarks
	if len(output.Edited) > 0 {
		output.Text += t.runEditHooks(ctx, c, output.Edited)
	}
	return output
}

// noteEvidence remembers a call that ran a check of the run. A command that was cut off failed.
func (t *conversation) noteEvidence(c model.Call, output tools.Output) {
	run := shell.ReadCall(c.Input)
	verifier := t.in.Verifiers.Of(c.Name, run.Line, t.in.Dir)
	if verifier == "" || !run.ShowsResultIn(t.in.Dir) {
		return
	}
	call := ralph.ToolEvidence{
		Tool: c.Name, CallID: c.ID, Command: run.Line, Status: ralph.EvidencePass, Output: output.Text, Verifier: verifier,
		Observed: time.Now(),
	}
	if output.Failed {
		call.Status = ralph.EvidenceFail
	}
	t.evidence = ralph.WithEvidence(t.evidence, call)
}

// malformed returns the answer to a call whose input is not JSON, perhaps because it was cut, or
// nil.
func malformed(c model.Call, replyEnd model.End) *tools.Output {
	var raw json.RawMessage
	err := json.Unmarshal(c.Input, &raw)
	if err == nil {
		return nil
	}
	problem := tools.Failf("the input is not valid JSON: %v", err)
	if replyEnd == model.EndLength {
		problem.Text += "; your reply was cut off because it was too long, so write less in one call"
	}
	return &problem
}

// clean returns a text that every provider accepts: limited, valid, and not empty.
func clean(text string) string {
	if len(text) > maxResultBytes {
		text = truncate(text, maxResultBytes)
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return "(no output)"
	}
	return text
}

// repeats counts how often the same call was made in a row with the same result.
type repeats struct {
	name   string
	input  []byte
	result tools.Output
	times  int
}

// withRepeatRemark adds a remark to a result that the model has seen before.
func (t *conversation) withRepeatRemark(c model.Call, o tools.Output) tools.Output {
	r, input := &t.repeats, bytes.TrimSpace(c.Input)
	if r.name == c.Name && bytes.Equal(r.input, input) && r.result.Text == o.Text && r.result.Failed == o.Failed {
		r.times++
	} else {
		*r = repeats{name: c.Name, input: input, result: tools.Output{Text: o.Text, Failed: o.Failed}, times: 1}
	}
	if r.times < remarkAt {
		return o
	}
	came := "the result was the same each time"
	if o.Failed {
		came = "it failed in the same way each time"
	}
	o.Text += fmt.Sprintf("\n\n[You made the same call %d times in a row, and %s.", r.times, came)
	if r.times >= urgeAt {
		o.Text += " Do something else, or call " + t.lead.closing().Name + "."
	}
	o.Text += "]"
	return o
}

const (
	shownSize    = 120 // characters of a live detail
	sentenceSize = 300 // characters quoted from a provider
	maxToolNames = 64  // further tools are counted under otherTools
	otherTools   = "(other)"
)

// usedTool counts a call and shows it.
func (t *conversation) usedTool(c model.Call) {
	name := promise.OneLine(c.Name, shownSize)
	counted := name
	if _, known := t.toolCounts[name]; !known && len(t.toolCounts) >= maxToolNames {
		counted = otherTools
	}
	t.toolCounts[counted]++
	t.in.Live(ralph.Activity{Kind: "tool", Name: name, Detail: detailOf(c.Input)})
}

// detailOf returns what distinguishes calls of the same tool.
func detailOf(input json.RawMessage) string {
	var fields struct{ Command, Path, Pattern, Summary, Verdict string }
	if json.Unmarshal(input, &fields) != nil { // a field of another type does not affect the others
		return ""
	}
	for _, text := range []string{fields.Command, fields.Pattern, fields.Path, fields.Verdict, fields.Summary} {
		if text != "" {
			return promise.OneLine(text, shownSize)
		}
	}
	return ""
}

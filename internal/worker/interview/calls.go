package interview

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

const callsLimit = 64 // calls of one reply that are made

// answer makes the calls of one reply in order and adds their results.
func (c *conversation) answer(ctx context.Context, calls []model.Call) error {
	c.quiet = 0
	in := batch{asks: slices.ContainsFunc(calls, func(call model.Call) bool { return call.Name == askUser })}
	results := make([]model.Result, 0, len(calls))
	// A person's answers and problems of a plan are kept. What was read can be read again.
	var kept []int
	for i, call := range calls {
		result := tools.Failf("not run: only the first %d calls of a reply are run", callsLimit)
		if i < callsLimit {
			var err error
			if result, err = c.call(ctx, call, &in); err != nil {
				return err
			}
		}
		if c.over {
			return nil // the results will not be read
		}
		if c.reading[call.Name] == nil {
			kept = append(kept, i)
		}
		results = append(results, model.Result{ID: call.ID, Text: result.Text, Failed: result.Failed})
	}
	results[len(results)-1].Text += c.reminder()
	c.chat.Add(model.Message{Role: model.ToolRole, Results: results}, kept...)
	return nil
}

// batch is what the calls of one reply know about each other.
type batch struct {
	asks  bool // a question is among them
	asked bool // a question was asked
	wrote bool // a plan was checked
}

// call makes one call. Its error is trouble of the harness; a mistake of the model is a failed
// result.
func (c *conversation) call(ctx context.Context, call model.Call, in *batch) (tools.Output, error) {
	c.noteCall(call)
	if c.interrupt(ctx) {
		return tools.Output{}, nil
	}
	switch call.Name {
	case askUser:
		return c.ask(ctx, call.Input, in)
	case writePlan:
		result := c.write(call.Input, in)
		if result.Failed {
			c.showProblem(result.Text)
		}
		return result, nil
	}
	tool, known := c.reading[call.Name]
	if !known {
		return tools.Failf("there is no tool %q; the tools are %s", brief(call.Name), tools.Names(c.tools)), nil
	}
	return tool.Run(ctx, call.Input), nil
}

// ask asks a person the question of a call.
func (c *conversation) ask(ctx context.Context, input json.RawMessage, in *batch) (tools.Output, error) {
	q, err := decodeQuestion(input)
	if err != nil {
		return tools.Failf("%s", err), nil
	}
	if answer, ok := c.askedBefore(q); ok {
		return tools.Output{Text: "This was asked before. " + answered(answer)}, nil
	}
	if in.asked {
		return tools.Failf("not asked: one question at a time; ask again if the answer to the other one leaves it open"), nil
	}
	if problem := c.tooManyQuestions(); problem != "" {
		return tools.Failf("%s", problem), nil
	}
	in.asked = true
	answer, err := c.askPerson(ctx, q)
	if err != nil || c.over {
		return tools.Output{}, err
	}
	return tools.Output{Text: answered(answer)}, nil
}

// write accepts a plan, or returns what is wrong with it.
func (c *conversation) write(input json.RawMessage, in *batch) tools.Output {
	switch {
	case in.asks:
		return tools.Failf("not accepted: you asked a question in the same reply; wait for the answer, then submit a plan " +
			"that considers it")
	case in.wrote:
		return tools.Failf("not accepted: one plan at a time")
	}
	in.wrote = true
	if problem := c.submit(input); problem != "" {
		return tools.Failf("%s", problem)
	}
	return tools.Output{Text: "taken"}
}

// noteCall counts a call and shows it.
func (c *conversation) noteCall(call model.Call) {
	name, shown := brief(call.Name), brief(call.Name)
	if _, known := c.reading[call.Name]; !known && name != askUser && name != writePlan {
		shown = strings.TrimSpace("unknown tool " + name)
		name = "unknown" // a model can make up any number of names
	}
	if c.out.Tools == nil {
		c.out.Tools = map[string]int{}
	}
	c.out.Tools[name]++
	if name != askUser { // the person sees the question itself
		c.options.Live(ralph.Activity{Kind: "tool", Name: shown, Detail: detailOf(call)})
	}
}

// detailOf describes a call briefly with texts from its input.
func detailOf(call model.Call) string {
	var input map[string]json.RawMessage
	if call.Name == writePlan || json.Unmarshal(call.Input, &input) != nil {
		return ""
	}
	var parts []string
	for _, name := range []string{"path", "pattern", "glob"} {
		var text string
		if json.Unmarshal(input[name], &text) == nil && text != "" {
			parts = append(parts, text)
		}
	}
	return brief(strings.Join(parts, " "))
}

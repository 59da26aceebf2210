package interview

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

//go:embed agent.md
var agentPage string

var agentWords = words{
	who:   "the agent",
	meter: "the agent",
	ask: "Ask all your questions at once. Write each so that it can be understood by itself, and offer options " +
		"where there are any.",
	submit: "Answer with the whole plan. If it comes back with problems, fix them and answer with the whole plan again.",
	finish: "answer with the plan",
}

// rounds is an interview with an agent, which has no tools of ours. Each turn starts the agent with
// a fresh context; the prompt holds what was asked and answered before, and what was wrong with the
// last answer.
type rounds struct {
	*session
	sum    ralph.Spending
	model  string
	faults int  // failures of the provider in a row
	fenced bool // the text that the agent writes now is in the block

	last    string // the last JSON block, if there was a problem with it
	problem string // what was wrong with the last answer; "" if nothing was
}

func (r *rounds) spent() ralph.Spending { return r.sum }

func (r *rounds) answers() string { return r.model }

func (r *rounds) turn(ctx context.Context) error {
	if r.interrupt(ctx) {
		return nil
	}
	r.fenced = false
	call := r.options.Call
	call.Iteration, call.Prompt, call.Model, call.Live = r.out.Turns+1, r.prompt(), r.options.Model, r.show
	call.Budget = ralph.Budget{Cost: r.options.MaxCost, Tokens: r.options.MaxTokens}.Left(r.sum)
	outcome, err := r.options.Agent.Run(ctx, call)
	if err != nil {
		r.end(Failed, ralph.EndFailed, "the agent could not be asked: %s", err)
		return fmt.Errorf("ask agent: %w", err)
	}
	r.count(outcome)
	switch {
	case r.interrupt(ctx):
		return nil
	case outcome.End == ralph.EndEmpty:
		r.handleEmpty(ctx)
		return nil
	case outcome.End == ralph.EndProvider && r.faults < inARow-1 && outcome.Hint != ralph.HintSettings:
		r.faults++
		r.pause(ctx, r.faults, outcome.Error)
		return nil
	case outcome.End.Failed():
		r.end(Failed, outcome.End, "%s", outcome.Error)
		r.out.Hint, r.out.RetryAfter = outcome.Hint, outcome.RetryAfter
		return nil
	}
	r.empty, r.faults = 0, 0
	r.out.Turns++
	return r.read(ctx, outcome.Answer)
}

// count adds what one call used. An agent that reports only tokens is priced like a model.
func (r *rounds) count(o ralph.AgentOutcome) {
	if o.Model != "" {
		r.model = brief(o.Model)
	}
	if o.Cost == nil && o.Tokens != nil {
		bill := model.Bill{Price: r.options.Price}
		o.Cost = bill.Count((*model.Usage)(o.Tokens), o.Model, r.options.Model)
		o.CostEstimated, o.CostPartial = o.Cost != nil, o.CostPartial || o.TokensPartial
	}
	r.sum = r.sum.Plus(o.Spending())
	for name, n := range o.Tools {
		if r.out.Tools == nil {
			r.out.Tools = map[string]int{}
		}
		r.out.Tools[name] += n
	}
}

// show shows what the agent does, without the JSON at the end of its answer.
func (r *rounds) show(a ralph.Activity) {
	switch a.Kind {
	case "tool":
		r.fenced = false
	case "text":
		if r.fenced {
			return
		}
		a.Detail, _, r.fenced = strings.Cut(a.Detail, "```")
		if a.Detail = strings.TrimSpace(a.Detail); a.Detail == "" || a.Detail[0] == '{' {
			return
		}
	}
	r.options.Live(a)
}

// replyInput is the JSON block of an answer.
type replyInput struct {
	Questions []json.RawMessage `json:"questions,omitempty"`
	Plan      json.RawMessage   `json:"plan,omitempty"`
}

// read handles an answer: it asks the person, or checks the plan.
func (r *rounds) read(ctx context.Context, answer string) error {
	r.last, r.problem = "", ""
	block, err := findBlock(answer)
	if err != nil {
		r.quiet++
		if r.quiet == inARow {
			r.end(NoPlan, ralph.EndOK, "the agent answered %d times in a row without one block of questions or a plan", inARow)
			return nil
		}
		r.reject("", err.Error())
		return nil
	}
	r.quiet = 0
	reply, questions, err := decodeReply(block)
	switch {
	case err != nil:
		r.reject(block, "not accepted: "+err.Error())
	case reply.Plan != nil:
		if problem := r.submit(reply.Plan); problem != "" {
			r.reject(block, problem)
		}
	default:
		return r.askAll(ctx, questions)
	}
	return nil
}

// reject keeps a problem for the next round, and shows it.
func (r *rounds) reject(block, problem string) {
	r.last, r.problem = block, problem
	r.showProblem(problem)
}

// askAll asks a person the questions of an answer, in order.
func (r *rounds) askAll(ctx context.Context, questions []Question) error {
	asked := false
	for _, q := range questions {
		if _, ok := r.askedBefore(q); ok {
			continue
		}
		if problem := r.tooManyQuestions(); problem != "" {
			r.reject("", problem)
			return nil
		}
		if _, err := r.askPerson(ctx, q); err != nil || r.over {
			return err
		}
		asked = true
	}
	if !asked {
		r.reject("", "not asked: all these questions were asked before, and their answers are above")
	}
	return nil
}

// decodeReply reads a JSON block. The error is for the agent.
func decodeReply(block string) (in replyInput, questions []Question, err error) {
	if err := tools.Decode(json.RawMessage(block), &in); err != nil {
		return in, nil, err
	}
	if (in.Plan == nil) == (len(in.Questions) == 0) {
		return in, nil, errors.New("the block must have either questions or a plan")
	}
	for i, input := range in.Questions {
		q, err := decodeQuestion(input)
		if err != nil {
			return in, nil, fmt.Errorf("questions[%d]: %w", i, err)
		}
		questions = append(questions, q)
	}
	return in, questions, nil
}

// findBlock returns the JSON block of an answer. Other fenced blocks of JSON do not count: an agent
// may quote a file. The error is for the agent.
func findBlock(answer string) (string, error) {
	var objects, ours []string
	for _, block := range fencedBlocks(answer) {
		if !strings.HasPrefix(block, "{") {
			continue
		}
		objects = append(objects, block)
		var fields map[string]json.RawMessage
		_ = json.Unmarshal([]byte(block), &fields) // what is not valid has no fields
		if fields["questions"] != nil || fields["plan"] != nil {
			ours = append(ours, block)
		}
	}
	switch {
	case len(ours) > 1:
		return "", fmt.Errorf("not accepted: the answer has %d blocks with questions or a plan; it must have one", len(ours))
	case len(ours) == 1:
		return ours[0], nil
	case len(objects) > 0:
		return objects[len(objects)-1], nil
	}
	return "", errors.New("not accepted: the answer has no fenced block of JSON with questions or a plan")
}

// fencedBlocks returns the contents of the fenced blocks of a text, or all of a text that is nothing
// but JSON. No line of JSON starts with a fence.
func fencedBlocks(text string) (blocks []string) {
	const fence = "```"
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return []string{text}
	}
	var block strings.Builder
	open := false
	for line := range strings.Lines(text + "\n" + fence) {
		switch fenced := strings.HasPrefix(strings.TrimSpace(line), fence); {
		case fenced && open:
			blocks = append(blocks, strings.TrimSpace(block.String()))
			block.Reset()
			open = false
		case fenced:
			open = true
		case open:
			block.WriteString(line)
		}
	}
	return blocks
}

// lastLimit is how much of a refused answer the agent gets back, in characters.
const lastLimit = 200_000

// prompt returns all that the agent has to know in this round.
func (r *rounds) prompt() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s", r.system(), firstMessage(r.options))
	if len(r.out.Asked) > 0 {
		b.WriteString("\n# Questions and answers so far\n")
	}
	for _, a := range r.out.Asked {
		fmt.Fprintf(&b, "\nYou asked: %s\n%s\n", a.Text, answered(a.Answer))
	}
	if r.last != "" {
		fmt.Fprintf(&b, "\n# Your last answer\n\n```json\n%s\n```\n", tools.Clip(r.last, lastLimit))
	}
	if r.problem != "" {
		fmt.Fprintf(&b, "\n# What is wrong with your last answer\n\n%s\n", r.problem)
	}
	schema := func(input any) string { return string(tools.Schema(input)) }
	b.WriteString("\n" + strings.TrimSpace(strings.NewReplacer(
		"{{question}}", schema(askInput{}), "{{plan}}", schema(planInput{}),
	).Replace(agentPage)) + r.reminder() + "\n")
	return b.String()
}

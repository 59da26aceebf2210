package worker

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

const (
	submitCase = "submit_case"
	maxQuiet   = 3 // so many replies in a row without a call end the task
	hintCut    = "allow longer answers in the settings of the model's server, or choose a model with a higher " +
		"output limit"
)

var (
	//go:embed submit_case.md
	submitCasePage string
	//go:embed nudge.md
	nudgePage string
	//go:embed nudge_cut.md
	nudgeCutPage string
)

// caseRole is the role of a worker, which makes a case.
type caseRole struct {
	*conversation
	quiets     int      // replies without a call, in a row
	cuts       int      // how many of them were cut at the model's length limit
	quietAt    int      // the turn of the last of them
	rejections []string // what the reviewer wanted fixed
	problem    string   // what was wrong with the last malformed case
}

func (*caseRole) name() string                       { return "worker" }
func (*caseRole) system() string                     { return systemPage }
func (*caseRole) tools(o tools.Options) []tools.Tool { return tools.Set(o) }
func (*caseRole) requiredTool(int) string            { return "" }

var caseTool = sync.OnceValue(func() model.Tool { return tools.Spec(submitCase, submitCasePage, tools.CaseInput{}) })

func (*caseRole) closing() model.Tool { return caseTool() }

func (*caseRole) turnWarning(left int) string {
	switch left {
	case 1:
		return "One turn is left. If the work is done, call " + submitCase + " now."
	case 4:
		return "4 turns are left. Finish your work, and keep one for " + submitCase + "."
	}
	return ""
}

func (c *caseRole) outOfTurns() *ending {
	return &ending{class: ralph.EndOK, task: ralph.IterCap, caseProblem: c.problem}
}

func (*caseRole) noReplies() *ending {
	return &ending{class: ralph.EndOK, task: ralph.EmptyResponses}
}

// onNoCall asks for a call, up to a limit. A worker that reports that it needs a person may end
// without a call.
func (c *caseRole) onNoCall(r model.Reply) (string, *ending) {
	words := c.in.Words
	words.Prompt = ""
	if said := promise.Parse(r.Message.Text, words); said.Blocked != nil || said.Decide != nil {
		return "", &ending{class: ralph.EndOK, blocked: said.Blocked, decide: said.Decide}
	}
	if c.quietAt != c.turns-1 {
		c.quiets, c.cuts = 0, 0 // there was a call in between
	}
	c.quiets, c.quietAt = c.quiets+1, c.turns
	if r.End == model.EndLength {
		c.cuts++
	}
	switch {
	case c.quiets >= maxQuiet && c.cuts == c.quiets:
		return "", &ending{class: ralph.EndOK, task: ralph.NoCase, cut: true, hint: hintCut, caseProblem: c.problem}
	case c.quiets >= maxQuiet:
		return "", &ending{class: ralph.EndOK, task: ralph.NoCase, caseProblem: c.problem}
	case r.End == model.EndLength:
		return strings.TrimSpace(nudgeCutPage), nil
	}
	return strings.TrimSpace(nudgePage), nil
}

// close submits a case.
func (c *caseRole) close(ctx context.Context, input json.RawMessage) (tools.Output, *ending) {
	made, err := tools.DecodeCase(input)
	if err != nil {
		c.problem = err.Error()
		return tools.Failf("the case was not submitted: %v", err), nil
	}
	if c.in.Submit == nil {
		return tools.Output{Text: "cases are not judged here"}, &ending{class: ralph.EndOK}
	}
	// Without the iteration's deadline, because the agent's clock must not cut a check.
	asked := time.Now()
	made.Evidence = c.evidence
	answer := c.in.Submit(ctx, made)
	if !c.deadline.IsZero() {
		c.deadline = c.deadline.Add(time.Since(asked)) // this was not the worker's time
	}
	c.order.Stop = c.order.Stop || answer.Spent // by the evaluator
	output := tools.Output{Text: answer.Text, Failed: !answer.Accepted}
	switch {
	case answer.Accepted:
		return output, &ending{class: ralph.EndOK, accepted: true}
	case answer.Over && ctx.Err() != nil:
		return output, c.timeIsUp(ctx)
	case answer.Over:
		return output, &ending{class: ralph.EndOK}
	}
	if answer.Rejected {
		c.rejections = append(c.rejections, answer.Text)
	}
	return output, nil
}

// finish asks for a learning if the case was accepted, after a rejection or as the options say, and there is
// budget for another call.
func (c *caseRole) finish(ctx context.Context, end *ending) {
	asks := len(c.rejections) > 0 || c.o.LearnFromEach
	if end != nil && end.accepted && asks && !c.order.Stop && c.record.err == nil {
		end.learning = c.proposeLearning(ctx, c.rejections)
	}
}

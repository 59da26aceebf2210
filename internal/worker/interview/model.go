package interview

import (
	"context"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/chat"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

// The tools that belong to the interview itself.
const (
	askUser   = "ask_user"
	writePlan = "write_plan"
)

var toolWords = words{
	who:     "the model",
	meter:   "the provider",
	ask:     "Use ask_user, one question at a time, and offer options where there are any.",
	submit:  "Call write_plan once, with everything. If it comes back with problems, fix them and call it again.",
	closing: "Text without a tool call is ignored.",
	finish:  "call write_plan",
}

// conversation is an interview with a model, in one context.
type conversation struct {
	*session
	chat    *chat.Conversation
	tools   []model.Tool
	reading map[string]tools.Tool
}

func begin(s *session) *conversation {
	o := s.options
	c := &conversation{session: s, reading: map[string]tools.Tool{}}
	for _, t := range o.Tools {
		spec := t.Spec()
		c.reading[spec.Name] = t
		c.tools = append(c.tools, spec)
	}
	c.tools = append(
		c.tools, tools.Spec(askUser, askUserPage, askInput{}), tools.Spec(writePlan, writePlanPage, planInput{}),
	)
	c.chat = chat.New(chat.Options{
		Client: o.Client, Model: o.Model, Price: o.Price, Live: o.Live, Terse: true, Mask: o.Mask,
	})
	c.chat.Begin(s.system(), c.tools)
	c.chat.Add(model.Message{Role: model.User, Text: firstMessage(o)})
	return c
}

func (c *conversation) spent() ralph.Spending { return c.chat.Spent() }

func (c *conversation) answers() string { return c.chat.Answers() }

func (c *conversation) turn(ctx context.Context) error {
	reply, err := c.chat.Ask(ctx, "")
	switch {
	case err != nil:
		c.fail(ctx, err)
		return nil
	case reply.Empty():
		c.handleEmpty(ctx)
		return nil
	}
	c.empty = 0
	c.out.Turns++
	c.chat.Add(reply.Message)
	if len(reply.Message.Calls) == 0 {
		c.nudge(reply.End)
		return nil
	}
	return c.answer(ctx, reply.Message.Calls)
}

// nudge answers a reply without calls.
func (c *conversation) nudge(why model.End) {
	c.quiet++
	if c.quiet == inARow {
		c.end(NoPlan, ralph.EndOK, "the model replied %d times in a row without calling a tool", inARow)
		if why == model.EndRefuse {
			c.out.Error = "the model refuses"
		}
		return
	}
	text := "Text without a tool call is ignored. Ask with ask_user, look with the reading tools, or submit the plan " +
		"with write_plan."
	if why == model.EndLength {
		text = "Your answer was cut off because it was too long. Say less, and call a tool: if the plan is too long for " +
			"one call, plan fewer or shorter tasks."
	}
	c.chat.Add(model.Message{Role: model.User, Text: text + c.reminder()})
}

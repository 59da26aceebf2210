package interview

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/chat"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

const (
	// DefaultTurns is the default number of model calls of an interview.
	DefaultTurns = 60
	// MaxQuestions is the maximum number of questions to a person.
	MaxQuestions = 10

	// BriefLimit is the maximum number of characters of a brief.
	BriefLimit = 200_000

	inARow     = 3  // replies without a call, or empty replies, in a row that end an interview
	callsLimit = 64 // calls of one reply that are made
)

// The tools that belong to the interview itself.
const (
	askUser   = "ask_user"
	writePlan = "write_plan"
)

//go:embed interview.md
var systemPage string

// Options configure an interview.
type Options struct {
	Client model.Client // wrapped in a model.Retrier if it is not one
	Model  string
	Tools  []tools.Tool // for reading

	Brief    string       // what to plan
	Project  string       // what is known about the project: its checks, its files
	Existing []ralph.Task // tasks already in the list; the new ones follow them

	// Ask asks a person a question and waits for the answer. ok is false if there is no answer. It
	// ends with ctx; an error is trouble of the harness. Without Ask, no question gets an answer.
	Ask func(ctx context.Context, q Question) (answer string, ok bool, err error)

	// Lint makes a list out of tasks, and returns its errors and warnings.
	Lint func(tasks []ralph.Task) (text string, faults, doubts []string)

	MaxTurns  int                                            // default: DefaultTurns
	MaxCost   float64                                        // USD; 0 means no limit, also for MaxTokens
	MaxTokens int64                                          // of all calls together
	Unmetered bool                                           // ignore a limit if the spending is unknown
	Price     func(name string) (price model.Price, ok bool) // default: model.PriceOf
	KeyEnv    string                                         // variable that holds the key, for a hint
	Live      func(ralph.Activity)                           // may be nil
}

// Run holds an interview. The Outcome says how it ended; an error is trouble of the harness, or
// invalid options.
func Run(ctx context.Context, o Options) (Outcome, error) {
	c, err := begin(o)
	if err != nil {
		return Outcome{Status: Failed, End: ralph.EndFailed, Error: err.Error()}, fmt.Errorf("begin interview: %w", err)
	}
	started := time.Now()
	err = c.talk(ctx)
	c.out.Duration = ralph.Span(time.Since(started))
	c.out.Model = cmp.Or(c.chat.Answers(), o.Model)
	spent := c.chat.Spent()
	c.out.Tokens, c.out.TokensPartial = spent.Tokens, spent.TokensPartial
	c.out.Cost, c.out.CostEstimated, c.out.CostPartial = spent.Cost, spent.Estimated, spent.CostPartial
	return c.out, err
}

// conversation is a running interview.
type conversation struct {
	options Options
	chat    *chat.Conversation
	tools   []model.Tool
	reading map[string]tools.Tool
	out     Outcome

	over    bool // out says how
	quiet   int  // replies in a row without a call
	empty   int  // empty replies in a row
	doubted bool // the model was given warnings
}

func begin(o Options) (*conversation, error) {
	switch {
	case o.Client == nil || o.Lint == nil:
		return nil, errors.New("the client or the lint is missing")
	case strings.TrimSpace(o.Brief) == "":
		return nil, errors.New("the brief is empty")
	case utf8.RuneCountInString(o.Brief) > BriefLimit:
		return nil, fmt.Errorf("the brief has more than %d characters; summarize it and name the files with the details",
			BriefLimit)
	}
	o.MaxTurns = cmp.Or(max(o.MaxTurns, 0), DefaultTurns)
	if o.Live == nil {
		o.Live = func(ralph.Activity) {}
	}
	c := &conversation{options: o, reading: map[string]tools.Tool{}}
	for _, t := range o.Tools {
		spec := t.Spec()
		c.reading[spec.Name] = t
		c.tools = append(c.tools, spec)
	}
	c.tools = append(
		c.tools, tools.Spec(askUser, askUserPage, askInput{}), tools.Spec(writePlan, writePlanPage, planInput{}),
	)
	c.chat = chat.New(chat.Options{Client: o.Client, Model: o.Model, Price: o.Price, Live: o.Live, Terse: true})
	c.chat.Begin(strings.ReplaceAll(strings.TrimSpace(systemPage), "{{questions}}", strconv.Itoa(MaxQuestions)), c.tools)
	c.chat.Add(model.Message{Role: model.User, Text: firstMessage(o)})
	return c, nil
}

// talk continues until there is an outcome.
func (c *conversation) talk(ctx context.Context) error {
	for !c.over {
		if why := c.overspent(); why != "" {
			c.end(OverBudget, ralph.EndOK, "%s", why)
			break
		}
		reply, err := c.chat.Ask(ctx, "")
		if err != nil {
			c.fail(ctx, err)
			break
		}
		if reply.Empty() {
			c.handleEmpty(ctx)
			continue
		}
		c.empty = 0
		c.out.Turns++
		c.chat.Add(reply.Message)
		if len(reply.Message.Calls) == 0 {
			c.nudge(reply.End)
		} else if err := c.answer(ctx, reply.Message.Calls); err != nil {
			return err
		}
		if left := c.options.MaxTurns - c.out.Turns; left <= 0 && !c.over {
			c.end(NoPlan, ralph.EndOK, "no plan after %d turns", c.out.Turns)
		}
	}
	return nil
}

func (c *conversation) end(s Status, e ralph.EndClass, format string, args ...any) {
	c.over, c.out.Status, c.out.End = true, s, e
	c.out.Error = plainLine(fmt.Sprintf(format, args...))
}

// emptyPause is the pause after an empty reply, and twice that after a second one.
const emptyPause = 2 * time.Second

// handleEmpty asks again after a pause. An empty reply is no turn.
func (c *conversation) handleEmpty(ctx context.Context) {
	c.empty++
	if c.empty == inARow {
		c.end(NoPlan, ralph.EndEmpty, "the model sent %d empty replies in a row", inARow)
		return
	}
	c.options.Live(ralph.Activity{Kind: "retry", Detail: "the model said nothing"})
	pause, cancel := context.WithTimeout(ctx, time.Duration(c.empty)*emptyPause)
	defer cancel()
	<-pause.Done() // the next call finds out if ctx is done
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

// reminder tells the model when it has to finish.
func (c *conversation) reminder() string {
	const soon = 5
	switch left := c.options.MaxTurns - c.out.Turns; {
	case left > soon || left <= 0:
		return ""
	case left == 1:
		return "\n\n[This is the last turn: call write_plan now.]"
	default:
		return fmt.Sprintf("\n\n[%d turns are left: finish and call write_plan.]", left)
	}
}

const (
	projectLimit  = 40_000 // characters
	existingLimit = 400    // tasks that are listed; more are only counted
)

// firstMessage returns the brief and what is known about the project.
func firstMessage(o Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Brief\n\n%s\n", strings.TrimSpace(o.Brief))
	if project := strings.TrimSpace(o.Project); project != "" {
		fmt.Fprintf(&b, "\n# What is known about the project\n\n%s\n", tools.Clip(project, projectLimit))
		if n := utf8.RuneCountInString(project); n > projectLimit {
			fmt.Fprintf(&b, "[%d characters left out]\n", n-projectLimit)
		}
	}
	if len(o.Existing) > 0 {
		b.WriteString("\n# Tasks already in the list\n\n")
		b.WriteString("They stay as they are. Write only new tasks, with unused ids; they are added after these and may " +
			"depend on them.\n\n")
		for i, t := range o.Existing {
			if i == existingLimit {
				fmt.Fprintf(&b, "- and %d more\n", len(o.Existing)-existingLimit)
				break
			}
			fmt.Fprintf(&b, "- %s (%s): %s%s\n", t.ID, t.Status, plainLine(t.Title), marks(t))
		}
	}
	return b.String()
}

func marks(t ralph.Task) string {
	if len(t.DependsOn) == 0 {
		return ""
	}
	return " [after " + strings.Join(t.DependsOn, ", ") + "]"
}

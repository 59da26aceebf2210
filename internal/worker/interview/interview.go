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
	"github.com/ralphloop/ralph/internal/secrets"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
)

const (
	// DefaultTurns is the default number of model calls of an interview.
	DefaultTurns = 60
	// DefaultAgentTurns is the default number of calls of an agent. Each of them is a whole session.
	DefaultAgentTurns = 20
	// MaxQuestions is the maximum number of questions to a person.
	MaxQuestions = 10

	// BriefLimit is the maximum number of characters of a brief.
	BriefLimit = 200_000

	inARow = 3 // replies without a question or a plan, or empty replies, in a row that end an interview
)

//go:embed interview.md
var systemPage string

// Options configure an interview. The planner is a model, with a Client, or an Agent.
type Options struct {
	Client model.Client // wrapped in a model.Retrier if it is not one
	Model  string
	Tools  []tools.Tool    // for reading; an agent has its own
	Mask   *secrets.Masker // masks secrets in what the model is sent; nil masks nothing

	Agent ralph.Agent      // must be read-only, so that its outcome includes its answer
	Call  ralph.AgentInput // what each call of the agent has in common: the workspace, time limits, a marker

	Brief    string       // what to plan
	Project  string       // what is known about the project: its checks, its files
	Existing []ralph.Task // tasks already in the list; the new ones follow them

	// Ask asks a person a question and waits for the answer. ok is false if there is no answer. It
	// ends with ctx; an error is trouble of the harness. Without Ask, no question gets an answer.
	Ask func(ctx context.Context, q Question) (answer string, ok bool, err error)

	// Lint makes a list out of tasks, and returns its errors and warnings.
	Lint func(tasks []ralph.Task) (text string, faults, doubts []string)

	MaxTurns  int                                            // default: DefaultTurns, or DefaultAgentTurns
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
	if err := o.check(); err != nil {
		return Outcome{Status: Failed, End: ralph.EndFailed, Error: err.Error()}, fmt.Errorf("begin interview: %w", err)
	}
	if o.Live == nil {
		o.Live = func(ralph.Activity) {}
	}
	s := &session{options: o, words: toolWords, turns: cmp.Or(max(o.MaxTurns, 0), DefaultTurns)}
	var p planner
	if o.Agent != nil {
		s.words, s.turns = agentWords, cmp.Or(max(o.MaxTurns, 0), DefaultAgentTurns)
		p = &rounds{session: s}
	} else {
		p = begin(s)
	}
	started := time.Now()
	err := s.talk(ctx, p)
	s.out.Duration = ralph.Span(time.Since(started))
	s.out.Model = cmp.Or(p.answers(), o.Model)
	spent := p.spent()
	s.out.Tokens, s.out.TokensPartial = spent.Tokens, spent.TokensPartial
	s.out.Cost, s.out.CostEstimated, s.out.CostPartial = spent.Cost, spent.Estimated, spent.CostPartial
	return s.out, err
}

// check returns what is wrong with the options.
func (o Options) check() error {
	switch {
	case o.Client == nil && o.Agent == nil || o.Lint == nil:
		return errors.New("the planner or the lint is missing")
	case strings.TrimSpace(o.Brief) == "":
		return errors.New("the brief is empty")
	case utf8.RuneCountInString(o.Brief) > BriefLimit:
		return fmt.Errorf("the brief has more than %d characters; summarize it and name the files with the details",
			BriefLimit)
	}
	return nil
}

// planner is who is asked for a plan: a model, or an agent.
type planner interface {
	// turn gets one reply and handles it. An error is trouble of the harness.
	turn(ctx context.Context) error
	// spent returns what all turns used so far.
	spent() ralph.Spending
	// answers returns the model that answered last; "" if it is unknown.
	answers() string
}

// words are what a planner is told about how to answer.
type words struct{ who, meter, ask, submit, closing, finish string }

// session is a running interview, whoever is asked.
type session struct {
	options Options
	words   words
	turns   int // the maximum
	out     Outcome

	over    bool // out says how
	quiet   int  // replies in a row without a question or a plan
	empty   int  // empty replies in a row
	doubted bool // the planner was given warnings
}

// talk continues until there is an outcome.
func (s *session) talk(ctx context.Context, p planner) error {
	for !s.over {
		if why := s.overspent(p.spent()); why != "" {
			s.end(OverBudget, ralph.EndOK, "%s", why)
			break
		}
		if err := p.turn(ctx); err != nil {
			return err
		}
		if s.out.Turns >= s.turns && !s.over {
			s.end(NoPlan, ralph.EndOK, "no plan after %d turns", s.out.Turns)
		}
	}
	return nil
}

// system returns what the planner is told first.
func (s *session) system() string {
	return strings.TrimSpace(strings.NewReplacer(
		"{{questions}}", strconv.Itoa(MaxQuestions), "{{ask}}", s.words.ask, "{{submit}}", s.words.submit,
		"{{closing}}", s.words.closing,
	).Replace(systemPage))
}

func (s *session) end(status Status, e ralph.EndClass, format string, args ...any) {
	s.over, s.out.Status, s.out.End = true, status, e
	s.out.Error = plainLine(fmt.Sprintf(format, args...))
}

// handleEmpty asks again after a pause. An empty reply is no turn.
func (s *session) handleEmpty(ctx context.Context) {
	s.empty++
	if s.empty == inARow {
		s.end(NoPlan, ralph.EndEmpty, "%s sent %d empty replies in a row", s.words.who, inARow)
		return
	}
	s.pause(ctx, s.empty, s.words.who+" said nothing")
}

// retryPause is the pause after a reply that cannot be used, and twice that after a second one.
const retryPause = 2 * time.Second

// pause waits before the planner is asked again.
func (s *session) pause(ctx context.Context, times int, why string) {
	s.options.Live(ralph.Activity{Kind: "retry", Detail: why})
	pause, cancel := context.WithTimeout(ctx, time.Duration(times)*retryPause)
	defer cancel()
	<-pause.Done() // the next call finds out if ctx is done
}

// reminder tells the planner when it has to finish.
func (s *session) reminder() string {
	const soon = 5
	switch left := s.turns - s.out.Turns; {
	case left > soon || left <= 0:
		return ""
	case left == 1:
		return "\n\n[This is the last turn: " + s.words.finish + " now.]"
	default:
		return fmt.Sprintf("\n\n[%d turns are left: finish and %s.]", left, s.words.finish)
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

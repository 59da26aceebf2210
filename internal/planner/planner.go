// Package planner asks a model or an agent CLI for a task list, in an interview with the user.
package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/models"
	"github.com/ralphloop/ralph/internal/project"
	"github.com/ralphloop/ralph/internal/worker/interview"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/plan"
)

type (
	// Interview is the outcome of an interview.
	Interview = interview.Outcome
	// Plan is what the model wrote.
	Plan = interview.Plan
	// Spent is what an interview used.
	Spent = interview.Spent
	// Question is a question that only a person can answer.
	Question = interview.Question
	// Asked is a question with its answer.
	Asked = interview.Asked
	// Answers are answers that were written before the interview.
	Answers = interview.Answers
)

const (
	// DefaultTurns is the default number of turns of a model that plans.
	DefaultTurns = interview.DefaultTurns
	// DefaultAgentTurns is the default number of calls of an agent that plans.
	DefaultAgentTurns = interview.DefaultAgentTurns
	// BriefLimit is the maximum number of characters of a brief.
	BriefLimit = interview.BriefLimit
)

// ReadAnswers reads a file of answers.
func ReadAnswers(path string) (*Answers, error) {
	answers, err := interview.ReadAnswers(path)
	if err != nil {
		return nil, &config.UsageError{Msg: err.Error()}
	}
	return answers, nil
}

// OldList says what happens to an existing list.
type OldList = plan.DraftMode

// The choices for an existing list. None of them loses a done task.
const (
	OldListRefused  = plan.DraftNew     // there must be none
	OldListKept     = plan.DraftAppend  // the new tasks follow it
	OldListReplaced = plan.DraftReplace // the new list replaces it
)

// Request is what to plan, and who should do it.
type Request struct {
	assembly.Request
	Old OldList
	// AgentNamed means that the user named an agent for this plan: it is used even if a model is configured.
	AgentNamed bool
}

// usesAgent reports whether an agent plans. A model does if one is configured.
func (r Request) usesAgent() bool {
	if r.Settings.Agent.Name == config.Worker {
		return false
	}
	return r.AgentNamed || !models.Configured(r.ForModels(), models.Planner)
}

// Consent returns the config keys that matter to this plan if the project's own file sets them, and what the project's
// files make the agent do by itself. Both need the user's consent.
func (r Request) Consent() (keys []string, files []config.NamedCommand) {
	if !r.usesAgent() {
		return []string{
			"tasks.file", "worker.base_url", "worker.api_key_env", "planner.base_url", "planner.api_key_env",
		}, nil
	}
	if found, err := assembly.FindPlanner(r.Request); err == nil { // otherwise New says why not
		files = found.Files
	}
	return []string{"tasks.file", "agent.command", "agent.args", "agent.env"}, files
}

// Planner is an interview that is ready to begin: who plans is chosen, and its list has a file.
type Planner struct {
	request Request
	model   models.Choice
	agent   *assembly.PlannerAgent // plans instead of a model; nil if a model does
	draft   *plan.Draft
}

// New finds everything that an interview needs, or returns what is missing. It asks nobody and
// writes nothing.
func New(req Request) (*Planner, error) {
	if err := req.MaskSecrets(); err != nil {
		return nil, err
	}
	p := &Planner{request: req}
	var err error
	p.draft, err = plan.NewDraft(req.Workspace.Dir, plan.DraftOptions{
		List: req.Settings.Tasks.File,
		Mode: req.Old,
		Lint: assembly.Around(req.Workspace, req.Settings),
	})
	if err != nil {
		return nil, p.classifyListError(err)
	}
	if req.usesAgent() {
		p.agent, err = assembly.FindPlanner(req.Request)
		return p, err
	}
	if p.model, err = models.Choose(req.ForModels(), models.Planner); err != nil {
		return nil, err
	}
	if s := req.Settings; s.MaxCost > 0 && !s.AllowUnmetered && !models.IsPriced(s, p.model.Model) {
		return nil, &config.UsageError{
			Msg:  models.Unpriced(s, p.model.Model),
			Hint: "or limit the tokens with --max-tokens; --allow-unmetered continues and ignores this limit",
		}
	}
	return p, nil
}

// Describe returns who plans and what it may do, for people.
func (p *Planner) Describe() string {
	const reads = ", which reads files and changes none"
	switch {
	case p.agent == nil:
		return p.model.String() + reads
	case p.agent.Name == "command":
		return "a custom command, which Ralph does not restrict"
	case p.agent.Model != "":
		return p.agent.Name + " (" + p.agent.Model + ")" + reads
	}
	return p.agent.Name + reads
}

// IsAgent reports whether an agent plans.
func (p *Planner) IsAgent() bool { return p.agent != nil }

// Late says that the planner can exceed a limit on cost or tokens; "" if it cannot.
func (p *Planner) Late() string {
	if p.agent == nil {
		return ""
	}
	return p.agent.Late
}

// Existing returns the number of tasks that the new ones will follow.
func (p *Planner) Existing() int { return len(p.draft.Existing()) }

// CheckBrief returns what is wrong with a brief.
func CheckBrief(brief string) error {
	switch {
	case strings.TrimSpace(brief) == "":
		return &config.UsageError{Msg: "the brief is empty", Hint: `describe what to plan: ralph plan "what you want"`}
	case utf8.RuneCountInString(brief) > BriefLimit:
		return &config.UsageError{
			Msg:  fmt.Sprintf("the brief has more than %d characters", BriefLimit),
			Hint: "summarize it, and name the files with the details",
		}
	}
	return nil
}

// Talk is the user's side of an interview.
type Talk struct {
	Brief    string
	MaxTurns int
	Ask      func(context.Context, Question) (answer string, ok bool, err error)
	Live     func(ralph.Activity)
}

// Interview asks for a plan. Who plans sees the workspace and changes nothing in it.
func (p *Planner) Interview(ctx context.Context, t Talk) (talked Interview, err error) {
	root, err := os.OpenRoot(p.request.Workspace.Dir)
	if err != nil {
		return Interview{}, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	s := p.request.Settings
	options := interview.Options{
		Price:     models.Prices(s),
		Brief:     t.Brief,
		Project:   p.facts(root),
		Existing:  p.draft.Existing(),
		Lint:      p.draft.Preview,
		Ask:       t.Ask,
		Live:      t.Live,
		MaxTurns:  t.MaxTurns,
		MaxCost:   s.MaxCost,
		MaxTokens: s.MaxTokens,
		Unmetered: s.AllowUnmetered,
		Mask:      p.request.Mask,
	}
	if p.agent != nil {
		return p.interviewAgent(ctx, options)
	}
	options.Model, options.KeyEnv = p.model.Model, p.model.KeyEnv
	options.Tools = tools.Reading(tools.Options{Root: root, Env: config.AgentEnv(p.request.Env, config.Passes{})})
	if options.Client, err = p.model.Client(); err != nil {
		return Interview{}, err
	}
	talked, err = interview.Run(ctx, options)
	if talked.End == ralph.EndAuth && talked.Hint == "" { // the server wants a key, and none was configured
		talked.Hint = "set a valid key for this model's provider, and name its variable with planner.api_key_env or " +
			"worker.api_key_env"
	}
	return talked, err
}

// interviewAgent holds the interview with an agent CLI.
func (p *Planner) interviewAgent(ctx context.Context, options interview.Options) (talked Interview, err error) {
	run := ralph.NewRunID(time.Now())
	agent, leave, err := p.agent.Open(ctx, run)
	if err != nil {
		return Interview{}, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	s := p.request.Settings
	options.Agent, options.Model = agent, p.agent.Model
	options.Call = ralph.AgentInput{
		Dir: p.request.Workspace.Dir, Marker: run, Timeout: s.IterationTimeout.Duration(),
		IdleTimeout: s.IdleTimeout.Duration(),
	}
	talked, err = interview.Run(ctx, options)
	talked.Agent = p.agent.Name
	return talked, err
}

// facts returns what is known about the project up front, so that a model need not spend turns on
// it.
func (p *Planner) facts(root *os.Root) string {
	const enough = 200
	var b strings.Builder
	if entries, err := fs.ReadDir(root.FS(), "."); err == nil {
		var names []string
		for _, e := range entries {
			switch {
			case e.Name() == ".git":
			case e.IsDir():
				names = append(names, e.Name()+"/")
			default:
				names = append(names, e.Name())
			}
		}
		fmt.Fprintf(&b, "At the top level: %s\n", cmp.Or(strings.Join(names[:min(len(names), enough)], ", "), "nothing"))
		if n := len(names) - enough; n > 0 {
			fmt.Fprintf(&b, "(and %d more)\n", n)
		}
	}
	s := p.request.Settings
	checks, _ := assembly.RunChecks(p.request.Workspace, s)
	if len(checks) == 0 {
		b.WriteString("No check for the whole project is configured: only a task's own checks can prove it.\n")
	}
	for _, check := range checks {
		fmt.Fprintf(&b, "Besides its own checks, every task must pass: %s\n", check)
	}
	for _, proposal := range project.Propose(p.request.Workspace.Dir) {
		if !slices.Contains(checks, proposal.Command) {
			fmt.Fprintf(&b, "The project also has this (%s): %s\n", proposal.Because, proposal.Command)
		}
	}
	if pattern := s.Checks.TaskTests; pattern != "" {
		fmt.Fprintf(&b, "The tests of a task are the files %s, with its id in place of {id}.\n", pattern)
	}
	return b.String()
}

// Land writes the list of an interview, atomically.
func (p *Planner) Land(talked Interview) (file string, err error) {
	list, err := p.draft.Write(talked.Tasks)
	if err != nil {
		return "", p.classifyListError(err)
	}
	return list.Path(), nil
}

// classifyListError distinguishes what the user can fix from trouble with the disk.
func (p *Planner) classifyListError(err error) error {
	if there, ok := errors.AsType[*plan.ExistsError](err); ok {
		return &config.UsageError{Msg: there.Why, Hint: p.existingListHint(there)}
	}
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	if path || link {
		return fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	return &config.UsageError{Msg: err.Error()}
}

// existingListHint returns what to do about an existing list.
func (p *Planner) existingListHint(there *plan.ExistsError) string {
	const elsewhere = "--tasks FILE writes the new list somewhere else"
	switch {
	case there.Tasks == 0:
		return "fix it or move it away; " + elsewhere
	case !there.Own():
		return fmt.Sprintf("import it with: ralph tasks import %s; or %s", there.List, elsewhere)
	case p.request.Old == OldListRefused && there.Done == 0:
		return "--keep-existing adds the new tasks to it, --force replaces it; " + elsewhere
	}
	return "--keep-existing adds the new tasks to it; " + elsewhere
}

// StopReason returns the end of an interview as a run's stop reason; "" if there is a plan.
func StopReason(talked Interview) ralph.StopReason {
	switch talked.Status {
	case interview.Written:
		return ""
	case interview.NeedsAnswers:
		return ralph.NeedsDecision
	case interview.OverBudget:
		return ralph.MaxCost
	}
	ends := map[ralph.EndClass]ralph.StopReason{
		ralph.EndAuth: ralph.AuthError, ralph.EndLimit: ralph.RateLimited, ralph.EndProvider: ralph.ProviderFailed,
		ralph.EndInterrupted: ralph.Interrupted, ralph.EndMissing: ralph.ProgramMissing,
	}
	return cmp.Or(ends[talked.End], ralph.AgentFailed)
}

// Package planner asks a model for a task list, in an interview with the user.
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
	// Interview is what came of one.
	Interview = interview.Outcome
	// Plan is what the model wrote.
	Plan = interview.Plan
	// Spent is what an interview took.
	Spent = interview.Spent
	// Question is something that only a person can tell.
	Question = interview.Question
	// Asked is a question with its answer.
	Asked = interview.Asked
	// Answers are what somebody wrote down before he was asked.
	Answers = interview.Answers
)

const (
	// DefaultTurns is how many turns a planner has if nothing else is said.
	DefaultTurns = interview.DefaultTurns
	// BriefLimit is how many characters a brief may have.
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

// OldList says what is to become of a list that is there already.
type OldList = plan.DraftMode

// What can become of it. Nowhere a task that is done is lost.
const (
	OldListRefused  = plan.DraftFresh  // there may be none
	OldListKept     = plan.DraftBehind // the new tasks follow it
	OldListReplaced = plan.DraftAnew   // the new one takes its place
)

// Planner is an interview that could begin: its model is chosen, and its list has a place.
type Planner struct {
	request assembly.Request
	model   models.Choice
	draft   *plan.Draft
	old     OldList
}

// New finds everything that an interview needs, or says what is missing. It asks nobody and writes nothing.
func New(req assembly.Request, old OldList) (*Planner, error) {
	p := &Planner{request: req, old: old}
	var err error
	p.draft, err = plan.NewDraft(req.Workspace.Dir, plan.DraftOptions{
		List:   req.Settings.Tasks.File,
		Mode:   old,
		Around: assembly.Around(req.Workspace, req.Settings),
	})
	if err != nil {
		return nil, p.listTrouble(err)
	}
	if p.model, err = models.Choose(req.ForModels(), models.Planner); err != nil {
		return nil, err
	}
	if s := req.Settings; s.MaxCost > 0 && !s.AllowUnmetered && !models.IsPriced(s, p.model.Model) {
		return nil, &config.UsageError{
			Msg:  models.Unpriced(s, p.model.Model),
			Hint: "or cap the tokens with --max-tokens; --allow-unmetered goes on all the same, with this cap ignored",
		}
	}
	return p, nil
}

// Model is the planner's, as people are told of it.
func (p *Planner) Model() string { return p.model.String() }

// Existing is how many tasks the new ones will follow.
func (p *Planner) Existing() int { return len(p.draft.Existing()) }

// CheckBrief says what is wrong with a brief.
func CheckBrief(brief string) error {
	switch {
	case strings.TrimSpace(brief) == "":
		return &config.UsageError{Msg: "the brief is empty", Hint: `say what is to be planned: ralph plan "what is wanted"`}
	case utf8.RuneCountInString(brief) > BriefLimit:
		return &config.UsageError{
			Msg:  fmt.Sprintf("the brief has more than %d characters", BriefLimit),
			Hint: "say what it is about, and name the files that say more",
		}
	}
	return nil
}

// Talk is what somebody brings to an interview.
type Talk struct {
	Brief    string
	MaxTurns int
	Ask      func(context.Context, Question) (answer string, ok bool, err error)
	Live     func(ralph.Activity)
}

// Interview asks the model for a plan. It sees the workspace through tools that only read.
func (p *Planner) Interview(ctx context.Context, t Talk) (Interview, error) {
	client, err := p.model.Client()
	if err != nil {
		return Interview{}, err
	}
	root, err := os.OpenRoot(p.request.Workspace.Dir)
	if err != nil {
		return Interview{}, fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	s := p.request.Settings
	talked, err := interview.Run(ctx, interview.Options{
		Client: client,
		Model:  p.model.Model,
		KeyEnv: p.model.KeyEnv,
		Price:  models.Prices(s),
		Tools:  tools.Reading(tools.Options{Root: root, Env: p.request.Env.Untrusted()}),
		Brief:  t.Brief, Project: p.facts(root), Existing: p.draft.Existing(), Lint: p.draft.Try, Ask: t.Ask, Live: t.Live,
		MaxTurns: t.MaxTurns, MaxCost: s.MaxCost, MaxTokens: s.MaxTokens, Unmetered: s.AllowUnmetered,
	})
	if talked.End == ralph.EndAuth && talked.Hint == "" { // a server that wants a key, and none was named
		talked.Hint = "set a key that is valid for this model's provider, and name its variable with planner.api_key_env " +
			"or worker.api_key_env"
	}
	return talked, err
}

// facts are what is known of the project before anybody looked: a model need not spend turns on it.
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
		fmt.Fprintf(&b, "At its top: %s\n", cmp.Or(strings.Join(names[:min(len(names), enough)], ", "), "nothing"))
		if n := len(names) - enough; n > 0 {
			fmt.Fprintf(&b, "(and %d more)\n", n)
		}
	}
	s := p.request.Settings
	checks, _ := assembly.RunChecks(p.request.Workspace, s)
	if len(checks) == 0 {
		b.WriteString("No check of the whole project is known: what a task's own checks do not prove is not proven.\n")
	}
	for _, check := range checks {
		fmt.Fprintf(&b, "Every task has to pass, besides its own checks: %s\n", check)
	}
	for _, proposal := range project.Propose(p.request.Workspace.Dir) {
		if !slices.Contains(checks, proposal.Command) {
			fmt.Fprintf(&b, "The project has this, too (%s): %s\n", proposal.Because, proposal.Command)
		}
	}
	if pattern := s.Checks.TaskTests; pattern != "" {
		fmt.Fprintf(&b, "The tests of a task are the files %s, with its id in place of {id}.\n", pattern)
	}
	return b.String()
}

// Land writes the list of an interview, at once or not at all.
func (p *Planner) Land(talked Interview) (file string, err error) {
	list, err := p.draft.Land(talked.Tasks)
	if err != nil {
		return "", p.listTrouble(err)
	}
	return list.Path(), nil
}

// listTrouble tells what the user can mend from trouble with the disk.
func (p *Planner) listTrouble(err error) error {
	if there, ok := errors.AsType[*plan.ExistsError](err); ok {
		return &config.UsageError{Msg: there.Why, Hint: p.wayAround(there)}
	}
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	if path || link {
		return fmt.Errorf("%w: %w", ralph.ErrIO, err)
	}
	return &config.UsageError{Msg: err.Error()}
}

// wayAround is what helps where a list is in the way.
func (p *Planner) wayAround(there *plan.ExistsError) string {
	const elsewhere = "--tasks FILE writes the new list somewhere else"
	switch {
	case there.Tasks == 0:
		return "mend it, or move it away; " + elsewhere
	case !there.Own():
		return fmt.Sprintf("bring it over with: ralph tasks import %s; or %s", there.List, elsewhere)
	case p.old == OldListRefused && there.Done == 0:
		return "--keep-existing puts the new tasks behind it, --force writes it anew; " + elsewhere
	}
	return "--keep-existing puts the new tasks behind it; " + elsewhere
}

// StopReason is what an interview ended with, as the reason for which a run would stop; "" if there is a plan.
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
		ralph.EndInterrupted: ralph.Interrupted,
	}
	return cmp.Or(ends[talked.End], ralph.AgentFailed)
}

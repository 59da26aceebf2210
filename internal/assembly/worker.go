package assembly

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/models"
	"github.com/ralphloop/ralph/internal/worker/chat"
	"github.com/ralphloop/ralph/worker"
)

// noCommandLimit is longer than any run.
const noCommandLimit = ralph.Span(1e9 * time.Second)

// builtIn returns the built-in worker, or a reviewer if the role is evaluator.
func (p *Plan) builtIn(c chosenAgent) ralph.Agent {
	client, err := c.by.Client()
	if err != nil {
		return unavailableAgent{c.name, err}
	}
	options := worker.Options{
		Client:   client,
		Model:    c.by.Model,
		Price:    models.Prices(p.Settings),
		KeyEnv:   c.by.KeyEnv,
		Env:      c.options.Env,
		Enter:    c.options.Enter,
		Sandbox:  c.options.Sandbox,
		Mask:     p.Mask,
		Run:      p.run,
		MaxTurns: p.Settings.Worker.MaxTurnsPerTask,

		LearnFromEach:  p.Settings.Profile == "case",
		MaxBashTimeout: cmp.Or(p.Settings.Worker.CommandTimeout, noCommandLimit).Duration(),
	}
	if c.by.Role == models.Evaluator {
		options.MaxTurns = 0
		return worker.NewReviewer(options)
	}
	options.Hooks = p.hookSet()
	return worker.New(options)
}

// unavailableAgent is an agent that was available when the run was prepared, but is not any more.
type unavailableAgent struct {
	name string
	err  error
}

func (u unavailableAgent) Run(context.Context, ralph.AgentInput) (ralph.AgentOutcome, error) {
	return ralph.AgentOutcome{Agent: u.name, End: ralph.EndMissing, Error: u.err.Error()}, nil
}

// NoKey is the error for a model's API key that is needed but not set.
type NoKey struct {
	Variable string
	Part     string // the role that needs it: worker or evaluator
}

func (n *NoKey) Error() string {
	return fmt.Sprintf("%s is not set, so the %s has no API key; set it, or name another variable with %s.api_key_env",
		n.Variable, n.Part, n.Part)
}

// MissingKey returns a [*NoKey] if a run would end at its first model call because a key is not
// set, and nil otherwise. The first agent may lack its key if it has a fallback.
func (p *Plan) MissingKey() error {
	needed := []*models.Choice{}
	if len(p.agents) == 1 {
		needed = append(needed, p.agents[0].by)
	}
	for _, other := range []*chosenAgent{p.evaluator, p.author} {
		if other != nil {
			needed = append(needed, other.by)
		}
	}
	for _, by := range needed {
		if by != nil && by.LacksKey() {
			return &NoKey{Variable: by.KeyEnv, Part: string(by.Role)}
		}
	}
	return nil
}

// absoluteScripts makes the paths of model scripts absolute, because a run that continues in a
// worktree would look for them there.
func (p *Plan) absoluteScripts() {
	s := &p.Settings
	for _, role := range []*config.RoleSettings{&s.Worker.RoleSettings, &s.Evaluator.RoleSettings, &s.Planner} {
		if role.Provider == "scripted" && role.BaseURL != "" && !filepath.IsAbs(role.BaseURL) {
			role.BaseURL = filepath.Join(p.Workspace.Dir, role.BaseURL)
		}
	}
}

// WorkerSilence returns how long the built-in worker's model may be silent, or 0 if the first agent
// is a CLI.
func (p *Plan) WorkerSilence() ralph.Span {
	if p.agents[0].by == nil {
		return 0
	}
	return ralph.Span(p.agents[0].by.Idle)
}

// isModel reports whether an evaluator's name is that of a model and not of an agent CLI.
func isModel(name string) bool {
	cli, _, _ := strings.Cut(name, ":")
	_, known := agent.Find(cli)
	return !known
}

// ForModels returns the part of the request that selects models.
func (r Request) ForModels() models.Request {
	return models.Request{Settings: r.Settings, Env: r.Env, Dir: r.Workspace.Dir, Begun: r.Begun, Resumed: r.Resumed}
}

// worstCaseNotice returns a notice about the most tokens that one task can use, if that is known:
// every turn reads a full context window.
func (p *Plan) worstCaseNotice() (ralph.Notice, bool) {
	first := p.agents[0]
	if first.by == nil {
		return ralph.Notice{}, false
	}
	price, priced := models.Prices(p.Settings)(first.model)
	if first.by.Provider == "scripted" && !priced { // a script has no tokens and no cost
		return ralph.Notice{}, false
	}
	window, known := chat.WindowOf(first.model, models.Prices(p.Settings))
	guessed := ""
	if !known {
		guessed = " (the worker's own limit, because the model's context window is unknown)"
	}
	turns := int64(cmp.Or(p.Settings.Worker.MaxTurnsPerTask, worker.DefaultMaxTurns))
	text := fmt.Sprintf("worst case per task: %s turns of %s input tokens each%s, at most %s in total",
		groupDigits(turns), groupDigits(window), guessed, groupDigits(turns*window))
	if priced {
		text += fmt.Sprintf(", about $%.2f at the input price", price.Input*float64(turns*window)/1e6)
	}
	if p.evaluator != nil {
		calls := "one review for each case that passes the checks"
		if n := p.Settings.Evaluator.MaxCallsPerTask; n > 0 {
			calls = fmt.Sprintf("%d reviews", n)
		}
		text += ", and " + calls
	}
	return ralph.Notice{Code: "worst_case", Text: text}, true
}

// groupDigits formats a number that is not negative, with commas between groups of three digits.
func groupDigits(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

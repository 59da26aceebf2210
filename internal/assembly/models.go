package assembly

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/anthropic"
	"github.com/ralphloop/ralph/model/openai"
	"github.com/ralphloop/ralph/model/scripted"
)

// part is what a model is asked for. One file of turns may serve them all.
type part string

const (
	workerPart    part = "worker"
	evaluatorPart part = "evaluator"
	plannerPart   part = "planner"
)

// chosenModel is a model that plays a part, and how it is reached.
type chosenModel struct {
	part     part
	provider string
	model    string
	baseURL  string // for scripted, the file
	keyEnv   string // "" where no key is needed
	key      string
	idle     time.Duration
	skip     int // conversations of a script that an earlier process of the run has had

	reached model.Client // once it was asked for
}

// usualKeys are where makers of models want their keys looked for.
var usualKeys = map[string]string{"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}

// usualModels are taken if nothing says which one.
var usualModels = map[string]string{"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.1-sol", "scripted": "scripted"}

// chooseModel finds the model for a part. What a part leaves open is as the worker's, as far as it is the same provider's and at the same place: a key is sent
// nowhere that it was not meant for.
func (p *Plan) chooseModel(of part) (chosenModel, error) {
	s, env := p.Settings, p.Env
	own := ownRole(of, s)
	worker := s.Worker.RoleSettings
	worker.Model = cmp.Or(workersModel(s), worker.Model)
	if own.Provider == "" && own.BaseURL == "" {
		own.Provider, own.BaseURL = worker.Provider, worker.BaseURL
		own.APIKeyEnv = cmp.Or(own.APIKeyEnv, worker.APIKeyEnv)
		own.Model = cmp.Or(own.Model, worker.Model)
	}
	c := chosenModel{part: of, skip: p.Begun[string(of)], idle: silence(s), provider: own.Provider, model: own.Model, baseURL: own.BaseURL, keyEnv: own.APIKeyEnv}
	if c.provider == "" {
		c.provider = providerAtHand(own.BaseURL, env)
	}
	if c.provider == "" {
		return c, &config.UsageError{
			Msg:  fmt.Sprintf("which model the %s is to use is not known: neither %s nor %s is set", of, usualKeys["anthropic"], usualKeys["openai"]),
			Hint: "set one of them, or worker.provider, worker.model and, for a server of your own, worker.base_url",
		}
	}
	if c.provider == "scripted" {
		return c.withScript(p.Workspace)
	}
	if c.model == "" && c.baseURL != "" {
		return c, &config.UsageError{Msg: fmt.Sprintf("which model of %s the %s is to use is not known", c.baseURL, of), Hint: fmt.Sprintf("name it: --set %s.model=NAME", of)}
	}
	c.model = cmp.Or(c.model, usualModels[c.provider])
	// A server elsewhere gets a provider's key only if it is said to be that provider's.
	if c.keyEnv == "" && (c.baseURL == "" || own.Provider != "" && value(env, usualKeys[c.provider]) != "") {
		c.keyEnv = usualKeys[c.provider]
	}
	c.key = value(env, c.keyEnv)
	return c, nil
}

// modelKeys are the variables that hold the keys of the models that this run asks by itself.
func (p *Plan) modelKeys() []string {
	var keys []string
	add := func(of part, asked bool) {
		if !asked {
			return
		}
		if c, err := p.chooseModel(of); err == nil && c.key != "" && !slices.Contains(keys, c.keyEnv) {
			keys = append(keys, c.keyEnv)
		}
	}
	s := p.Settings
	add(workerPart, s.Agent.Name == config.Worker)
	add(evaluatorPart, s.Evaluator.Wanted() && s.Evaluator.Command == "" && isModel(s.Evaluator.Agent))
	return keys
}

// checkEnv is the environment of checks. They run what an agent wrote, and what they print goes back to it.
func (p *Plan) checkEnv() []string { return p.Env.Checks(p.modelKeys(), p.Settings.Agent.Env) }

// silence is how long a model may say nothing: as the user wants, and less than an agent CLI may, which does more than to think.
func silence(s config.Settings) time.Duration {
	const usual, ofAgents = 5 * time.Minute, 30 * time.Minute
	if idle := s.IdleTimeout.Duration(); idle > 0 && idle != ofAgents {
		return idle
	}
	return usual
}

// workersModel is what --model says, which is for the worker only if it works.
func workersModel(s config.Settings) string {
	if s.Agent.Name == config.Worker {
		return s.Agent.Model
	}
	return ""
}

func ownRole(of part, s config.Settings) config.RoleSettings {
	switch of {
	case evaluatorPart:
		own := s.Evaluator.RoleSettings
		own.Model = cmp.Or(own.Model, evaluatorsModel(s.Evaluator.Agent))
		return own
	case plannerPart:
		return s.Planner
	}
	own := s.Worker.RoleSettings
	own.Model = cmp.Or(workersModel(s), own.Model)
	return own
}

// evaluatorsModel is the model that an evaluator's name tells: worker:MODEL, or a model by itself. It is "" for worker alone.
func evaluatorsModel(name string) string {
	if name == config.Worker {
		return ""
	}
	if of, ok := strings.CutPrefix(name, config.Worker+":"); ok {
		return of
	}
	return name
}

// isModel reports whether an evaluator's name is that of a model and not of an agent CLI.
func isModel(name string) bool {
	cli, _, _ := strings.Cut(name, ":")
	_, known := agent.Find(cli)
	return !known
}

// providerAtHand is the one whose key is there. A server of the user's own speaks as OpenAI does, as nearly all of them do.
func providerAtHand(baseURL string, env config.Env) string {
	switch {
	case baseURL != "":
		return "openai"
	case value(env, usualKeys["anthropic"]) != "":
		return "anthropic"
	case value(env, usualKeys["openai"]) != "":
		return "openai"
	}
	return ""
}

func (c chosenModel) withScript(w Workspace) (chosenModel, error) {
	if c.baseURL == "" {
		return c, &config.UsageError{Msg: "a scripted model follows a file, and none is named", Hint: "--set worker.base_url=FILE"}
	}
	if !filepath.IsAbs(c.baseURL) {
		c.baseURL = filepath.Join(w.Dir, c.baseURL)
	}
	c.model, c.keyEnv = cmp.Or(c.model, usualModels[c.provider]), ""
	if _, err := c.script(); err != nil {
		return c, &config.UsageError{Msg: err.Error()}
	}
	return c, nil
}

func (c chosenModel) script() (model.Client, error) {
	script, err := scripted.Open(c.baseURL)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	client, err := script.Client(string(c.part), scripted.Options{Skip: c.skip})
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", c.baseURL, err)
	}
	return client, nil
}

// client reaches the model. A key that is not there is a fault like any other: the run says so and ends with the code for it.
func (c *chosenModel) client() (model.Client, error) {
	if c.reached != nil {
		return c.reached, nil
	}
	var err error
	switch {
	case c.keyEnv != "" && c.key == "":
		c.reached = keyless{c.keyEnv}
	case c.provider == "anthropic":
		c.reached = anthropic.New(anthropic.Options{BaseURL: c.baseURL, Key: c.key, Idle: c.idle})
	case c.provider == "openai":
		c.reached = openai.New(openai.Options{BaseURL: c.baseURL, Key: c.key, Idle: c.idle})
	default:
		c.reached, err = c.script()
	}
	return c.reached, err
}

// keyless is a model that cannot be asked.
type keyless struct{ variable string }

func (k keyless) Send(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
	return model.Reply{}, &model.Fault{Kind: model.FaultAuth, Message: k.variable + " is not set"}
}

// String is the model as people are told of it.
func (c chosenModel) String() string {
	switch {
	case c.provider == "scripted":
		return "a script, " + c.baseURL
	case c.baseURL != "":
		return c.model + " at " + withoutPassword(c.baseURL)
	}
	return c.model + " of " + c.provider
}

func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its own address"
	}
	return u.Redacted()
}

// prices are those that the user gave, before those of the table.
func prices(s config.Settings) func(string) (model.Price, bool) {
	own := map[string]model.Price{}
	for _, text := range s.Prices {
		if name, price, ok := config.ParsePrice(text); ok {
			own[strings.ToLower(name)] = price
		}
	}
	return func(name string) (model.Price, bool) {
		if price, ok := own[strings.ToLower(name)]; ok {
			if known, ok := model.PriceOf(name); ok && price.Context == 0 {
				price.Context = known.Context
			}
			return price, true
		}
		return model.PriceOf(name)
	}
}

// worstCase is what one task can take at most, as far as that can be said before it begins: every turn reads a full window.
func (p *Plan) worstCase() (ralph.Notice, bool) {
	first := p.agents[0]
	if first.by == nil {
		return ralph.Notice{}, false
	}
	price, known := prices(p.Settings)(first.model)
	window := price.Context
	if !known || window == 0 {
		return ralph.Notice{}, false
	}
	turns := int64(cmp.Or(p.Settings.Worker.MaxTurnsPerTask, 32))
	text := fmt.Sprintf("worst case for a task: %d turns of %s tokens", turns, thousands(window))
	if p.evaluator != nil {
		calls := "one review for each case that passes the checks"
		if n := p.Settings.Evaluator.MaxCallsPerTask; n > 0 {
			calls = fmt.Sprintf("%d reviews", n)
		}
		text += ", and " + calls
	}
	return ralph.Notice{Code: "worst_case", Text: text}, true
}

func thousands(n int64) string { return strconv.FormatInt(n/1000, 10) + ",000" }

func value(env config.Env, name string) string {
	text, _ := env.Lookup(name)
	return text
}

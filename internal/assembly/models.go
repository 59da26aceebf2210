package assembly

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/workspace"
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
	keys     part // whose settings say where it is reached: its own, or the worker's
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
	keys := of
	if own.Provider == "" && own.BaseURL == "" {
		keys = workerPart
		own.Provider, own.BaseURL = worker.Provider, worker.BaseURL
		own.APIKeyEnv = cmp.Or(own.APIKeyEnv, worker.APIKeyEnv)
		own.Model = cmp.Or(own.Model, worker.Model)
	}
	c := chosenModel{
		part: of, keys: keys, skip: p.Begun[string(of)], idle: silence(s), provider: own.Provider, model: own.Model, baseURL: own.BaseURL, keyEnv: own.APIKeyEnv,
	}
	if c.provider == "" {
		c.provider = providerAtHand(own.BaseURL, env)
	}
	switch c.provider {
	case "":
		return c, nobodyToAsk(of)
	case "scripted":
		return c.withScript(p.Workspace)
	}
	if err := p.checkBase(c); err != nil {
		return c, err
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

// nobodyToAsk says how a part gets a model.
func nobodyToAsk(of part) error {
	hint := fmt.Sprintf("set one of them, or %[1]s.provider, %[1]s.model and, for a server of your own, %[1]s.base_url", of)
	if of != workerPart {
		hint += "; the same keys of worker.* do for all"
	}
	return &config.UsageError{
		Msg:  fmt.Sprintf("which model the %s is to use is not known: neither %s nor %s is set", of, usualKeys["anthropic"], usualKeys["openai"]),
		Hint: hint,
	}
}

// checkBase refuses an address that cannot be one while nothing is begun.
func (p *Plan) checkBase(c chosenModel) error {
	err := model.CheckBaseURL(c.baseURL)
	if err == nil {
		return nil
	}
	shown := c.baseURL
	if strings.Contains(shown, "@") {
		shown = "…" // a password may stand before it
	}
	hint := ""
	if p.Resumed {
		hint = "a run keeps its settings, so that takes a new one"
	}
	return &config.UsageError{Msg: fmt.Sprintf("%s.base_url %s: %v", c.keys, shown, err), Hint: hint}
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

func (c chosenModel) withScript(w workspace.Workspace) (chosenModel, error) {
	if c.baseURL == "" {
		return c, &config.UsageError{Msg: "a scripted model follows a file, and none is named", Hint: fmt.Sprintf("--set %s.base_url=FILE", c.keys)}
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
		return nil, err
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
	case c.lacksKey():
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

// lacksKey reports whether the variable that should hold the key is not set.
func (c chosenModel) lacksKey() bool { return c.keyEnv != "" && c.key == "" }

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

func value(env config.Env, name string) string {
	text, _ := env.Lookup(name)
	return text
}

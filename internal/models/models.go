// Package models decides which model plays which role of a run, how to reach it, and what it costs.
package models

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/model/anthropic"
	"github.com/ralphloop/ralph/model/openai"
	"github.com/ralphloop/ralph/model/scripted"
)

// Role is the purpose of a model. One script file may serve all roles.
type Role string

// The roles.
const (
	Worker    Role = "worker"
	Evaluator Role = "evaluator"
	Planner   Role = "planner"
)

// Request contains what the choice of models depends on.
type Request struct {
	Settings config.Settings
	Env      config.Env
	Dir      string         // the workspace's folder
	Begun    map[string]int // conversations that a resumed run already had, by role
	Resumed  bool           // the run was resumed, with its original settings
}

// Choice is the model for a role, and how to reach it.
type Choice struct {
	Role     Role
	Provider string
	Model    string
	KeyEnv   string        // the variable with the API key; "" if no key is needed
	Idle     time.Duration // the longest silence

	keys    Role   // the role whose settings say how to reach it: its own, or the worker
	baseURL string // for provider scripted, the script file
	key     string
	skip    int // conversations of the script that an earlier process already had

	reached model.Client // set by Client
}

// usualKeys are the providers' usual variables for API keys.
var usualKeys = map[string]string{"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}

// usualModels are the default models.
var usualModels = map[string]string{"anthropic": "claude-sonnet-5-5", "openai": "gpt-6.1-sol", "scripted": "scripted"}

// Choose returns the model for a role. Settings that a role leaves open are the worker's, if the
// provider and the address are the same: a key is never sent where it was not meant for.
func Choose(req Request, of Role) (Choice, error) {
	s, env := req.Settings, req.Env
	own := ownRole(of, s)
	worker := ownRole(Worker, s)
	keys := of
	if own.Provider == "" && own.BaseURL == "" {
		keys = Worker
		own.Provider, own.BaseURL = worker.Provider, worker.BaseURL
		own.APIKeyEnv = cmp.Or(own.APIKeyEnv, worker.APIKeyEnv)
		own.Model = cmp.Or(own.Model, worker.Model)
	}
	c := Choice{
		Role:     of,
		keys:     keys,
		skip:     req.Begun[string(of)],
		Idle:     silence(s),
		Provider: own.Provider,
		Model:    own.Model,
		baseURL:  own.BaseURL,
		KeyEnv:   own.APIKeyEnv,
	}
	c.Provider = cmp.Or(c.Provider, providerAtHand(own.BaseURL, env))
	switch c.Provider {
	case "":
		return c, noModel(of)
	case "scripted":
		return c.withScript(req.Dir)
	}
	if err := req.checkBase(c); err != nil {
		return c, err
	}
	if c.Model == "" && c.baseURL != "" {
		return c, &config.UsageError{
			Msg:  fmt.Sprintf("no model configured on %s for the %s", c.baseURL, of),
			Hint: fmt.Sprintf("set one: --set %s.model=NAME", of),
		}
	}
	c.Model = cmp.Or(c.Model, usualModels[c.Provider])
	// A custom server gets a provider's key only if the settings name that provider.
	if c.KeyEnv == "" && (c.baseURL == "" || own.Provider != "" && value(env, usualKeys[c.Provider]) != "") {
		c.KeyEnv = usualKeys[c.Provider]
	}
	c.key = value(env, c.KeyEnv)
	return c, nil
}

// Configured reports whether the settings or the environment name a model for a role.
func Configured(req Request, of Role) bool {
	for _, role := range []config.RoleSettings{ownRole(of, req.Settings), ownRole(Worker, req.Settings)} {
		if role.Provider != "" || role.BaseURL != "" || role.Model != "" {
			return true
		}
	}
	return providerAtHand("", req.Env) != ""
}

// UsualKeys names the providers' usual variables for API keys.
func UsualKeys() string { return usualKeys["anthropic"] + " or " + usualKeys["openai"] }

// noModel returns the error that a role has no model, and how to set one.
func noModel(of Role) error {
	hint := fmt.Sprintf(
		"set one of them, or %[1]s.provider, %[1]s.model and, for a server of your own, %[1]s.base_url",
		of,
	)
	if of != Worker {
		hint += "; the same keys under worker.* apply to all roles"
	}
	return &config.UsageError{
		Msg: fmt.Sprintf(
			"no model configured for the %s: neither %s nor %s is set",
			of,
			usualKeys["anthropic"],
			usualKeys["openai"],
		),
		Hint: hint,
	}
}

// checkBase refuses an invalid address before anything has started.
func (r Request) checkBase(c Choice) error {
	err := model.CheckBaseURL(c.baseURL)
	if err == nil {
		return nil
	}
	shown := c.baseURL
	if strings.Contains(shown, "@") {
		shown = "…" // a password may precede the @
	}
	hint := ""
	if r.Resumed {
		hint = "a run keeps its settings; start a new run to change them"
	}
	return &config.UsageError{Msg: fmt.Sprintf("%s.base_url %s: %v", c.keys, shown, err), Hint: hint}
}

// silence returns how long a model may be silent: as the user set it, or less than an agent CLI
// may, which does more than think.
func silence(s config.Settings) time.Duration {
	const usual, ofAgents = 5 * time.Minute, 30 * time.Minute
	if idle := s.IdleTimeout.Duration(); idle > 0 && idle != ofAgents {
		return idle
	}
	return usual
}

func ownRole(of Role, s config.Settings) config.RoleSettings {
	switch of {
	case Evaluator:
		own := s.Evaluator.RoleSettings
		own.Model = cmp.Or(own.Model, evaluatorsModel(s.Evaluator.Agent))
		return own
	case Planner:
		return s.Planner
	}
	own := s.Worker.RoleSettings
	if s.Agent.Name == config.Worker { // otherwise --model is for another agent
		own.Model = cmp.Or(s.Agent.Model, own.Model)
	}
	return own
}

// Knows reports whether an evaluator's name can be a model: it has a price, or it was named as one, or a server or a
// script is configured that may have it.
func Knows(s config.Settings, evaluator string) bool {
	_, priced := Prices(s)(evaluator)
	named := evaluator == config.Worker || strings.HasPrefix(evaluator, config.Worker+":")
	configured := func(role config.RoleSettings) bool { return role.BaseURL != "" || role.Provider == "scripted" }
	return priced || named || configured(s.Evaluator.RoleSettings) || configured(s.Worker.RoleSettings)
}

// evaluatorsModel returns the model in an evaluator's name: worker:MODEL, or just a model. It is ""
// for worker alone.
func evaluatorsModel(name string) string {
	if name == config.Worker {
		return ""
	}
	return strings.TrimPrefix(name, config.Worker+":")
}

// providerAtHand returns the provider whose key is set. A custom server is assumed to speak
// OpenAI's protocol, as nearly all do.
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

func (c Choice) withScript(dir string) (Choice, error) {
	if c.baseURL == "" {
		return c, &config.UsageError{
			Msg:  "a scripted model needs a script file",
			Hint: fmt.Sprintf("--set %s.base_url=FILE", c.keys),
		}
	}
	if !filepath.IsAbs(c.baseURL) {
		c.baseURL = filepath.Join(dir, c.baseURL)
	}
	c.Model, c.KeyEnv = cmp.Or(c.Model, usualModels[c.Provider]), ""
	if _, err := c.script(); err != nil {
		return c, &config.UsageError{Msg: err.Error()}
	}
	return c, nil
}

func (c Choice) script() (model.Client, error) {
	script, err := scripted.Open(c.baseURL)
	if err != nil {
		return nil, err
	}
	client, err := script.Client(string(c.Role), scripted.Options{Skip: c.skip})
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", c.baseURL, err)
	}
	return client, nil
}

// Client returns the client of the model. A missing key is an ordinary fault: the run reports it
// and ends with the exit code for it.
func (c *Choice) Client() (model.Client, error) {
	if c.reached != nil {
		return c.reached, nil
	}
	var err error
	switch {
	case c.LacksKey():
		c.reached = keyless{c.KeyEnv}
	case c.Provider == "anthropic":
		c.reached = anthropic.New(anthropic.Options{BaseURL: c.baseURL, Key: c.key, Idle: c.Idle})
	case c.Provider == "openai":
		c.reached = openai.New(openai.Options{BaseURL: c.baseURL, Key: c.key, Idle: c.Idle})
	default:
		c.reached, err = c.script()
	}
	return c.reached, err
}

// LacksKey reports whether the variable for the key is not set.
func (c Choice) LacksKey() bool { return c.KeyEnv != "" && c.key == "" }

// HasKey reports whether there is a key.
func (c Choice) HasKey() bool { return c.key != "" }

// keyless is the client of a model whose key is missing.
type keyless struct{ variable string }

func (k keyless) Send(context.Context, model.Request, func(model.Delta)) (model.Reply, error) {
	return model.Reply{}, &model.Fault{Kind: model.FaultAuth, Message: k.variable + " is not set"}
}

// String describes the model to the user.
func (c Choice) String() string {
	switch {
	case c.Provider == "scripted":
		return "a script, " + c.baseURL
	case c.baseURL != "":
		return c.Model + " at " + withoutPassword(c.baseURL)
	}
	return c.Model + " of " + c.Provider
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

// BuiltIn describes which model a run with the built-in worker would use, or what is missing. It
// sends no request.
func BuiltIn(req Request) (text string, ready bool) {
	by, err := Choose(req, Worker)
	switch {
	case err != nil:
		return err.Error(), false
	case by.LacksKey():
		return fmt.Sprintf("it would use %s: set %s", by, by.KeyEnv), false
	case by.KeyEnv != "":
		return fmt.Sprintf("it would use %s (%s is set)", by, by.KeyEnv), true
	}
	return fmt.Sprintf("it would use %s", by), true
}

// BuiltInWay describes how to run without an agent CLI.
func BuiltInWay(req Request) string {
	if text, ready := BuiltIn(req); ready {
		return "use the built-in worker with --agent worker: " + text
	}
	return fmt.Sprintf("set %s and use the built-in worker with --agent worker", UsualKeys())
}

package assembly

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/models"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/sandbox"
	"github.com/ralphloop/ralph/worker"
)

// Missing is the error for a program that is needed but not on PATH.
type Missing struct {
	Program string
	AnyOf   []string // agent CLIs, one of which would do
	Hint    string
}

func (m *Missing) Error() string {
	what := m.Program + " is not on PATH"
	if len(m.AnyOf) > 0 {
		what = "no agent found on PATH (looked for " + strings.Join(m.AnyOf, ", ") + ")"
	}
	if m.Hint == "" {
		return what
	}
	return what + "; " + m.Hint
}

// chosenAgent is one agent of a plan.
type chosenAgent struct {
	name    string // for the log
	model   string
	options agent.Options
	by      *models.Choice // model of the built-in worker; nil for a CLI

	escalation bool // it works only on what other agents failed at
}

// kind returns the agent's name without its model.
func (c chosenAgent) kind() string {
	kind, _, _ := strings.Cut(c.name, ":")
	return kind
}

func (c chosenAgent) about() agent.About {
	if c.by != nil {
		return agent.About{Meters: agent.Meters{Tokens: true, Live: true}, ShowsTools: true}
	}
	return c.options.Dialect.About()
}

// chooseAgents selects the first agent and its fallbacks. Each may run the checks without asking.
func (r Request) chooseAgents(checks []string, tier sandbox.Tier) ([]chosenAgent, error) {
	s := r.Settings
	base := agent.Options{
		Permissions: permissions(s, tier), AllowedCommands: checks, InheritSettings: s.Agent.InheritSettings, Sandbox: tier,
	}
	if s.Agent.MCP != "off" {
		base.Tools = r.Self
	}
	first, err := r.firstAgent(base)
	if err != nil {
		return nil, err
	}
	chosen := []chosenAgent{first}
	add := func(flag, name string) error {
		next, err := r.furtherAgent(name, base, "leave "+flag+" "+name+" out")
		if err == nil && slices.ContainsFunc(chosen, func(c chosenAgent) bool { return c.name == next.name }) {
			err = &config.UsageError{
				Msg:  fmt.Sprintf("%s %s: already one of the run's agents", flag, name),
				Hint: "name another one, or the same with another model: " + flag + " " + next.kind() + ":MODEL",
			}
		}
		chosen = append(chosen, next)
		return err
	}
	for _, name := range s.Agent.Fallback {
		if name == first.name { // the user's own list may serve any first agent
			continue
		}
		if err := add("--fallback", name); err != nil {
			return nil, err
		}
	}
	if s.Agent.Escalate != "" {
		if err := add("--escalate", s.Agent.Escalate); err != nil {
			return nil, err
		}
		chosen[len(chosen)-1].escalation = true
	}
	for i := range chosen {
		chosen[i] = r.withEnvironment(chosen[i])
	}
	return chosen, nil
}

// withEnvironment sets the variables that the agent gets, and masks the others' values in what it prints.
func (r Request) withEnvironment(c chosenAgent) chosenAgent {
	env := r.Env
	about := c.about()
	own := slices.Concat(about.Env, ownOfNamed(c.options.CommandLine))
	if about.EnvOf != nil {
		own = append(own, about.EnvOf(agent.LookAround(env.Environ))...)
	}
	c.options.Name = c.name
	c.options.Env = config.AgentEnv(env, config.Passes{Names: r.Settings.Agent.Env, Own: own, When: about.EnvWhen})
	c.options.Mask = r.Mask
	return c
}

// FirstAgent returns the name of the agent CLI that a run with these settings starts first, and the
// path of its program.
func FirstAgent(s config.Settings) (name, path string, err error) {
	base := agent.Options{}
	if s.Sandbox.Mode == string(sandbox.Sbx) {
		base.Sandbox = sandbox.Sbx // its login is in there, too
	}
	chosen, err := Request{Settings: s}.firstAgent(base)
	return chosen.name, chosen.options.Path, err
}

// firstAgent selects the given command, the named CLI, or the first CLI found on PATH. Only this
// agent gets the arguments after "--".
func (r Request) firstAgent(base agent.Options) (chosenAgent, error) {
	s := r.Settings
	if s.Agent.Name == config.Worker {
		return r.builtInAgent()
	}
	base.ExtraArgs = s.Agent.Args
	chosen := chosenAgent{model: s.Agent.Model}
	switch {
	case s.Agent.Command != "":
		chosen.name = s.Agent.Name
		base.CommandLine = s.Agent.Command
		base.Dialect, _ = agent.Find(s.Agent.Name)
		chosen.options = base
	case s.Agent.Name != "":
		named, err := namedAgent(s.Agent.Name, base)
		if err != nil {
			return chosen, err
		}
		chosen.name, chosen.options = named.name, named.options
	default:
		name, path, ok := agent.Detect(process.LookPath)
		if !ok {
			return chosen, &Missing{
				AnyOf: config.AgentCLIs,
				Hint: "install one, or " + models.BuiltInWay(r.ForModels()) +
					"; or pass any command with --agent-cmd; `ralph demo` needs no agent",
			}
		}
		base.Dialect, _ = agent.Find(name)
		base.Path = path
		chosen.name, chosen.options = name, base
	}
	return chosen, checkArgs(chosen)
}

// furtherAgent selects an agent besides the first: a CLI or the built-in worker, with or without a
// model. other is what a user without its program can do instead.
func (r Request) furtherAgent(spec string, base agent.Options, other string) (chosenAgent, error) {
	name, model, _ := strings.Cut(spec, ":")
	if isBuiltIn(spec) {
		req := r.ForModels()
		req.Settings.Agent.Model = "" // it is for the first agent
		req.Settings.Worker.Model = cmp.Or(model, r.Settings.Worker.Model)
		by, err := models.Choose(req, models.Worker)
		return chosenAgent{name: spec, model: by.Model, by: &by}, err
	}
	chosen, err := namedAgent(name, base)
	if missing, ok := errors.AsType[*Missing](err); ok {
		missing.Hint = "install it, or " + other
	}
	chosen.name, chosen.model = spec, model
	return chosen, err
}

// isBuiltIn reports whether an agent, with or without a model, is the built-in worker.
func isBuiltIn(spec string) bool {
	name, _, _ := strings.Cut(spec, ":")
	return name == config.Worker
}

// builtInAgent selects the built-in worker.
func (r Request) builtInAgent() (chosenAgent, error) {
	if len(r.Settings.Agent.Args) > 0 {
		return chosenAgent{}, &config.UsageError{
			Msg:  "-- " + strings.Join(r.Settings.Agent.Args, " ") + ": the built-in worker has no command line",
			Hint: "leave it out",
		}
	}
	by, err := models.Choose(r.ForModels(), models.Worker)
	if err != nil {
		return chosenAgent{}, err
	}
	return chosenAgent{name: config.Worker, model: by.Model, by: &by}, nil
}

// namedAgent selects a CLI by its name.
func namedAgent(name string, base agent.Options) (chosenAgent, error) {
	dialect, ok := agent.Find(name)
	if !ok {
		return chosenAgent{}, &config.UsageError{Msg: fmt.Sprintf("unknown agent %q", name)}
	}
	program := dialect.About().Program
	path, err := process.LookPath(program)
	if base.Sandbox.HasPrograms() {
		path, err = program, nil // whatever the host has
	}
	if err != nil {
		return chosenAgent{}, &Missing{
			Program: program,
			Hint:    "install it, or name another agent with --agent or --agent-cmd",
		}
	}
	base.Dialect, base.Path = dialect, path
	return chosenAgent{name: name, options: base}, nil
}

// checkArgs rejects arguments that make the CLI continue a session, because every iteration has a
// fresh context. It also rejects those that change how the CLI gets its prompt or prints its
// answer.
func checkArgs(c chosenAgent) error {
	for _, arg := range c.options.ExtraArgs {
		flag, _, _ := strings.Cut(arg, "=")
		if len(flag) > 2 && flag[0] == '-' && flag[1] != '-' {
			flag = flag[:2] // -rID
		}
		if slices.Contains(c.about().Reserved, flag) {
			return &config.UsageError{
				Msg:  fmt.Sprintf("-- %s: Ralph itself sets how %s gets its prompt and answers", flag, c.name),
				Hint: "leave it out; use --agent-cmd to run a CLI your own way",
			}
		}
		if slices.Contains(c.about().Resumes, flag) {
			return &config.UsageError{
				Msg:  fmt.Sprintf("-- %s: an iteration never continues an earlier session of %s", flag, c.name),
				Hint: "leave it out; what was learned before reaches the next iteration through the prompt",
			}
		}
	}
	return nil
}

// checkMeters rejects a cost or token limit that could never be reached because the agent does not
// report its usage.
func checkMeters(s config.Settings, chosen []chosenAgent) error {
	if s.AllowUnmetered {
		return nil
	}
	const hint = "run anyway, without this limit, with --allow-unmetered"
	for i, c := range chosen {
		meters, flag := c.about().Meters, "--model"
		if i > 0 {
			flag = "--fallback " + c.kind() + ":MODEL"
			if c.escalation {
				flag = "--escalate " + c.kind() + ":MODEL"
			}
		}
		model := c.modelInUse()
		if s.MaxCost > 0 && !meters.Cost && !(meters.Tokens && models.IsPriced(s, model)) {
			why := fmt.Sprintf("--max-cost: the agent %s does not report what it costs", c.name)
			switch {
			case meters.Tokens && model != "":
				why = models.Unpriced(s, model)
			case meters.Tokens:
				why += "; Ralph can estimate its cost only for a named model (" + flag + ") that is in the price table or in prices"
			}
			return &config.UsageError{Msg: why, Hint: hint}
		}
		if s.MaxTokens > 0 && !meters.Tokens {
			return &config.UsageError{
				Msg:  fmt.Sprintf("--max-tokens: the agent %s does not report its tokens", c.name),
				Hint: hint,
			}
		}
	}
	return nil
}

// modelInUse returns the model that was asked for, or else the one that the CLI's own configuration names.
func (c chosenAgent) modelInUse() string {
	if of := c.about().ModelOf; c.model == "" && of != nil {
		return of(agent.LookAround(c.options.Env))
	}
	return c.model
}

// noticeLate records that agents can exceed a limit.
func (p *Plan) noticeLate(s config.Settings, chosen ...chosenAgent) {
	if text := lateNotice(s, chosen...); text != "" {
		p.notice("limit_late", text)
	}
}

// lateNotice names the agents that can exceed a limit, because they report what they used only at their end; "" if none
// can.
func lateNotice(s config.Settings, chosen ...chosenAgent) string {
	var names []string
	for _, c := range chosen {
		if meters := c.about().Meters; (meters.Cost || meters.Tokens) && !meters.Live {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 || s.MaxCost == 0 && s.MaxTokens == 0 && s.IterationCost == 0 {
		return ""
	}
	return strings.Join(names, " and ") + ": what it uses is known only when it ends, so it can exceed a limit on cost " +
		"or tokens by one call"
}

// reserveNotice names the agents that do not report how much of a subscription is used.
func reserveNotice(s config.Settings, chosen []chosenAgent) string {
	var names []string
	for _, c := range chosen {
		if !c.about().Meters.Windows {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 || s.Agent.Reserve == "" {
		return ""
	}
	return "--reserve has no effect with " + strings.Join(names, " and ") +
		": it does not report how much of a subscription is used"
}

// checkTools rejects gate.verifier_tools if no agent shows its tool calls, because every claim would be refused. If
// only some do, it returns a notice that names the others.
func checkTools(s config.Settings, chosen []chosenAgent) (notice string, err error) {
	var blind []string
	for _, c := range chosen {
		if !c.about().ShowsTools {
			blind = append(blind, c.name)
		}
	}
	switch {
	case len(s.Gate.VerifierTools) == 0 || len(blind) == 0:
		return "", nil
	case len(blind) < len(chosen):
		return "gate.verifier_tools: every claim of " + strings.Join(blind, " and ") +
			" will be refused, because its output does not show tool calls", nil
	}
	return "", &config.UsageError{
		Msg: "gate.verifier_tools: the output of " + strings.Join(blind, " and ") +
			" does not show tool calls, so every claim would be refused",
		Hint: "choose another agent, or unset it and pass a command with --check",
	}
}

// permissions implements the --yolo row of the contract: an agent stays in its own edit mode, unless the
// user says otherwise or the sandbox contains it.
func permissions(s config.Settings, tier sandbox.Tier) agent.Permissions {
	if s.Yolo || s.Agent.Permissions == "bypass" || tier.Contains() {
		return agent.PermitAll
	}
	return agent.PermitEdits
}

// permissionNotice says what an agent may do, also by files of the repository that the user agreed to.
func (c chosenAgent) permissionNotice(tier sandbox.Tier, files []config.NamedCommand) ralph.Notice {
	what := "bypasses its own permission prompts"
	switch {
	case c.by != nil:
		what = "edits files and runs commands with " + c.by.String()
	case c.name == "command":
		what = "custom command"
	case c.options.Permissions == agent.PermitEdits:
		mode := c.about().EditMode
		if c.options.InheritSettings {
			mode += ", and what your own settings allow"
		}
		what = "edit mode (" + mode + ")"
	}
	if tier == sandbox.None {
		what += ", not sandboxed"
	} else {
		what += ", in sandbox " + string(tier)
	}
	var names []string
	for _, f := range files {
		if c.by == nil && strings.HasPrefix(f.Key, c.options.Dialect.Name()+" ") && !slices.Contains(names, f.File) {
			names = append(names, f.File)
		}
	}
	if names != nil {
		what += ", with what files of this repository add: " + text.List(names)
	}
	return ralph.Notice{Code: "permissions", Text: what}
}

// withOwn adds notices about the user's own settings that agents in a folder do not use, each once.
func withOwn(notices []ralph.Notice, dir string, chosen ...chosenAgent) []ralph.Notice {
	for _, c := range chosen {
		if c.by != nil {
			continue
		}
		own := agent.New(c.options).Own(dir)
		notes := slices.Clone(own.Notes)
		if len(own.LeftOut) > 0 {
			notes = append(notes, fmt.Sprintf("not used in this run: %s of your %s settings; agent.inherit_settings keeps them",
				strings.Join(own.LeftOut, ", "), c.options.Dialect.Name()))
		}
		for _, note := range notes {
			if n := (ralph.Notice{Code: "own_settings", Text: note}); !slices.Contains(notices, n) {
				notices = append(notices, n)
			}
		}
	}
	return notices
}

// ListenTo returns a writer that takes an agent's recorded output and reports what the agent said
// and did.
func ListenTo(name string, report func(ralph.Activity)) io.WriteCloser {
	if isBuiltIn(name) {
		return worker.ListenTranscript(report)
	}
	return agent.Listen(name, report)
}

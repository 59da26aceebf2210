package assembly

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/process"
)

// Missing says that a program is needed and not there.
type Missing struct {
	Program string
	Hint    string
}

func (m *Missing) Error() string {
	if m.Hint == "" {
		return m.Program + " is not on PATH"
	}
	return fmt.Sprintf("%s is not on PATH; %s", m.Program, m.Hint)
}

// chosenAgent is the agent of a plan, ready to run.
type chosenAgent struct {
	name    string // for the log
	dialect agent.Dialect
	options agent.Options
	meters  agent.Meters
}

// chooseAgent turns the settings into an agent: the command that was given, the CLI that was named, or the first one found on PATH.
func chooseAgent(s config.Settings, env config.Env, checks []string) (chosenAgent, error) {
	chosen := chosenAgent{options: agent.Options{
		Permissions: permissions(s), AllowedCommands: checks, InheritSettings: s.Agent.InheritSettings,
		ExtraArgs: s.Agent.Args,
	}}
	switch {
	case s.Agent.Command != "":
		chosen.dialect, _ = agent.Find("command")
		chosen.name, chosen.options.CommandLine = "command", s.Agent.Command
	case s.Agent.Name != "" && s.Agent.Name != "command":
		dialect, ok := agent.Find(s.Agent.Name)
		if !ok {
			return chosen, &config.UsageError{Msg: fmt.Sprintf("unknown agent %q", s.Agent.Name)}
		}
		program := dialect.About().Program
		path, err := process.LookPath(program)
		if err != nil {
			return chosen, &Missing{Program: program, Hint: "install it, or name another agent with --agent or --agent-cmd"}
		}
		chosen.dialect, chosen.name, chosen.options.Path = dialect, dialect.Name(), path
	default:
		name, path, ok := agent.Detect(process.LookPath)
		if !ok {
			return chosen, &Missing{Program: "an agent CLI (" + strings.Join(knownCLIs(), ", ") + ")", Hint: "install one, or give any command with --agent-cmd; `ralph demo` needs none"}
		}
		chosen.dialect, _ = agent.Find(name)
		chosen.name, chosen.options.Path = name, path
	}
	about := chosen.dialect.About()
	chosen.options.Dialect, chosen.meters = chosen.dialect, about.Meters
	chosen.options.Env = config.AgentEnv(env, config.Passes{
		Names: s.Agent.Env, Own: about.Env, When: about.EnvWhen, Plain: about.Program == "",
	})
	return chosen, nil
}

// knownCLIs are the dialects that have a program of their own.
func knownCLIs() []string {
	var names []string
	for _, d := range agent.Known() {
		if d.About().Program != "" {
			names = append(names, d.Name())
		}
	}
	return names
}

// checkMeters refuses a cap that would never be reached because nobody counts.
func checkMeters(s config.Settings, chosen chosenAgent) error {
	if s.AllowUnmetered {
		return nil
	}
	const hint = "--allow-unmetered runs all the same, with this cap ignored"
	if s.MaxCost > 0 && !chosen.meters.Cost {
		return &config.UsageError{Msg: fmt.Sprintf("--max-cost: the agent %s does not report what it costs", chosen.name), Hint: hint}
	}
	if s.MaxTokens > 0 && !chosen.meters.Tokens {
		return &config.UsageError{Msg: fmt.Sprintf("--max-tokens: the agent %s does not report its tokens", chosen.name), Hint: hint}
	}
	return nil
}

// permissions follows the --yolo row: without a sandbox an agent stays in its own edit mode unless somebody said otherwise.
func permissions(s config.Settings) agent.Permissions {
	if s.Yolo || s.Agent.Permissions == "bypass" {
		return agent.PermitAll
	}
	return agent.PermitEdits
}

func (c chosenAgent) permissionNotice() ralph.Notice {
	text := "permissions: the agent's own edit mode, plus the check commands"
	switch {
	case c.name == "command":
		text = "permissions: a plain command does what it does; there is no sandbox around it"
	case c.options.Permissions == agent.PermitAll:
		text = "permissions: the agent bypasses its own permission prompts, without a sandbox"
	}
	return ralph.Notice{Code: "permissions", Text: text}
}

// AgentFiles lists what the repository's own files would make an agent CLI run by itself. It needs consent like any command that a repository
// names; the value is the file's hash, so that a change asks again.
func AgentFiles(ws Workspace, s config.Settings) []config.NamedCommand {
	if s.Agent.Command != "" || s.Agent.Name != "" && s.Agent.Name != "claude" {
		return nil
	}
	var found []config.NamedCommand
	for _, name := range []string{".claude/settings.json", ".claude/settings.local.json"} {
		text, err := ralph.ReadText(ws.Dir, name)
		if err != nil {
			continue
		}
		for _, key := range []string{"hooks", "apiKeyHelper", "statusLine", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"} {
			if strings.Contains(text, `"`+key+`"`) {
				hash := sha256.Sum256([]byte(text))
				found = append(found, config.NamedCommand{Key: "claude " + key, Value: fmt.Sprintf("(sha256 %x)", hash[:8]), File: name, Line: 1})
			}
		}
	}
	return found
}

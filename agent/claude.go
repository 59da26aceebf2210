package agent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/shell"
)

// claude is Claude Code, run without a terminal. It was written against and recorded from version
// 2.1.
type claude struct{}

func (claude) Name() string { return "claude" }

func (claude) About() About {
	return About{
		Title: "Claude Code", Program: "claude", Proven: ProvenByRuns,
		MCP:        true,
		Meters:     Meters{Cost: true, Tokens: true, Live: true, Windows: true},
		ShowsTools: true,
		EditMode:   "edits files, runs the check commands",
		ReadMode:   "gets only tools that read and search; no CLAUDE.md, hooks or MCP servers",
		Env: []string{
			"ANTHROPIC_*", "CLAUDE_*", "API_TIMEOUT_MS", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING",
			"MAX_THINKING_TOKENS", "BASH_*_TIMEOUT_MS", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT",
		},
		EnvWhen: claudeEnvWhen(),
		EnvOf:   claudeCloudVariables,
		Own:     claudeOwn,
		Repo: []RepoFile{
			{".claude/settings.json", slices.Concat(claudeRunsItself, claudeAllowsMore)},
			{".claude/settings.local.json", slices.Concat(claudeRunsItself, claudeAllowsMore)},
			{".mcp.json", []string{"mcpServers"}},
			{".claude/agents/**.md", claudeHeads}, {".claude/commands/**.md", claudeHeads},
			// A skill may be a plugin, with files for hooks and servers.
			{".claude/skills/**.md,.json", append(slices.Clip(claudeHeads), "lspServers", "command")},
			{".claude/skills/*/.claude-plugin/*", nil},
		},
		Reserved: []string{"--output-format", "--input-format"},
		Resumes: []string{
			"-c", "--continue", "-r", "--resume", "--session-id", "--fork-session", "--from-pr", "--teleport", "--cloud",
		},
		Conversation: resumeFlag,
		Login:        Login{Args: []string{"/login"}, Hint: claudeLogin},
		Account:      claudeAccount,
		Home:         claudeHome,
		// github.com/anthropics/claude-code, issues 35832, 35643 and 36494.
		Broken: []BrokenVersion{{
			First: "2.1.78",
			Fixed: "2.1.81",
			Why:   "claude -p ends after some turns with error_during_execution",
		}},
	}
}

// claudeRunsItself are the settings that name a program.
var claudeRunsItself = []string{
	"hooks", "apiKeyHelper", "statusLine", "fileSuggestion", "awsAuthRefresh", "awsCredentialExport",
	"gcpAuthRefresh", "otelHeadersHelper", "proxyAuthHelper",
	"subagentStatusLine", "processWrapper", "policyHelper", "policyHelpers",
	"env", // BASH_ENV names a script that every shell runs first
	"enabledPlugins", "extraKnownMarketplaces", "additionalMarketplaces",
}

// claudeAllowsMore are the settings that allow what edit mode would deny, or servers of .mcp.json.
// The CLI honors them in folders that the user trusts.
var claudeAllowsMore = []string{
	"allow", "additionalDirectories", "defaultMode", "sandbox", "enableAllProjectMcpServers", "enabledMcpjsonServers",
}

// claudeHeads are the parts of agents, skills and commands that run something or allow it.
var claudeHeads = []string{
	"allowed-tools", "hooks", "permissionMode", "mcpServers", inlineCommand,
}

func (claude) newReader(r *stream.Reading) stream.Reader {
	return newEventReader(r, &claudeStream{Reading: r, flagIsExit: true})
}

// claudeLogin is the hint for a failed login.
const claudeLogin = "run `ralph login claude`, or set ANTHROPIC_API_KEY to a valid key"

func (claude) Command(r Request) (Command, error) {
	// stream-json is refused without --verbose.
	argv := slices.Concat(
		[]string{cmp.Or(r.Program, "claude"), "-p"}, claudeTools(r), []string{"--output-format", "stream-json", "--verbose"},
	)
	env := []string{
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1",
		"DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	switch r.Permissions {
	case PermitAll:
		argv = append(argv, "--dangerously-skip-permissions")
		env = append(env, "IS_SANDBOX=1") // without it root may not use the flag
	case PermitReading:
		// A tool that is not offered cannot be called, whatever the settings allow. The variable
		// excludes hooks, plugins and CLAUDE.md files, which the reviewed agent may have written;
		// older versions ignore it.
		argv = append(
			argv, "--tools", "Read,Grep,Glob", "--allowedTools", "Read", "Grep", "Glob", "--permission-mode", "dontAsk",
		)
		env = append(env, "CLAUDE_CODE_SAFE_MODE=1")
	default:
		rules := claudeRules(r.AllowedCommands)
		if r.Tools != "" {
			rules = append(rules, "mcp__"+toolServer)
		}
		// --allowedTools takes all words up to the next flag, so one must follow.
		if len(rules) > 0 {
			argv = append(append(argv, "--allowedTools"), rules...)
		}
		argv = append(argv, "--permission-mode", "acceptEdits")
	}
	sources, secrets := claudeSources(r)
	argv = append(append(argv, sources...), claudeBudget(r)...)
	instructions, memory := claudeInstructions(r)
	argv = slices.Concat(argv, r.modelAndExtra("--model"), instructions)
	return Command{Argv: argv, Env: env, Stdin: r.PromptFile, Secrets: append(secrets, memory...)}, nil
}

// claudeTools returns the flag for the server of the run's tools. It takes all words up to the next
// flag, so one must follow. The CLI fills in the variables.
func claudeTools(r Request) []string {
	if r.Tools == "" {
		return nil
	}
	env := map[string]string{}
	for _, name := range toolVariables {
		env[name] = "${" + name + "}"
	}
	server := map[string]any{
		"type": "stdio", "command": r.Tools, "args": []string{"mcp"}, "env": env,
		"alwaysLoad": true, // otherwise the model has to search for the tools first; older versions ignore it
	}
	return []string{"--mcp-config", jsonText(map[string]any{"mcpServers": map[string]any{toolServer: server}})}
}

// claudeBudget returns the CLI's own limits. It ends cleanly at them, between two calls of the model.
func claudeBudget(r Request) []string {
	var flags []string
	if r.Budget.Cost > 0 && !hasFlag(r.ExtraArgs, "--max-budget-usd") {
		flags = append(flags, "--max-budget-usd", strconv.FormatFloat(r.Budget.Cost, 'f', -1, 64))
	}
	if r.Budget.Turns > 0 && !hasFlag(r.ExtraArgs, "--max-turns") {
		flags = append(flags, "--max-turns", strconv.Itoa(r.Budget.Turns))
	}
	return flags
}

// hasFlag reports whether arguments have a flag, with its value in the same word or the next.
func hasFlag(args []string, flag string) bool {
	_, ok := flagValue(args, flag)
	return ok
}

// flagValue returns the value of the last of equal flags.
func flagValue(args []string, flag string) (value string, ok bool) {
	for i, arg := range args {
		if joined, is := strings.CutPrefix(arg, flag+"="); is {
			value, ok = joined, true
		} else if arg == flag {
			value, ok = strings.Join(args[i+1:min(i+2, len(args))], ""), true
		}
	}
	return value, ok
}

// claudeRules allows each command as it is and with further arguments. A command that cannot be
// written inside the parentheses of a rule is left out: the agent is then denied it, and the denial
// is shown.
func claudeRules(commands []string) []string {
	var rules []string
	for _, c := range commands {
		for _, part := range claudeParts(strings.TrimSpace(c)) {
			rules = append(rules, "Bash("+part+")", "Bash("+part+":*)")
		}
	}
	return slices.Compact(rules)
}

// claudeParts returns the commands that rules must allow so that a command line runs. A rule for a
// line allows it as it is, unless it is a pipe: then each of its commands needs a rule. nil means
// that no rules can allow it, as with a command in the background.
func claudeParts(line string) []string {
	if line == "" || strings.ContainsAny(line, "()\n\r") {
		return nil
	}
	list, err := shell.Parse(line)
	piped := err != nil && strings.Contains(line, "|")
	for _, pipe := range list {
		piped = piped || len(pipe) > 1
		if slices.ContainsFunc(pipe, func(c shell.Command) bool { return c.Background }) {
			return nil
		}
	}
	if piped {
		return shellCommands(line)
	}
	return []string{line}
}

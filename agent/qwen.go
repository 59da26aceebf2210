package agent

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// qwen is Qwen Code, run without a terminal. It was written against and recorded from version 0.24.
//
// Keys of other vendors' models (ANTHROPIC_…, GEMINI_…) pass only if agent.env names them. The
// user's settings and memory stay; hooks, extensions and servers are left out.
type qwen struct{}

func (qwen) Name() string { return "qwen" }

func (qwen) About() About {
	return About{
		Title: "Qwen Code", Program: "qwen", MCP: true, Meters: Meters{Tokens: true, Live: true}, Proven: ProvenByRuns,
		ShowsTools:   true,
		EditMode:     "edits files, runs the check commands",
		ReadMode:     "gets only tools that read and search; no QWEN.md, hooks or MCP servers",
		Env:          []string{"QWEN_*", "OPENAI_*", "DASHSCOPE_*", "BAILIAN_*", "MODELSCOPE_*"},
		ModelOf:      qwenModel,
		Own:          qwenOwn,
		Reserved:     []string{"-o", "--output-format", "-p", "--prompt"},
		Resumes:      []string{"-c", "--continue", "-r", "--resume", "--session-id", "--fork-session"},
		Conversation: resumeFlag,
		Login:        Login{Args: []string{"-i", "/auth"}, Hint: qwenLogin},
		Account:      qwenAccount,
		Home:         qwenHome,
		Repo: []RepoFile{
			{".qwen/settings.json", append(slices.Clip(geminiRunsItself), "env")}, {".qwen/.env", nil}, {".env", envRunsItself},
			{".qwen/skills/**", qwenHeads}, {".qwen/agents/**", qwenHeads},
		},
	}
}

// qwenHeads are the parts of skills and agents that run something or allow it. A skill's tools are
// allowed once the model uses it, even in edit mode.
var qwenHeads = []string{"allowedTools", "allowed-tools", "hooks", "mcpServers", "approvalMode", "permissionMode"}

func (qwen) newReader(r *stream.Reading) stream.Reader {
	return newEventReader(r, &qwenStream{claudeStream: claudeStream{Reading: r, cacheInInput: true}})
}

// qwenLogin is the hint for a failed login.
const qwenLogin = "run `ralph login qwen`, or set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL"

// qwenSettings disables what does not belong in a run: hooks, and memories that one run leaves to
// the next, which cost a hidden call each. An untrusted folder would not be edited.
const qwenSettings = `{
  "disableAllHooks": true,
  "general": {"enableAutoUpdate": false},
  "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
  "security": {"folderTrust": {"enabled": false}}
}
`

// qwenFolder is the folder of the user's own settings.
func qwenFolder(look Look) string {
	return cmp.Or(look.Env("QWEN_HOME"), filepath.Join(look.Home, ".qwen"))
}

// qwenSystem returns the settings of the system for a run: those that an administrator has made, with
// what a run disables and the server of its tools. The file that has them replaces the administrator's.
func qwenSystem(r Request) string {
	settings, look := jsonObject{}, r.Look
	if look.Env != nil {
		usual := "/etc/qwen-code/settings.json"
		switch look.GOOS {
		case "darwin":
			usual = "/Library/Application Support/QwenCode/settings.json"
		case "windows":
			usual = `C:\ProgramData\qwen-code\settings.json`
		}
		settings.merge(look.readObject(cmp.Or(look.Env("QWEN_CODE_SYSTEM_SETTINGS_PATH"), usual)))
	}
	if !r.InheritSettings {
		settings.merge(parseObject([]byte(qwenSettings)))
	}
	if r.Tools != "" {
		env := map[string]string{}
		for _, name := range toolVariables {
			env[name] = "$" + name
		}
		server := map[string]any{
			"command": r.Tools, "args": []string{"mcp"}, "env": env, "trust": true, "timeout": toolSeconds * 1000,
		}
		settings.merge(parseObject([]byte(jsonText(map[string]any{"mcpServers": map[string]any{toolServer: server}}))))
	}
	return settings.String()
}

// qwenOwn is [About.Own] of Qwen Code.
func qwenOwn(r Request) Own {
	var own Own
	folder := qwenFolder(r.Look)
	settings := r.Look.readObject(filepath.Join(folder, "settings.json"))
	own.leaveOut(countHooks(settings.object("hooks")), "hook")
	own.leaveOut(r.Look.countEntries(filepath.Join(folder, "extensions")), "extension")
	own.leaveOut(len(settings.object("mcpServers")), "MCP server")
	if _, lost := qwenDenied(r.Look); len(lost) > 0 {
		own.Notes = append(own.Notes, "a reviewer that is qwen does not follow your deny rules that have a comma: "+
			promise.OneLine(strings.Join(lost, "; "), stream.DetailSize))
	}
	return own
}

// qwenDenied returns what the user's own rules deny, and the rules that cannot be repeated on a
// command line, where one with a comma would be two.
func qwenDenied(look Look) (repeated, lost []string) {
	if look.Env == nil {
		return nil, nil
	}
	denied, _ := look.readObject(filepath.Join(qwenFolder(look), "settings.json")).object("permissions").strings("deny")
	for _, rule := range denied {
		if strings.Contains(rule, ",") {
			lost = append(lost, rule)
		} else {
			repeated = append(repeated, rule)
		}
	}
	return repeated, lost
}

// qwenModel returns the model that the user has chosen.
func qwenModel(look Look) string {
	return cmp.Or(look.Env("OPENAI_MODEL"), look.Env("QWEN_MODEL"), chosenModel(look, qwenFolder(look)))
}

// Command passes the prompt on standard input, which is read whenever it is not a terminal. Some
// flags take all words up to the next one, so another flag must follow.
func (qwen) Command(r Request) (Command, error) {
	argv := []string{cmp.Or(r.Program, "qwen"), "--output-format", "stream-json"}
	cmd := Command{
		Env:   []string{"QWEN_CODE_NO_RELAUNCH=true", "QWEN_TELEMETRY_ENABLED=false", "QWEN_USAGE_STATISTICS_ENABLED=false"},
		Stdin: r.PromptFile,
	}
	if !r.InheritSettings { // no extension is called none
		argv = append(argv, "--extensions", "none")
	}
	if !r.InheritSettings || r.Tools != "" {
		// The settings replace those of the system: they outrank the user's, which still provide the
		// login.
		file := filepath.Join(cmp.Or(r.Folder, filepath.Dir(r.PromptFile)), "qwen-settings.json")
		cmd.Secrets = []File{{Path: file, Text: qwenSystem(r)}}
		cmd.Env = append(cmd.Env, "QWEN_CODE_SYSTEM_SETTINGS_PATH="+file)
	}
	if !r.InheritSettings || r.Permissions == PermitReading {
		// No server is called none. Servers of the project are also excluded.
		argv = append(argv, "--allowed-mcp-server-names", cmp.Or(qwenServers(r), "none"))
	}
	switch r.Permissions {
	case PermitAll:
		argv = append(argv, "--yolo")
		cmd.Env = append(cmd.Env, "QWEN_CODE_SUPPRESS_YOLO_WARNING=1")
	case PermitReading:
		// A tool that is not offered cannot be called. The last flag excludes what the reviewed agent
		// may have written for the CLI.
		for _, tool := range qwenReading {
			argv = append(argv, "--core-tools", tool)
		}
		// It also excludes the user's rules, which are therefore repeated.
		denied, _ := qwenDenied(r.Look)
		for _, rule := range denied {
			argv = append(argv, "--exclude-tools", rule)
		}
		argv = append(argv, "--approval-mode", "default", "--safe-mode")
	default:
		rules := qwenRules(r.AllowedCommands)
		for _, rule := range rules {
			argv = append(argv, "--allowed-tools", rule)
		}
		if len(rules) > 0 {
			for _, form := range qwenSubstitutions {
				argv = append(argv, "--exclude-tools", "run_shell_command("+form+")")
			}
		}
		argv = append(argv, "--approval-mode", "auto-edit")
	}
	cmd.Argv = append(argv, r.modelAndExtra("--model")...)
	return cmd, nil
}

// qwenServers returns the servers of a run.
func qwenServers(r Request) string {
	if r.Tools == "" {
		return ""
	}
	return toolServer
}

// qwenReading are the tools that read files.
var qwenReading = []string{"read_file", "list_directory", "glob", "grep_search"}

// qwenSubstitutions are commands within arguments, as the CLI rewrites them before it compares
// them. A rule that allows a command would also allow those. It does not detect one in the default
// of a quoted variable ("${x:-$(…)}") at all.
var qwenSubstitutions = []string{"*$(*", "*$ (*", "*`*", "*<(*", "*> (*"}

// qwenRules allows each command as it is and with further arguments. A command that does not fit
// into a rule is left out: the agent is then denied it, and the denial is shown.
func qwenRules(commands []string) []string {
	var rules []string
	for _, c := range simpleCommands(commands) {
		if !strings.ContainsAny(c, "(),\n\r") {
			rules = append(rules, "run_shell_command("+c+")")
		}
	}
	return rules
}

// qwenAccount follows the CLI's own order: the chosen login, then the environment. Keys may also be
// in settings and .env files.
func qwenAccount(look Look) Account {
	folder := qwenFolder(look)
	key := look.Env("OPENAI_API_KEY") != ""
	switch chosen := chosenLogin(look, folder); {
	case chosen == "qwen-oauth":
		if text, ok := look.File(filepath.Join(folder, "oauth_creds.json")); ok && len(text) > 0 {
			return Account{
				Login:   LoggedIn,
				Billing: BillingSubscription,
				Because: "a Qwen account was chosen, and oauth_creds.json exists",
			}
		}
		return Account{
			Login:   LoggedOut,
			Billing: BillingSubscription,
			Because: "a Qwen account was chosen, and there is no oauth_creds.json",
		}
	case chosen == "openai" && key:
		return Account{Login: LoggedIn, Billing: BillingKey, Because: "OPENAI_API_KEY is set"}
	case chosen != "":
		return Account{
			Login:   LoginUnknown,
			Billing: BillingKey,
			Because: "settings.json chooses " + promise.OneLine(chosen, stream.DetailSize),
		}
	}
	if key && look.Env("OPENAI_BASE_URL") != "" && cmp.Or(look.Env("OPENAI_MODEL"), look.Env("QWEN_MODEL")) != "" {
		return Account{
			Login:   LoggedIn,
			Billing: BillingKey,
			Because: "OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL are set",
		}
	}
	for _, name := range []string{
		"QWEN_OAUTH", "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "ANTHROPIC_API_KEY",
	} {
		if look.Env(name) != "" {
			return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "no login was chosen, but " + name + " is set"}
		}
	}
	for _, file := range []string{filepath.Join(folder, ".env"), filepath.Join(look.Home, ".env")} {
		if _, ok := look.File(file); ok {
			return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "an .env file may contain a key"}
		}
	}
	return Account{
		Login:   LoggedOut,
		Billing: BillingUnknown,
		Because: "no login was chosen, and OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL are not all set",
	}
}

package agent

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
)

// amp is Amp, run without a terminal. Its flags, settings, permission rules and startup errors were
// seen in build 0.0.1790142911 (September 2026), whose server we could not simulate. Its stream is
// known only from its manual, which calls it compatible with Claude Code's.
//
// It has modes instead of models: low, medium, high, ultra. Rules decide which calls are allowed;
// the first match wins. According to its manual, some versions follow them only with one of its
// plugins active; with those, only a sandbox limits it.
type amp struct{}

func (amp) Name() string { return "amp" }

func (amp) About() About {
	return About{
		Title: "Amp", Program: "amp", Proven: ProvenByDocs,
		ShowsTools: true,
		EditMode:   "edits files, runs the exact check commands",
		ReadMode: "reads and searches files, everything else is rejected by rules, if its version supports them; " +
			"AGENTS.md still applies",
		Shared:       true, // jmacdonald/amp is an editor
		Meters:       Meters{Tokens: true, Live: true},
		Env:          []string{"AMP_*"},
		Own:          ampOwn,
		Reserved:     []string{"--stream-json", "--stream-json-input"},
		Resumes:      []string{"threads", "thread", "t", "last", "l"},
		Conversation: func(session string) []string { return []string{"threads", "continue", session} },
		Repo: []RepoFile{
			{".amp/settings.json*", nil}, // servers, and permission rules
			{".amp/plugins/*", nil},
		},
		Login:   Login{Args: []string{"login"}, Hint: ampLogin},
		Account: ampAccount,
		Home:    ampHome,
	}
}

func (amp) newReader(r *stream.Reading) stream.Reader {
	r.ByComplaint = ampComplaints.complaints(ampLogin)
	return newEventReader(r, &ampStream{claudeStream{Reading: r, exitInResult: true}})
}

// ampLogin is the hint for a failed login.
const ampLogin = "run `amp login`, or set AMP_API_KEY"

func (amp) Command(r Request) (Command, error) {
	argv := []string{cmp.Or(r.Program, "amp"), "-x", "--stream-json", "--no-ide"}
	var secrets []File
	switch {
	case !r.InheritSettings || r.Permissions == PermitReading:
		// A settings file for this call only: the user's MCP servers stay out, and the login is
		// stored elsewhere.
		path := filepath.Join(cmp.Or(r.Folder, filepath.Dir(r.PromptFile)), "amp-settings.json")
		secrets = []File{{Path: path, Text: ampSettings(r).String()}}
		argv = append(argv, "--settings-file", path)
	case r.Permissions == PermitAll:
		argv = append(argv, "--dangerously-allow-all") // not in --help, but accepted
	}
	return Command{Argv: append(argv, r.modelAndExtra("--mode")...), Stdin: r.PromptFile, Secrets: secrets}, nil
}

// ampRule is one permission rule.
type ampRule struct {
	Tool    string              `json:"tool"`
	Matches map[string][]string `json:"matches,omitempty"`
	Action  string              `json:"action"`
	// with a message, a rejected call does not end the run
	Message string `json:"message,omitempty"`
}

// ampUser returns the user's own settings, which a settings file for a call replaces.
func ampUser(look Look) jsonObject {
	if look.Env == nil {
		return nil
	}
	folder := filepath.Join(look.xdg("XDG_CONFIG_HOME", ".config"), "amp")
	if settings := look.readObject(filepath.Join(folder, "settings.json")); settings != nil {
		return settings
	}
	return look.readObject(filepath.Join(folder, "settings.jsonc"))
}

// ampPersonal are the settings that start programs, or allow more than a run does.
var ampPersonal = []string{
	"amp.mcpServers", "amp.hooks", "amp.toolbox.path", "amp.permissions", "amp.dangerouslyAllowAll",
	"amp.commands.allowlist", "amp.guardedFiles.allowlist",
}

// ampSettings returns the settings for a call: the user's, without what does not belong in a run,
// and rules. What the user's rules reject is rejected, whatever else a run allows.
func ampSettings(r Request) jsonObject {
	own := ampUser(r.Look)
	settings := jsonObject{}
	settings.merge(own)
	for _, name := range ampPersonal {
		delete(settings, name)
	}
	settings.set("amp.updates.mode", "disabled")
	settings.set("amp.notifications.enabled", false)
	rejected := ampRejected(own)
	switch r.Permissions {
	case PermitAll:
		if rejected == nil {
			settings.set("amp.dangerouslyAllowAll", true)
			return settings
		}
		settings.set("amp.permissions", append(rejected, map[string]any{"tool": "*", "action": "allow"}))
	case PermitReading:
		settings.set("amp.permissions", appendRules(rejected, ampReading()))
	default:
		settings.set("amp.permissions", appendRules(rejected, ampEditing(r)))
	}
	return settings
}

// ampRejected returns the user's own rules that reject a call.
func ampRejected(own jsonObject) (rejected []any) {
	var rules []map[string]any
	_ = json.Unmarshal(own["amp.permissions"], &rules)
	for _, rule := range rules {
		if rule["action"] == "reject" {
			rejected = append(rejected, rule)
		}
	}
	return rejected
}

func appendRules(first []any, then []ampRule) []any {
	for _, rule := range then {
		first = append(first, rule)
	}
	return first
}

// ampOwn is [About.Own] of Amp.
func ampOwn(r Request) Own {
	var own Own
	settings := ampUser(r.Look)
	var hooks, rules []json.RawMessage
	_ = json.Unmarshal(settings["amp.hooks"], &hooks)
	_ = json.Unmarshal(settings["amp.permissions"], &rules)
	own.leaveOut(len(hooks), "hook")
	own.leaveOut(len(settings.object("amp.mcpServers")), "MCP server")
	own.leaveOut(len(rules)-len(ampRejected(settings)), "rule")
	return own
}

// ampEditing lets an agent edit, and run the check commands exactly: a pattern for further arguments
// would also match a second command.
func ampEditing(r Request) []ampRule {
	var checks []string
	for _, c := range r.AllowedCommands {
		if c = strings.TrimSpace(c); c != "" && !strings.ContainsAny(c, "*?[]{}\\\n\r") && !strings.HasPrefix(c, "/") {
			checks = append(checks, c)
		}
	}
	// The shell has two names, depending on the mode. The second is known only from the manual.
	shells := []struct{ tool, command string }{{"Bash", "cmd"}, {"shell_command", "command"}}
	var rules []ampRule
	for _, s := range shells {
		if len(checks) > 0 {
			rules = append(rules, ampRule{Tool: s.tool, Matches: map[string][]string{s.command: checks}, Action: "allow"})
		}
		rules = append(rules, ampRule{Tool: s.tool, Action: "reject", Message: "This run allows only its check commands."})
	}
	return append(rules, ampRule{Tool: "*", Action: "allow"})
}

// ampReading allows the tools that read files, under the names in its manual.
func ampReading() (rules []ampRule) {
	for _, tool := range []string{"Read", "Grep", "glob", "finder", "list_directory"} {
		rules = append(rules, ampRule{Tool: tool, Action: "allow"})
	}
	return append(rules, ampRule{Tool: "*", Action: "reject", Message: "This run may only read files."})
}

// ampAccount knows the variable and the file that hold the access token. Usage is paid for with
// Amp's own credit.
func ampAccount(look Look) Account {
	if look.Env("AMP_API_KEY") != "" {
		return Account{Login: LoggedIn, Billing: BillingUnknown, Because: "AMP_API_KEY is set"}
	}
	text, ok := look.File(filepath.Join(look.xdg("XDG_DATA_HOME", ".local/share"), "amp", "secrets.json"))
	switch {
	case ok && strings.Contains(string(text), "apiKey"):
		return Account{Login: LoggedIn, Billing: BillingUnknown, Because: "amp/secrets.json has a key"}
	case look.GOOS == "linux":
		return Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no AMP_API_KEY and no key in amp/secrets.json"}
	}
	return Account{Login: LoginUnknown, Billing: BillingUnknown}
}

package agent

import (
	"cmp"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// opencode is opencode, run without a terminal. It was written against and recorded from version
// 1.18.
//
// It works in the folder that PWD names, not in the one that it was started in, so it is given the
// folder. Tool calls and usage of sub-agents are in no event.
type opencode struct{}

func (opencode) Name() string { return "opencode" }

func (opencode) About() About {
	return About{
		Title: "opencode", Program: "opencode", Meters: Meters{Cost: true, Tokens: true, Live: true}, Proven: ProvenByRuns,
		MCP:        true,
		ShowsTools: true,
		EditMode:   "edits files, runs the check commands",
		ReadMode:   "reads and searches files, everything else is denied; no AGENTS.md or settings of the repository",
		Env: append([]string{
			"OPENCODE_*", "GOOGLE_GENERATIVE_AI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "MOONSHOT_API_KEY", "KIMI_API_KEY",
			"ZHIPU_API_KEY",
			"DASHSCOPE_API_KEY", "MINIMAX_API_KEY", "NVIDIA_API_KEY", "PERPLEXITY_API_KEY", "AI_GATEWAY_API_KEY",
			"LMSTUDIO_API_KEY",
		}, modelKeys...),
		Own:          opencodeOwn,
		Reserved:     []string{"--format"},
		Resumes:      []string{"-c", "--continue", "-s", "--session", "--fork"},
		Conversation: func(session string) []string { return []string{"--session", session} },
		Login:        Login{Args: []string{"auth", "login"}, Hint: opencodeLogin},
		Account:      opencodeAccount,
		Home:         opencodeHome,
		// github.com/anomalyco/opencode, issues 27371, 27697, 29131, 31365 and 31404.
		Broken: []BrokenVersion{{
			First: "1.14.49",
			Fixed: "1.16.3",
			Why:   "opencode run --format json ends with status 0 before it prints the agent's messages",
		}},
		Repo: []RepoFile{
			{"opencode.json", opencodeRunsItself}, {"opencode.jsonc", opencodeRunsItself},
			{".opencode/opencode.json*", opencodeRunsItself},
			{".opencode/plugin*/*", nil}, {".opencode/tool*/*", nil}, {".opencode/agent*/*", nil}, {".opencode/mode*/*", nil},
		},
	}
}

// opencodeRunsItself are the settings that name a program, or allow one that edit mode would deny.
// A provider is a package, which may be a file of the repository; the rules of an agent come after
// ours.
var opencodeRunsItself = []string{"mcp", "plugin", "formatter", "lsp", "provider", "agent", "mode", "permission"}

// Hints for a failed login, and for errors that the CLI does not explain, such as an unknown model
// or a missing key.
const (
	opencodeLogin = "run `opencode auth login`, or set the variable of the provider's key; if a plugin logs " +
		"you in, set agent.inherit_settings"
	opencodeModel = "run `opencode models` to list the models (--model provider/model) that its keys can use"
)

func (opencode) newReader(r *stream.Reading) stream.Reader {
	return newEventReader(r, &opencodeStream{Reading: r})
}

func (opencode) Command(r Request) (Command, error) {
	// Without a title it asks the model for one, and does not report the cost.
	argv := []string{cmp.Or(r.Program, "opencode"), "run", "--format", "json", "--title", "ralph"}
	if filepath.IsAbs(r.Dir) {
		argv = append(argv, "--dir", r.Dir)
	}
	if !r.InheritSettings {
		// The user's plugins and choice of agent do not belong in a run. Providers and logins stay.
		argv = append(argv, "--pure", "--agent", "build")
	}
	if r.Permissions == PermitAll {
		argv = append(argv, "--auto")
	}
	// they are strings
	rules, _ := json.Marshal(opencodeRules(r).narrowed(opencodeDenials(r.Look), r.Permissions))
	env := []string{
		"OPENCODE_PERMISSION=" + string(rules),
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_SHARE=1",
	}
	if r.Permissions == PermitReading {
		// The reviewed agent may have written the settings and AGENTS.md.
		env = append(env, "OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_CLAUDE_CODE=1")
	}
	if servers := opencodeServersOf(r); servers != "" {
		env = append(env, "OPENCODE_CONFIG_CONTENT="+servers)
	}
	return Command{Argv: append(argv, r.modelAndExtra("--model")...), Env: env, Stdin: r.PromptFile}, nil
}

// opencodeFree are the tools that edit mode allows. Tools that leave the workspace or reach the
// network are excluded.
var opencodeFree = []string{"read", "edit", "glob", "grep", "list", "lsp", "todoread", "todowrite", "task", "skill"}

// opencodeReading are the tools that read files.
var opencodeReading = []string{"read", "glob", "grep", "list"}

// opencodeRules returns what is allowed. Nothing is left to ask, because there is no one to answer,
// and a rejected question ends the turn.
//
// The last rule that matches a call decides, and the user's own come first, unless they have the
// same name: then ours take the position of theirs, which may be before a "*" that overrides them.
// A name that is never written otherwise, with its first letter as a wildcard, keeps ours together
// and last. What the user denies is then added again, after ours.
func opencodeRules(r Request) orderedRules {
	if r.Permissions == PermitAll {
		return orderedRules{{"?*", "allow"}}
	}
	rules, tools := orderedRules{{"?*", "deny"}}, opencodeFree
	if r.Permissions == PermitReading {
		tools, r.AllowedCommands = opencodeReading, nil
	}
	if r.Tools != "" {
		tools = append(slices.Clip(tools), toolServer+"_*")
	}
	for _, tool := range tools {
		rules = append(rules, orderedRule{"?" + tool[1:], "allow"})
	}
	return append(rules, orderedRule{"?ash", opencodeCommands(r.AllowedCommands)})
}

// opencodeCommands allows each command as it is, and with further arguments as long as these
// contain no command: the CLI does not detect all of those.
func opencodeCommands(commands []string) orderedRules {
	longer := orderedRules{{"*", "deny"}}
	var exact orderedRules
	for _, c := range commands {
		c = strings.TrimSpace(c)
		if c == "" || slices.ContainsFunc(exact, func(r orderedRule) bool { return r.name == c }) {
			continue
		}
		longer = append(longer, orderedRule{c + " *", "allow"})
		exact = append(exact, orderedRule{c, "allow"})
	}
	if exact == nil {
		return longer
	}
	return slices.Concat(longer, orderedRules{{"*`*", "deny"}, {"*$(*", "deny"}}, exact)
}

// orderedRules is a JSON object whose fields keep their order.
type orderedRules []orderedRule

type orderedRule struct {
	name string
	rule any
}

// MarshalJSON writes the fields in order.
func (o orderedRules) MarshalJSON() ([]byte, error) {
	fields := text.Mapped(o, func(field orderedRule) string {
		// strings can always be marshaled, and so can rules of strings
		name, _ := json.Marshal(field.name)
		rule, _ := json.Marshal(field.rule)
		return string(name) + ":" + string(rule)
	})
	return []byte("{" + strings.Join(fields, ",") + "}"), nil
}

// opencodeAccount reads the file of logins. Keys may also be in the configuration, and some models
// need none, so a missing login is unknown, not logged out.
func opencodeAccount(look Look) Account {
	data := look.xdg("XDG_DATA_HOME", ".local/share")
	text, where := []byte(look.Env("OPENCODE_AUTH_CONTENT")), "OPENCODE_AUTH_CONTENT"
	if len(text) == 0 {
		text, _ = look.File(filepath.Join(data, "opencode", "auth.json"))
		where = "auth.json"
	}
	var logins map[string]struct{ Type string }
	if json.Unmarshal(text, &logins) == nil && len(logins) > 0 {
		account := Account{Login: LoggedIn, Billing: BillingUnknown}
		kinds := map[string]bool{}
		for _, login := range logins {
			kinds[login.Type] = true
		}
		account.Because = where + " has " + strings.Join(slices.Sorted(maps.Keys(logins)), ", ")
		switch { // which one pays depends on the model
		case len(kinds) == 1 && kinds["api"]:
			account.Billing = BillingKey
		case len(kinds) == 1 && kinds["oauth"]:
			account.Billing = BillingSubscription
		}
		return account
	}
	for _, key := range []string{
		"OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY",
		"OPENROUTER_API_KEY",
	} {
		if look.Env(key) != "" {
			return Account{Login: LoggedIn, Billing: BillingKey, Because: key + " is set"}
		}
	}
	return Account{Login: LoginUnknown, Billing: BillingUnknown}
}

package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// gemini is the Gemini CLI, run without a terminal. It was written against and recorded from
// version 0.61.
//
// The user's settings, policies and memory stay. So do hooks and usage statistics, which cannot be
// excluded: only a system settings file could do that, and it counts only if root owns it and every
// folder above it.
type gemini struct{}

func (gemini) Name() string { return "gemini" }

func (gemini) About() About {
	return About{
		Title: "Gemini CLI", Program: "gemini", Meters: Meters{Tokens: true, Live: true}, Proven: ProvenByRuns,
		ShowsTools: true,
		EditMode:   "edits files, runs the check commands",
		ReadMode:   "reads and searches files, everything else is denied; GEMINI.md and the repository's hooks still apply",
		Env: []string{
			"GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_GEMINI_*", "GOOGLE_GENAI_*", "GOOGLE_VERTEX_*", "GOOGLE_CLOUD_PROJECT",
			"GOOGLE_CLOUD_PROJECT_ID",
			"GOOGLE_CLOUD_LOCATION", "CODE_ASSIST_*", "CLOUD_SHELL",
		},
		EnvWhen: map[string][]string{
			"GOOGLE_GENAI_USE_VERTEXAI":  {"GOOGLE_*", "CLOUDSDK_*"},
			"GOOGLE_GENAI_USE_GCA":       {"GOOGLE_CLOUD_ACCESS_TOKEN"},
			"GEMINI_CLI_USE_COMPUTE_ADC": {"GOOGLE_*", "CLOUDSDK_*"},
		},
		ModelOf:      geminiModel,
		Own:          geminiOwn,
		Reserved:     []string{"-o", "--output-format", "-p", "--prompt"},
		Resumes:      []string{"-r", "--resume", "--session-id", "--session-file"},
		Conversation: resumeFlag,
		Login:        Login{Args: []string{"-i", "/auth"}, Hint: geminiLogin},
		Account:      geminiAccount,
		Home:         geminiHome,
		Repo: []RepoFile{
			{".gemini/settings.json", geminiRunsItself}, {".gemini/.env", nil}, {".env", envRunsItself},
			{".gemini/policies/*", nil}, // which no version follows yet
		},
		// According to its changelog, stream-json came with 0.11, --policy with 0.30.
		Broken: []BrokenVersion{{
			Fixed: "0.30.0",
			Why:   "it does not know the flags that a run needs (--output-format stream-json, --policy)",
		}},
	}
}

// geminiRunsItself are the settings of gemini and its forks that name a program, or allow one that
// edit mode would deny.
var geminiRunsItself = []string{
	"hooks", "mcpServers", "toolDiscoveryCommand", "toolCallCommand", "discoveryCommand", "callCommand",
	"mcpServerCommand", "serverCommand",
	"allowed", "allowedTools", "permissions", "policyPaths", "adminPolicyPaths",
}

func (gemini) ownFolder(look Look) string { return geminiFolder(look) }

func (gemini) newReader(r *stream.Reading) stream.Reader {
	stream := &geminiStream{Reading: r}
	r.ByStatus = stream.fromStatus
	return newEventReader(r, stream)
}

// geminiLogin is the hint for a failed login.
const geminiLogin = "run `ralph login gemini`, or set GEMINI_API_KEY to a valid key; with " +
	"GOOGLE_GEMINI_BASE_URL set, a login must have been chosen with /auth"

// Command passes the prompt on standard input, which is read whenever it is not a terminal.
func (gemini) Command(r Request) (Command, error) {
	argv := []string{cmp.Or(r.Program, "gemini"), "--output-format", "stream-json"}
	cmd := Command{
		// A relaunched CLI does not forward signals. In an untrusted folder it edits nothing.
		Env:   []string{"GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_TELEMETRY_ENABLED=false"},
		Stdin: r.PromptFile,
	}
	file := filepath.Join(cmp.Or(r.Folder, filepath.Dir(r.PromptFile)), "gemini-policy.toml")
	switch r.Permissions {
	case PermitAll:
		argv = append(argv, "--yolo")
	case PermitReading:
		// An administrator's policy outranks all others.
		cmd.Files = []File{{Path: file, Text: geminiReadPolicy}}
		argv = append(argv, "--approval-mode", "default", "--admin-policy", file)
	default:
		argv = append(argv, "--approval-mode", "auto_edit")
		if policy := geminiPolicy(r.AllowedCommands); policy != "" {
			cmd.Files = []File{{Path: file, Text: policy}}
			argv = append(argv, "--policy", file)
			for _, own := range geminiPolicies(r.Look) {
				argv = append(argv, "--policy", own)
			}
		}
	}
	// No extension or MCP server is called none. Servers of the project are also excluded.
	if !r.InheritSettings {
		argv = append(argv, "--extensions", "none")
	}
	if !r.InheritSettings || r.Permissions == PermitReading {
		argv = append(argv, "--allowed-mcp-server-names", "none")
	}
	cmd.Argv = append(argv, r.modelAndExtra("--model")...)
	return cmd, nil
}

// geminiReadPolicy allows the tools that read files, and denies everything else.
const geminiReadPolicy = `[[rule]]
toolName = "*"
decision = "deny"
priority = 998

[[rule]]
toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"]
decision = "allow"
priority = 999
`

// geminiFolder is the folder of the user's own settings.
func geminiFolder(look Look) string {
	return filepath.Join(cmp.Or(look.Env("GEMINI_CLI_HOME"), look.Home), ".gemini")
}

// geminiPolicies returns the user's own policies, which a run with --policy has to name.
func geminiPolicies(look Look) []string {
	if look.Env == nil {
		return nil
	}
	folder := geminiFolder(look)
	if paths, ok := look.readObject(filepath.Join(folder, "settings.json")).strings("policyPaths"); ok && len(paths) > 0 {
		return paths
	}
	policies := filepath.Join(folder, "policies")
	if look.countEntries(policies) == 0 {
		return nil
	}
	return []string{policies}
}

// geminiOwn is [About.Own] of the Gemini CLI.
func geminiOwn(r Request) Own {
	var own Own
	folder := geminiFolder(r.Look)
	own.leaveOut(r.Look.countEntries(filepath.Join(folder, "extensions")), "extension")
	own.leaveOut(len(r.Look.readObject(filepath.Join(folder, "settings.json")).object("mcpServers")), "MCP server")
	return own
}

// geminiModel returns the model that the user has chosen.
func geminiModel(look Look) string {
	return cmp.Or(look.Env("GEMINI_MODEL"), chosenModel(look, geminiFolder(look)))
}

// chosenModel returns the model that the settings in a folder name; "" if they name none.
func chosenModel(look Look, folder string) string {
	settings := look.readObject(filepath.Join(folder, "settings.json"))
	return cmp.Or(settings.object("model").word("name"), settings.word("model")) // older versions write only the name
}

// geminiPolicy allows the commands, with further arguments and redirected output; "" if there are
// none. It outranks --allowed-tools, which forbids every other command once it allows one.
func geminiPolicy(commands []string) string {
	prefixes := simpleCommands(commands)
	if len(prefixes) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = [\n")
	for _, p := range prefixes {
		b.WriteString("  " + quotedString(p) + ",\n")
	}
	b.WriteString("]\ndecision = \"allow\"\npriority = 999\nallowRedirection = true\n")
	return b.String()
}

// quotedString writes a string that is valid in both JSON and TOML.
func quotedString(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return strings.TrimSpace(b.String())
}

// allowedTool returns the flags that allow a denied call, for CLIs with --allowed-tools. It takes a
// comma-separated list and only simple commands; anything else needs more.
func allowedTool(tool, detail string) string {
	switch {
	case tool != "run_shell_command":
		return "-- --allowed-tools " + shellQuote(tool)
	case detail == "" || strings.ContainsAny(detail, "&|;<>()`$,\n\r"):
		return "--yolo"
	}
	return "-- --allowed-tools " + shellQuote(tool+"("+detail+")")
}

// geminiAccount follows the CLI's own order: the chosen login, then the environment.
func geminiAccount(look Look) Account {
	folder := geminiFolder(look)
	key := look.Env("GEMINI_API_KEY") != ""
	switch chosen := chosenLogin(look, folder); chosen {
	case "oauth-personal":
		if text, ok := look.File(filepath.Join(folder, "oauth_creds.json")); ok && len(text) > 0 {
			return Account{
				Login:   LoggedIn,
				Billing: BillingSubscription,
				Because: "a Google account was chosen, and oauth_creds.json exists",
			}
		}
		return Account{
			Login:   LoginUnknown,
			Billing: BillingSubscription,
			Because: "a Google account was chosen; its token may be in a keychain",
		}
	case "gemini-api-key":
		if key {
			return Account{Login: LoggedIn, Billing: BillingKey, Because: "GEMINI_API_KEY is set"}
		}
		return Account{
			Login:   LoginUnknown,
			Billing: BillingKey,
			Because: "an API key was chosen; it may be in a keychain or in an .env file",
		}
	case "":
	default:
		return Account{
			Login:   LoginUnknown,
			Billing: BillingUnknown,
			Because: "settings.json chooses " + promise.OneLine(chosen, stream.DetailSize),
		}
	}
	switch {
	case look.Env("GOOGLE_GENAI_USE_GCA") == "true", look.Env("GOOGLE_GENAI_USE_VERTEXAI") == "true":
		return Account{
			Login:   LoginUnknown,
			Billing: BillingUnknown,
			Because: "the environment chooses a Google Cloud account",
		}
	case look.Env("GOOGLE_GEMINI_BASE_URL") != "":
		return Account{
			Login: LoggedOut, Billing: BillingUnknown, Because: "GOOGLE_GEMINI_BASE_URL is set and no login was chosen",
			Warning: "the CLI does not start without one; start `gemini` and choose a login with /auth",
		}
	case key:
		return Account{Login: LoggedIn, Billing: BillingKey, Because: "GEMINI_API_KEY is set"}
	}
	if _, ok := look.File(filepath.Join(folder, ".env")); ok {
		return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "~/.gemini/.env may contain a key"}
	}
	return Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no login was chosen, and no GEMINI_API_KEY"}
}

// chosenLogin returns the kind of login that the settings in a folder name; "" if they name none.
func chosenLogin(look Look, folder string) string {
	text, ok := look.File(filepath.Join(folder, "settings.json"))
	if !ok {
		return ""
	}
	var settings struct {
		Selected string `json:"selectedAuthType"` // as older versions write it
		Security struct {
			Auth struct {
				Selected string `json:"selectedType"`
			} `json:"auth"`
		} `json:"security"`
	}
	stream.Decode(withoutComments(text), &settings)
	return cmp.Or(settings.Security.Auth.Selected, settings.Selected)
}

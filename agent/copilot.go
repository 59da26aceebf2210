package agent

import (
	"cmp"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// copilot is the GitHub Copilot CLI, run without a terminal. It was written against and recorded
// from version 1.0.102 with a model of the user's own (COPILOT_PROVIDER_*). Its output with
// GitHub's models is known from the event schema that comes with it.
//
// It updates itself, and may: told not to, it would run the version that was first installed
// instead of the current one. The user's own MCP servers cannot be excluded as a whole: they are
// started, but in edit mode their tools are denied.
type copilot struct{}

func (copilot) Name() string { return "copilot" }

func (copilot) About() About {
	return About{
		Title: "GitHub Copilot CLI", Program: "copilot", Meters: Meters{Tokens: true}, Proven: ProvenByRecordings,
		ShowsTools: true,
		EditMode:   "edits files, runs the programs of the check commands",
		ReadMode:   "reads files; writing, commands and the tools of MCP servers are denied",
		Shared:     true, // AWS Copilot deploys containers
		// GH_TOKEN and GITHUB_TOKEN would also log it in, but they may push and publish.
		Env:          []string{"COPILOT_*", "GH_HOST"},
		Reserved:     []string{"--output-format", "-p", "--prompt"},
		Resumes:      []string{"--continue", "-r", "--resume", "--session-id", "--connect"},
		Conversation: resumeFlag,
		Login:        Login{Args: []string{"login"}, Hint: copilotLogin},
		Account:      copilotAccount,
		Home:         copilotHome,
		// they count once the user trusts the folder; the second and similar ones belong to Claude
		// Code
		Repo: []RepoFile{
			{".github/hooks/*.json", nil}, {".claude/settings*.json", claudeRunsItself},
			{".github/copilot/settings*.json", nil}, {".mcp.json", nil},
			{".github/mcp.json", nil}, // from its documentation
		},
	}
}

// copilotLogin is the hint for a failed login.
const copilotLogin = "run `copilot login`, or set COPILOT_GITHUB_TOKEN; with a model of your own set " +
	"COPILOT_PROVIDER_BASE_URL and COPILOT_PROVIDER_API_KEY"

func (copilot) newReader(r *stream.Reading) stream.Reader {
	s := &copilotStream{Reading: r}
	r.ByStatus, r.ByComplaint = s.interrupted, copilotComplaints.complaints(copilotLogin)
	return &copilotReader{newEventReader(r, s), s}
}

// copilotUsage is the file in the iteration's folder where the CLI writes its usage, because no
// event reports it.
const copilotUsage = "copilot-usage.json"

func (copilot) Command(r Request) (Command, error) {
	argv := []string{cmp.Or(r.Program, "copilot"), "--output-format", "json", "--no-ask-user"}
	c := Command{Stdin: r.PromptFile}
	if r.Folder != "" {
		usage := filepath.Join(r.Folder, copilotUsage)
		argv = append(argv, "--usage-output-file", usage)
		c.Files = []File{{Path: usage}} // emptied, because an older one belongs to another agent
	}
	switch r.Permissions {
	case PermitAll:
		argv = append(argv, "--allow-all")
	case PermitReading:
		// A denied tool stays denied, whatever else allows it.
		c.Env = []string{"COPILOT_ALLOW_ALL=false"}
		argv = append(argv, "--deny-tool=write", "--deny-tool=shell", "--no-custom-instructions")
	default:
		c.Env = []string{"COPILOT_ALLOW_ALL=false"} // overrides the user's own choice for the terminal
		argv = append(argv, "--allow-tool=write")
		for _, command := range r.AllowedCommands {
			for _, rule := range copilotRules(command) {
				if flag := "--allow-tool=" + rule; !slices.Contains(argv, flag) {
					argv = append(argv, flag)
				}
			}
		}
	}
	if !r.InheritSettings || r.Permissions == PermitReading {
		// They act on GitHub in the user's name.
		argv = append(argv, "--disable-builtin-mcps")
	}
	c.Argv = append(argv, r.modelAndExtra("--model")...)
	return c, nil
}

// copilotSubcommands are the programs that the CLI distinguishes by their first argument, as found
// by trying them. It knows all others by name alone: if `make lint` is allowed, so is every make
// target.
var copilotSubcommands = strings.Fields(
	"bundle cargo composer conda dotnet gh git go gradle mix mvn npm npx pip pnpm poetry swift yarn",
)

// copilotShells run any command that they are given: a rule for one of them would allow everything.
var copilotShells = []string{
	"sh", "bash", "zsh", "dash", "ksh", "fish", "busybox", "env", "sudo", "doas", "su", "xargs", "eval", "exec",
	"command", "time", "timeout", "nice", "nohup",
	"setsid", "stdbuf", "watch", "pwsh", "powershell", "cmd",
}

var copilotAssignment = text.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_]*=[^\s'"]*$`)

// copilotRules returns the rules that allow a command line, one for each program in it; nil if no
// rule can allow one of them.
func copilotRules(line string) []string {
	var rules []string
	for _, part := range shellCommands(line) {
		words := strings.Fields(part)
		for len(words) > 0 && copilotAssignment().MatchString(words[0]) {
			words = words[1:]
		}
		if len(words) == 0 || slices.Contains(copilotShells, path.Base(words[0])) || strings.ContainsAny(words[0], `'"`) {
			return nil
		}
		name := words[0]
		if slices.Contains(copilotSubcommands, name) {
			if len(words) < 2 || strings.HasPrefix(words[1], "-") {
				return nil // it was not tried which word counts then
			}
			name += " " + words[1]
		}
		if name != "cd" { // within the workspace it is always allowed
			rules = append(rules, "shell("+name+")")
		}
	}
	return rules
}

// copilotAccount looks for a token and for an account in the CLI's own file. It does not see the
// login of `gh`, or a token in the system's keyring.
func copilotAccount(look Look) Account {
	switch {
	case look.Env("COPILOT_PROVIDER_BASE_URL") != "":
		return Account{Login: LoggedIn, Billing: BillingKey, Because: "COPILOT_PROVIDER_BASE_URL is set"}
	case look.Env("COPILOT_GITHUB_TOKEN") != "":
		return Account{Login: LoggedIn, Billing: BillingSubscription, Because: "COPILOT_GITHUB_TOKEN is set"}
	}
	home := cmp.Or(look.Env("COPILOT_HOME"), filepath.Join(look.Home, ".copilot"))
	if config, ok := look.File(filepath.Join(home, "config.json")); ok && copilotUsers().Match(config) {
		return Account{Login: LoggedIn, Billing: BillingSubscription, Because: "config.json has an account"}
	}
	unknown := Account{Login: LoginUnknown, Billing: BillingUnknown}
	if look.Env("GH_TOKEN") != "" || look.Env("GITHUB_TOKEN") != "" {
		unknown.Warning = "GH_TOKEN and GITHUB_TOKEN do not reach the agent; COPILOT_GITHUB_TOKEN does"
	}
	return unknown
}

// copilotUsers matches an account. The name of the list is known from the program's text, an older
// name from reports of its users.
var copilotUsers = text.LazyRegexp(`"(loggedInUsers|logged_in_users)"\s*:\s*\[\s*\{`)

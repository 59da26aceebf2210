package agent

import (
	"cmp"
	"path/filepath"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// cursor is the Cursor CLI, run without a terminal. It is closed source; what is here is known from
// its documentation and from reports about its builds of 2026 (up to 2026.09.18). We have not run
// it. Newer installations also call the program `agent`, a name too common to look for.
//
// Without --force it edits files and rejects every command that its own configuration does not
// allow; the checks cannot be allowed for one call. --trust answers the question whether the folder
// is trusted, and permits nothing: without it a run in a new folder is refused. The user's
// settings, rules and MCP servers cannot be excluded; unapproved servers are not started.
type cursor struct{}

func (cursor) Name() string { return "cursor" }

func (cursor) About() About {
	return About{
		Title: "Cursor CLI", Program: "cursor-agent", Proven: ProvenByDocs,
		EditMode:     "edits files; commands only if its own configuration allows them",
		ReadMode:     "its own ask mode: reads and searches, by its documentation; the repository's rules still apply",
		Meters:       Meters{Tokens: true},
		Env:          []string{"CURSOR_*", "AGENT_CLI_CREDENTIAL_STORE"},
		Reserved:     []string{"--output-format"},
		Resumes:      []string{"--resume", "--continue", "resume"},
		Conversation: resumeFlag,
		// the last one allows commands
		Repo:    []RepoFile{{".cursor/hooks.json", nil}, {".cursor/mcp.json", nil}, {".cursor/cli.json", nil}},
		Login:   Login{Args: []string{"login"}, Hint: cursorLogin},
		Account: cursorAccount,
		Home:    cursorHome,
	}
}

func (cursor) newReader(r *stream.Reading) stream.Reader {
	r.ByComplaint = cursorComplaints.complaints(cursorLogin)
	return newEventReader(r, &cursorStream{Reading: r})
}

// cursorComplaints are what the CLI prints without a login, or with an invalid key; known from
// reports of its users.
var cursorComplaints = sentences{
	{
		ralph.EndAuth,
		text.LazyRegexp(`^(?:authentication required\. please run |(?:⚠ *)?warning: the provided api key is invalid\.)`),
	},
}

// cursorLogin is the hint for a failed login.
const cursorLogin = "run `cursor-agent login`, or set CURSOR_API_KEY"

func (cursor) Command(r Request) (Command, error) {
	argv := []string{cmp.Or(r.Program, "cursor-agent"), "-p", "--output-format", "stream-json", "--trust"}
	switch r.Permissions {
	case PermitAll:
		argv = append(argv, "--force")
	case PermitReading:
		argv = append(argv, "--mode", "ask")
	}
	// Standard input is the prompt as long as no argument is one.
	argv = append(argv, r.modelAndExtra("--model")...)
	return Command{Argv: argv, Env: []string{"NO_OPEN_BROWSER=1"}, Stdin: r.PromptFile}, nil
}

// cursorAccount knows where the login is on Linux. On macOS it is usually in the keychain.
func cursorAccount(look Look) Account {
	if look.Env("CURSOR_API_KEY") != "" {
		return Account{Login: LoggedIn, Billing: BillingUnknown, Because: "CURSOR_API_KEY is set"}
	}
	for _, folder := range []string{
		filepath.Join(look.xdg("XDG_CONFIG_HOME", ".config"), "cursor"), filepath.Join(look.Home, ".cursor"),
	} {
		if text, ok := look.File(filepath.Join(folder, "auth.json")); ok && len(text) > 0 {
			return Account{Login: LoggedIn, Billing: BillingUnknown, Because: "auth.json exists"}
		}
	}
	if look.GOOS == "linux" {
		return Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no CURSOR_API_KEY and no auth.json"}
	}
	return Account{Login: LoginUnknown, Billing: BillingUnknown}
}

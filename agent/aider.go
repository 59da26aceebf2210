package agent

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
)

// aider is aider, run without a terminal. Everything here is known from its source and
// documentation, versions 0.86 to 0.88; we have not run it.
//
// It edits files and runs no commands: even with --yes-always, it declines commands that the model
// proposes. So all permissions are the same, and it cannot run the checks. It commits by itself
// unless told not to.
//
// Its settings and keys are in files (.aider.conf.yml and .env in the home folder, the repository
// and the current folder) that no flag excludes. It keeps a cache beside them,
// .aider.tags.cache.v4, that no flag moves: a repository should ignore .aider*.
type aider struct{}

func (aider) Name() string { return "aider" }

func (aider) About() About {
	return About{
		Title: "aider", Program: "aider", Proven: ProvenByDocs,
		EditMode: "edits files, never runs commands",
		ReadMode: "its own ask mode: sees only files that the prompt names, edits none",
		Env:      append([]string{"AIDER_*"}, modelKeys...),
		Reserved: []string{"--message", "-m", "--message-file", "-f"},
		Resumes:  []string{"--restore-chat-history"},
		Repo: []RepoFile{
			// Files that it loads at startup may contain commands.
			{".aider.conf.yml", []string{
				"notifications-command", "lint-cmd", "test-cmd", "load:", "set-env", "env-file", "api-base",
			}},
			{
				".env",
				append(
					[]string{"AIDER_NOTIFICATIONS_COMMAND", "AIDER_LINT_CMD", "AIDER_TEST_CMD", "AIDER_LOAD", "AIDER_SET_ENV"},
					envRunsItself...,
				),
			},
		},
		Login:   Login{Hint: aiderLogin},
		Account: aiderAccount,
	}
}

func (aider) newReader(r *stream.Reading) stream.Reader { return newAiderText(r) }

// aiderLogin is the hint for a failed login.
const aiderLogin = "set the provider's key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, or put it into " +
	"~/.aider.conf.yml"

func (aider) Command(r Request) (Command, error) {
	argv := []string{
		cmp.Or(r.Program, "aider"), "--message-file", r.PromptFile, "--yes-always",
		"--no-auto-commits", "--no-dirty-commits", // the second would commit changes that others left
		"--no-gitignore", // it would write into it
		"--no-suggest-shell-commands", "--no-detect-urls", "--no-auto-lint", "--no-auto-test",
		// unlike a whole answer at once, a stream is not wrapped into lines
		"--no-pretty", "--no-fancy-input", "--stream",
		"--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--analytics-disable",
		"--no-restore-chat-history",
	}
	if r.Permissions == PermitReading {
		// --dry-run would prevent an edit in any case. The repository map would leave a cache in
		// the repository.
		argv = append(argv, "--chat-mode", "ask", "--dry-run", "--map-tokens", "0")
	}
	if r.Folder != "" {
		// Its history files would be in the workspace.
		argv = append(argv,
			"--chat-history-file", filepath.Join(r.Folder, "aider.chat.history.md"),
			"--input-history-file", filepath.Join(r.Folder, "aider.input.history"))
	}
	// Its own lines are wrapped at the terminal's width, which is 80 without a terminal.
	return Command{Argv: append(argv, r.modelAndExtra("--model")...), Env: []string{"COLUMNS=1000"}}, nil
}

// aiderAccount looks for a model's key. Not finding one proves nothing: a .env of the repository
// may hold it.
func aiderAccount(look Look) Account {
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY",
		"GROQ_API_KEY", "XAI_API_KEY",
		"AIDER_ANTHROPIC_API_KEY", "AIDER_OPENAI_API_KEY", "AIDER_API_KEY",
	} {
		if look.Env(name) != "" {
			return Account{Login: LoggedIn, Billing: BillingKey, Because: name + " is set"}
		}
	}
	if text, ok := look.File(filepath.Join(look.Home, ".aider.conf.yml")); ok &&
		strings.Contains(string(text), "api-key:") {
		return Account{Login: LoggedIn, Billing: BillingKey, Because: "~/.aider.conf.yml has a key"}
	}
	if text, ok := look.File(filepath.Join(look.Home, ".aider", "oauth-keys.env")); ok &&
		strings.Contains(string(text), "_API_KEY=") {
		return Account{Login: LoggedIn, Billing: BillingKey, Because: "~/.aider/oauth-keys.env has a key"}
	}
	return Account{Login: LoginUnknown, Billing: BillingUnknown}
}

package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// About is what is known about a CLI besides how it talks.
type About struct {
	Title   string // as its makers call it
	Program string // its executable; "" if it has none of its own
	Meters  Meters
	// EditMode is what the CLI may do in edit mode, in a few words; "" if that does not depend on
	// the mode.
	EditMode string
	// ReadMode is what the CLI may do if it may only read, in a few words, and which limits cannot
	// be enforced.
	ReadMode string
	// MCP means that the CLI can be given a server for one run without touching the user's files.
	MCP bool
	// ShowsTools means that the CLI's output says how tool calls ended, so that they can be evidence.
	ShowsTools bool
	// Shared means that another well-known program has the same name, so that finding it proves
	// nothing. The CLI is used only if the user names it.
	Shared bool
	// Env lists the CLI's own variables: its settings and the keys to its model. A name may contain
	// one star.
	Env []string
	// EnvWhen lists further variables that pass only if the variable that is the map key is
	// switched on: a cloud's credentials are only for its users.
	EnvWhen map[string][]string
	// EnvOf returns further variables that the CLI's configuration names: their names, never their
	// values. nil means that there are none.
	EnvOf func(Look) []string
	// ModelOf returns the model that the CLI's configuration names; "" if it names none. nil means that it is not known.
	ModelOf func(Look) string
	// Own returns what a run that does not inherit the user's settings does with them. nil means that it uses them as
	// they are.
	Own func(Request) Own
	// Home returns what the CLI keeps for this user, which it needs in a sandbox. nil means that nothing is known.
	Home func(Look) Home
	// Reserved lists the flags that control the CLI's output. Only the harness may set them.
	Reserved []string
	// Resumes lists the flags that would continue an earlier session. A run never does.
	Resumes []string
	// Conversation returns the arguments that open an earlier session in a terminal, for a person. nil means that the
	// CLI has no such command, or that runs keep no session.
	Conversation func(session string) []string
	// Repo lists files with which a repository could make the CLI run something by itself, or let it do
	// more than edit mode allows.
	Repo []RepoFile
	// Login is the CLI's own way to log in.
	Login Login
	// Account looks for a login, without a process or the network. If it is nil, nothing is known.
	Account func(Look) Account
	// Broken lists versions that are known not to work in a loop.
	Broken []BrokenVersion
	// Proven is how this information was verified.
	Proven Proof
}

// resumeFlag opens a session in most CLIs.
func resumeFlag(session string) []string { return []string{"--resume", session} }

// Meters says whether a CLI reports cost and tokens, whether it does while it works, and whether it
// reports how much of a subscription is used.
type Meters struct{ Cost, Tokens, Live, Windows bool }

// Login is how people log in to a CLI.
type Login struct {
	Args []string // Args of its program, to be run in a terminal; nil if there is no such command
	Hint string   // what helps when a login failed, in one line
}

// Look is what a search for a login or for settings may see.
type Look struct {
	Home string
	Env  func(name string) string         // "" if it is not set
	File func(path string) ([]byte, bool) // nil and true for a file that is too large
	List func(dir string) []string        // names in a folder, those of folders with a slash at their end
	GOOS string
}

// xdg returns a folder below the home folder, unless the given variable of the XDG specification
// overrides it.
func (l Look) xdg(variable, usual string) string {
	return cmp.Or(l.Env(variable), filepath.Join(l.Home, filepath.FromSlash(usual)))
}

// maxSettings is the largest settings file that is read.
const maxSettings = 1 << 20

// LookAround returns what an agent with that environment would see.
func LookAround(env []string) Look {
	variable := func(name string) string {
		value := ""
		for _, entry := range env {
			if key, text, _ := strings.Cut(entry, "="); key == name {
				value = text
			}
		}
		return value
	}
	return Look{
		Home: cmp.Or(variable("HOME"), variable("USERPROFILE")), GOOS: runtime.GOOS, Env: variable,
		File: smallFile, List: listFolder,
	}
}

// smallFile reads a regular file, unless it is too large to be settings.
func smallFile(path string) ([]byte, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, err == nil && info.Mode().IsRegular()
	}
	text, err := os.ReadFile(path)
	return text, err == nil
}

// Account is what is known about the login of a CLI. Unknown is a valid answer.
type Account struct {
	Login   LoginState `json:"login"`
	Billing Billing    `json:"billing"`
	Because string     `json:"because,omitempty"` // where that was seen, never the secret itself
	Warning string     `json:"warning,omitempty"`
}

// LoginState says whether the user is logged in.
type LoginState string

// Billing says who pays for what the CLI uses.
type Billing string

// Proof says how a dialect was verified.
type Proof string

// The values of LoginState, Billing and Proof.
const (
	LoggedIn     LoginState = "yes"
	LoggedOut    LoginState = "no"
	LoginUnknown LoginState = "unknown"

	BillingSubscription Billing = "subscription"
	BillingKey          Billing = "key"
	BillingUnknown      Billing = "unknown"

	ProvenByRuns       Proof = "real runs"     // the real CLI is run in our tests
	ProvenByRecordings Proof = "recordings"    // its recorded output is read in our tests
	ProvenByDocs       Proof = "documentation" // we have not run it
)

// BrokenVersion is a range of versions that are known not to work in a loop: from First (included)
// to Fixed (not included); "" means unbounded.
type BrokenVersion struct{ First, Fixed, Why string }

// modelKeys are the variables of well-known providers, for CLIs that bring no model of their own.
// Tokens of a cloud that does more than answer, such as DATABRICKS_TOKEN, are excluded.
var modelKeys = []string{
	"OPENAI_*", "ANTHROPIC_*", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_*", "DEEPSEEK_*", "GROQ_*", "XAI_*",
	"MISTRAL_*", "COHERE_*",
	"AZURE_API_*", "AZURE_OPENAI_*", "DATABRICKS_API_*", "OLLAMA_*", "LITELLM_*", "LM_STUDIO_*",
	"TOGETHER*_API_KEY", "FIREWORKS_*", "CEREBRAS_*",
}

// envRunsItself are the variables of an .env file that make programs run something, or send a key
// to another server.
var envRunsItself = []string{
	"BASH_ENV", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "PYTHONSTARTUP", "GIT_",
	"PATH=", "_BASE_URL", "_API_BASE",
}

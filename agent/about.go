package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// About is what is known of a CLI besides how it talks.
type About struct {
	Title   string // as its makers call it
	Program string // its executable; "" if it has none of its own
	Meters  Meters
	// EditMode is what the CLI may do in edit mode, in a few words; "" where it has no part in that.
	EditMode string
	// ReadMode is what the CLI may do where it may only read, in a few words, and what it cannot be held to.
	ReadMode string
	// Shared says that another well-known program has the same name, so that finding one proves nothing: it is used only when it is named.
	Shared bool
	// Env lists the variables that are the CLI's own: its settings and the keys to its model. A name may hold one star.
	Env []string
	// EnvWhen lists further ones that pass only if the variable that is its key is switched on: a cloud's credentials are for those who use it.
	EnvWhen map[string][]string
	// EnvOf gives further variables of the CLI's own, which its configuration names: their names, never their values. It may be nil: then there are none.
	EnvOf func(Look) []string
	// Reserved lists the flags that say how the CLI prints: they are the harness's own.
	Reserved []string
	// Resumes lists the flags that would make the CLI go on with an earlier session. A run never does.
	Resumes []string
	// Repo lists files of a repository by which it could make the CLI run something of its own accord.
	Repo []RepoFile
	// Login is the CLI's own way to log in.
	Login Login
	// Account looks for a login, without a process or the network. It may be nil: then nothing is known.
	Account func(Look) Account
	// Broken lists versions that are known not to work in a loop.
	Broken []BrokenVersion
	// Proven says how what is written here is known.
	Proven Proof
}

// Meters says what a CLI reports of what it spends.
type Meters struct{ Cost, Tokens bool }

// RepoFile is a file of a repository that a CLI reads, as a path or a pattern, and the keys in it that name something to run; without keys all of it does.
type RepoFile struct {
	Path string
	Keys []string
}

// Login is how people log in to a CLI.
type Login struct {
	Args []string // of its program, to be run in a terminal; nil if there is no such command
	Hint string   // what helps when a login failed, in one line
}

// Look is what a search for a login may see.
type Look struct {
	Home string
	Env  func(name string) string         // "" if it is not set
	File func(path string) ([]byte, bool) // small files only
	GOOS string
}

// xdg is a folder below the home folder, unless that variable of the XDG specification says where it is.
func (l Look) xdg(variable, usual string) string {
	return cmp.Or(l.Env(variable), filepath.Join(l.Home, filepath.FromSlash(usual)))
}

// maxSettings bounds a file of settings that is looked into.
const maxSettings = 1 << 20

// LookAround sees what an agent with that environment would see.
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
		File: smallFile,
	}
}

// smallFile reads a file, unless it is none or too big to be settings.
func smallFile(path string) ([]byte, bool) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxSettings {
		return nil, false
	}
	text, err := os.ReadFile(path)
	return text, err == nil
}

// Account is what is known about the login of a CLI. Unknown is an answer.
type Account struct {
	Login   LoginState `json:"login"`
	Billing Billing    `json:"billing"`
	Because string     `json:"because,omitempty"` // where that was seen, never the secret itself
	Warning string     `json:"warning,omitempty"`
}

// LoginState says whether somebody is logged in.
type LoginState string

// Billing says who pays for what the CLI uses.
type Billing string

// Proof says how a dialect is known.
type Proof string

// What can be known.
const (
	LoggedIn     LoginState = "yes"
	LoggedOut    LoginState = "no"
	LoginUnknown LoginState = "unknown"

	BillingSubscription Billing = "subscription"
	BillingKey          Billing = "key"
	BillingUnknown      Billing = "unknown"

	ProvenByRuns       Proof = "real runs"     // the real CLI is run in our tests
	ProvenByRecordings Proof = "recordings"    // its recorded output is read in our tests
	ProvenByDocs       Proof = "documentation" // nobody here has run it
)

// BrokenVersion is a range of versions that are known not to work in a loop: from First (included) to Fixed (not included), "" being no bound.
type BrokenVersion struct{ First, Fixed, Why string }

// modelKeys are the variables of well-known providers, for CLIs that bring no model of their own. Tokens of a cloud that does more than answer, such
// as DATABRICKS_TOKEN, are not among them.
var modelKeys = []string{
	"OPENAI_*", "ANTHROPIC_*", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_*", "DEEPSEEK_*", "GROQ_*", "XAI_*", "MISTRAL_*", "COHERE_*",
	"AZURE_API_*", "AZURE_OPENAI_*", "DATABRICKS_API_*", "OLLAMA_*", "LITELLM_*", "LM_STUDIO_*", "TOGETHER*_API_KEY", "FIREWORKS_*", "CEREBRAS_*",
}

// envRunsItself are the variables of an .env file by which programs run something, or by which a key goes to another server.
var envRunsItself = []string{"BASH_ENV", "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "PYTHONSTARTUP", "GIT_", "PATH=", "_BASE_URL", "_API_BASE"}

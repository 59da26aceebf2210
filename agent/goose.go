package agent

import (
	"cmp"
	"path/filepath"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// goose is goose (github.com/aaif-goose/goose, before that block/goose), driven without a terminal. Everything here is known from its source, as of
// October 2026 (after 1.45), and from its issues; nobody here has run it.
//
// It has no edit mode. In "auto" it does everything; in "smart_approve" whatever is not plainly a reading tool needs a person's word, and without
// a terminal it ends at once instead of waiting. Single tools can be let pass for good with `goose configure`.
type goose struct{}

func (goose) Name() string { return "goose" }

func (goose) About() About {
	return About{
		Title: "goose", Program: "goose", Proven: ProvenByDocs,
		EditMode: "has none: it ends at the first edit or command, so use `--yolo`",
		ReadMode: "has no tools at all: it judges by what it is told",
		Shared:   true, // pressly/goose migrates databases
		// What it cost is told for models whose price it knows, by versions from July 2026 on: too little to hold a cap.
		Meters:   Meters{Tokens: true},
		Env:      append([]string{"GOOSE_*", "DATABRICKS_HOST", "DATABRICKS_TOKEN"}, modelKeys...),
		Reserved: []string{"--output-format", "-i", "--instructions", "-t", "--text"},
		Resumes:  []string{"-r", "--resume", "--fork", "--session-id", "--id", "-n", "--name", "--path"},
		Login:    Login{Args: []string{"configure"}, Hint: gooseLogin},
		Account:  gooseAccount,
	}
}

func (goose) newReader(r *stream.Reading) stream.Reader {
	s := &gooseStream{Reading: r}
	r.ByStatus = s.endedInTool
	return newEventReader(r, s)
}

// What helps when the login failed, and when a tool needed somebody's word.
const (
	gooseLogin = "run `goose configure`, or set GOOSE_PROVIDER, GOOSE_MODEL and the provider's key"
	gooseModes = "goose has no edit mode: --yolo lets it do everything, `goose configure` lets single tools pass"
)

func (goose) Command(r Request) (Command, error) {
	argv := []string{cmp.Or(r.Program, "goose"), "run", "--no-session", "--quiet", "--output-format", "stream-json"}
	mode := "smart_approve"
	switch r.Permissions {
	case PermitAll:
		mode = "auto"
	case PermitReading:
		mode = "chat" // its reading goes through the shell, which would need a person's word
	}
	if !r.InheritSettings {
		// The user's own extensions stay out; the one that edits and runs commands is named.
		argv = append(argv, "--no-profile", "--with-builtin", "developer")
	}
	argv = append(argv, r.modelAndExtra("--model")...)
	return Command{
		Argv:  append(argv, "-i", "-"),
		Env:   []string{"GOOSE_MODE=" + mode, "GOOSE_DISABLE_SESSION_NAMING=true"}, // a name costs a call of the model
		Stdin: r.PromptFile,
	}, nil
}

// gooseAccount knows that goose refuses to start without a provider. Keys are in the system's keyring as a rule, where nobody looks.
func gooseAccount(look Look) Account {
	folder := filepath.Join(look.xdg("XDG_CONFIG_HOME", ".config"), "goose")
	if look.GOOS == "windows" {
		folder = filepath.Join(look.Env("APPDATA"), "Block", "goose", "config")
	}
	config, there := look.File(filepath.Join(folder, "config.yaml"))
	switch {
	case look.Env("GOOSE_PROVIDER") != "":
		return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "GOOSE_PROVIDER is set"}
	case there && gooseProvider().Match(config):
		return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "a provider is configured; its key may be in the keyring"}
	}
	return Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no provider is configured"}
}

var gooseProvider = text.LazyRegexp(`(?m)^\s*(GOOSE_PROVIDER|active_provider|providers)\s*:`)

package agent

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/text"
)

// goose is goose (github.com/aaif-goose/goose, formerly block/goose), run without a terminal.
// Everything here is known from its source, as of October 2026 (after 1.45), and from its issues;
// we have not run it.
//
// It has no edit mode. In "auto" it does everything; in "smart_approve" every tool that does not
// merely read needs approval, and without a terminal it exits at once instead of waiting. Single
// tools can be approved permanently with `goose configure`.
type goose struct{}

func (goose) Name() string { return "goose" }

func (goose) About() About {
	return About{
		Title: "goose", Program: "goose", Proven: ProvenByDocs,
		EditMode: "no edit mode: it stops at the first edit or command, so use `--yolo`",
		ReadMode: "no tools: it judges by its prompt alone",
		Shared:   true, // pressly/goose migrates databases
		// Versions from July 2026 on report the cost for models whose price they know, which is not
		// enough to enforce a limit.
		Meters:   Meters{Tokens: true},
		Env:      append([]string{"GOOSE_*", "DATABRICKS_HOST", "DATABRICKS_TOKEN"}, modelKeys...),
		Own:      gooseOwn,
		Reserved: []string{"--output-format", "-i", "--instructions", "-t", "--text"},
		Resumes:  []string{"-r", "--resume", "--fork", "--session-id", "--id", "-n", "--name", "--path"},
		Login:    Login{Args: []string{"configure"}, Hint: gooseLogin},
		Account:  gooseAccount,
		Home:     gooseHome,
	}
}

func (goose) newReader(r *stream.Reading) stream.Reader {
	s := &gooseStream{Reading: r}
	r.ByStatus = s.endedInTool
	return newEventReader(r, s)
}

// Hints for a failed login, and for a tool that needed approval.
const (
	gooseLogin = "run `goose configure`, or set GOOSE_PROVIDER, GOOSE_MODEL and the provider's key"
	gooseModes = "goose has no edit mode: allow everything with --yolo, or single tools with `goose configure`"
)

func (goose) Command(r Request) (Command, error) {
	argv := []string{cmp.Or(r.Program, "goose"), "run", "--no-session", "--quiet", "--output-format", "stream-json"}
	mode := "smart_approve"
	switch r.Permissions {
	case PermitAll:
		mode = "auto"
	case PermitReading:
		mode = "chat" // it reads through the shell, which would need approval
	}
	if !r.InheritSettings {
		// The user's own extensions stay out; the one that edits and runs commands is named.
		argv = append(argv, "--no-profile", "--with-builtin", "developer")
	}
	argv = append(argv, r.modelAndExtra("--model")...)
	return Command{
		Argv: append(argv, "-i", "-"),
		// a name costs a model call
		Env:   []string{"GOOSE_MODE=" + mode, "GOOSE_DISABLE_SESSION_NAMING=true"},
		Stdin: r.PromptFile,
	}, nil
}

// gooseConfig returns the user's own configuration.
func gooseConfig(look Look) ([]byte, bool) {
	folder := filepath.Join(look.xdg("XDG_CONFIG_HOME", ".config"), "goose")
	if look.GOOS == "windows" {
		folder = filepath.Join(look.Env("APPDATA"), "Block", "goose", "config")
	}
	return look.File(filepath.Join(folder, "config.yaml"))
}

var gooseExtensions = text.LazyRegexp(`(?m)^extensions:[ \t]*\n((?:[ \t].*\n|\n)*)`)

// gooseOwn is [About.Own] of goose. The extension that a run uses is among those that it counts.
func gooseOwn(r Request) Own {
	var own Own
	config, _ := gooseConfig(r.Look)
	if m := gooseExtensions().FindSubmatch(append(config, '\n')); m != nil {
		own.leaveOut(strings.Count(string(m[1]), "enabled: true"), "extension")
	}
	return own
}

// gooseAccount knows that goose refuses to start without a provider. Keys are usually in the
// system's keyring, which is not read.
func gooseAccount(look Look) Account {
	config, there := gooseConfig(look)
	switch {
	case look.Env("GOOSE_PROVIDER") != "":
		return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "GOOSE_PROVIDER is set"}
	case there && gooseProvider().Match(config):
		return Account{
			Login:   LoginUnknown,
			Billing: BillingUnknown,
			Because: "a provider is configured; its key may be in the keyring",
		}
	}
	return Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no provider is configured"}
}

var gooseProvider = text.LazyRegexp(`(?m)^\s*(GOOSE_PROVIDER|active_provider|providers)\s*:`)

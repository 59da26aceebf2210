package agent

import (
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// codexAccount looks for the login that `codex exec` would use. Seen with version 0.166:
// CODEX_API_KEY outranks what is stored, both a key and a ChatGPT login. OPENAI_API_KEY is not read
// at all; older versions did.
func codexAccount(look Look) Account {
	dir, folder := codexHome(look), "~/.codex"
	if look.Env("CODEX_HOME") != "" {
		folder = "$CODEX_HOME"
	}
	config, _ := look.File(filepath.Join(dir, "config.toml"))
	if provider := codexTop(config, "model_provider"); provider != "" && provider != "openai" {
		return Account{
			Login:   LoginUnknown,
			Billing: BillingUnknown,
			Because: folder + "/config.toml names a provider of its own",
		}
	}
	stored := codexStored(look, filepath.Join(dir, "auth.json"), folder+"/auth.json")
	switch {
	case look.Env("CODEX_API_KEY") != "":
		a := Account{Login: LoggedIn, Billing: BillingKey, Because: "CODEX_API_KEY is set"}
		if stored.Billing == BillingSubscription {
			a.Warning = "it is used instead of the subscription login"
		}
		return a
	case stored.Login != LoggedOut:
		return stored
	case codexTop(config, "cli_auth_credentials_store") == "keyring",
		codexTop(config, "cli_auth_credentials_store") == "auto":
		return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "the keyring is not read"}
	case look.Env("OPENAI_API_KEY") != "":
		stored.Login, stored.Warning = LoginUnknown, "OPENAI_API_KEY is set, which `codex exec` no longer "+
			"reads: set CODEX_API_KEY"
	}
	return stored
}

func codexStored(look Look, path, name string) Account {
	var auth struct {
		Mode   string  `json:"auth_mode"`
		APIKey *string `json:"OPENAI_API_KEY"`
		Tokens *struct {
			AccessToken string `json:"access_token"`
		} `json:"tokens"`
	}
	_, there := look.File(path)
	understood := readJSON(look, path, &auth)
	hasKey := auth.APIKey != nil && *auth.APIKey != ""
	hasTokens := auth.Tokens != nil && auth.Tokens.AccessToken != ""
	switch mode := strings.ToLower(auth.Mode); {
	case !there:
		return Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no CODEX_API_KEY and no " + name}
	case understood && hasKey && (mode == "apikey" || mode == ""): // without a mode a key wins
		return Account{Login: LoggedIn, Billing: BillingKey, Because: name + " has a key"}
	case understood && hasTokens && strings.HasPrefix(mode, "chatgpt"), understood && hasTokens && mode == "":
		return Account{Login: LoggedIn, Billing: BillingSubscription, Because: name + " has a ChatGPT login"}
	}
	return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: name + " has an unexpected format"}
}

var codexSetting = text.LazyRegexp(`^\s*([a-z_]+)\s*=\s*["']([^"']*)["']`)

// codexTop returns a string setting before the first table of a TOML file.
func codexTop(config []byte, key string) string {
	for line := range strings.Lines(string(config)) {
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			return ""
		}
		if m := codexSetting().FindStringSubmatch(line); m != nil && m[1] == key {
			return m[2]
		}
	}
	return ""
}

package agent

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/promise"
)

// claudeAccount looks for the login that Claude Code would use. The precedence was seen with
// version 2.1.325 (`claude auth status`, and the headers of its requests): a cloud's switch,
// ANTHROPIC_AUTH_TOKEN, ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN, the stored login, a stored key.
//
// A key helper is in the user's settings, which a run excludes unless it inherits them; then it
// outranks all but the first three.
func claudeAccount(look Look) Account {
	c := claudeLogins(look)
	chosen := c.chosen()
	switch {
	case chosen.Login == LoggedIn && chosen.Billing != BillingSubscription && c.subscribed():
		chosen.Warning = "it is used instead of the subscription login"
	case c.helper:
		chosen.Warning = c.folder + "/settings.json has an apiKeyHelper: it is used only with agent.inherit_settings"
	}
	return chosen
}

// claudeFound is everything that might be a login.
type claudeFound struct {
	env    func(string) string
	folder string // folder of its files, as people write it
	goos   string
	OAuth  struct {
		AccessToken  string  `json:"accessToken"`
		RefreshToken string  `json:"refreshToken"`
		ExpiresAt    float64 `json:"expiresAt"` // in milliseconds
		Subscription string  `json:"subscriptionType"`
	} `json:"claudeAiOauth"`
	storedKey, helper bool
}

func claudeLogins(look Look) claudeFound {
	found := claudeFound{env: look.Env, folder: "~/.claude", goos: look.GOOS}
	dir, global := filepath.Join(look.Home, ".claude"), filepath.Join(look.Home, ".claude.json")
	if own := look.Env("CLAUDE_CONFIG_DIR"); own != "" {
		dir, global, found.folder = own, filepath.Join(own, ".claude.json"), "$CLAUDE_CONFIG_DIR"
	}
	credentials, _ := look.File(filepath.Join(dir, ".credentials.json"))
	stream.Decode(credentials, &found) // unexpected content counts as missing
	var config struct {
		PrimaryAPIKey string `json:"primaryApiKey"`
	}
	found.storedKey = readJSON(look, global, &config) && config.PrimaryAPIKey != ""
	var settings struct {
		APIKeyHelper string `json:"apiKeyHelper"`
	}
	found.helper = readJSON(look, filepath.Join(dir, "settings.json"), &settings) && settings.APIKeyHelper != ""
	return found
}

// readJSON reads a JSON file.
func readJSON(look Look, path string, into any) bool {
	text, ok := look.File(path)
	return ok && json.Unmarshal(text, into) == nil
}

// claudeClouds are the switches for clouds that serve the model.
var claudeClouds = []struct{ variable, name string }{
	{"CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"}, {"CLAUDE_CODE_USE_VERTEX", "Google Vertex"},
	{"CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"},
}

func (c claudeFound) chosen() Account {
	for _, cloud := range claudeClouds {
		if isOn(c.env(cloud.variable)) {
			return Account{
				Login:   LoginUnknown,
				Billing: BillingUnknown,
				Because: cloud.variable + " is set: " + cloud.name + " has its own credentials",
			}
		}
	}
	switch {
	case c.env("ANTHROPIC_AUTH_TOKEN") != "":
		return Account{
			Login:   LoggedIn,
			Billing: BillingUnknown,
			Because: "ANTHROPIC_AUTH_TOKEN is set; unknown who pays for its gateway",
		}
	case c.env("ANTHROPIC_API_KEY") != "":
		return Account{Login: LoggedIn, Billing: BillingKey, Because: "ANTHROPIC_API_KEY is set"}
	case c.env("CLAUDE_CODE_OAUTH_TOKEN") != "":
		return Account{Login: LoggedIn, Billing: BillingSubscription, Because: "CLAUDE_CODE_OAUTH_TOKEN is set"}
	case c.OAuth.AccessToken != "":
		return c.stored()
	case c.storedKey:
		return Account{Login: LoggedIn, Billing: BillingKey, Because: "a key is stored in .claude.json"}
	case c.goos == "darwin":
		return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "the keychain is not read"}
	case c.helper:
		return Account{Login: LoginUnknown, Billing: BillingUnknown}
	}
	return Account{
		Login:   LoggedOut,
		Billing: BillingUnknown,
		Because: "no key is set, and there is no login in " + c.folder,
	}
}

// stored describes the login of /login. An expired one is renewed if possible.
func (c claudeFound) stored() Account {
	a := Account{Login: LoggedIn, Billing: BillingSubscription, Because: c.folder + "/.credentials.json has a login"}
	if plan := promise.OneLine(c.OAuth.Subscription, 20); plan != "" {
		a.Because += " (" + plan + ")"
	}
	if c.expired() {
		a.Login, a.Because = LoggedOut, "the login in "+c.folder+"/.credentials.json has expired"
	}
	return a
}

func (c claudeFound) expired() bool {
	return c.OAuth.RefreshToken == "" && c.OAuth.ExpiresAt > 0 &&
		time.UnixMilli(int64(c.OAuth.ExpiresAt)).Before(time.Now())
}

func (c claudeFound) subscribed() bool {
	return c.env("CLAUDE_CODE_OAUTH_TOKEN") != "" || c.OAuth.AccessToken != "" && !c.expired()
}

// isOn treats anything but a clear no as yes.
func isOn(value string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "off"}, strings.ToLower(value))
}

package agent

import (
	"cmp"
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
// A key helper is in the user's settings. It outranks all but the first three. The variables in the
// settings replace those of the environment.
func claudeAccount(look Look) Account {
	c := claudeLogins(look)
	chosen := c.chosen()
	if c.subscribed() && chosen.Billing != BillingSubscription && (chosen.Login == LoggedIn || c.helper) {
		chosen.Warning = "it is used instead of the subscription login"
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
	user := claudeUserOf(look)
	variables := user.settings.object("env")
	found := claudeFound{folder: "~/.claude", goos: look.GOOS, helper: user.settings.word("apiKeyHelper") != ""}
	found.env = func(name string) string { return cmp.Or(variables.word(name), look.Env(name)) }
	if look.Env("CLAUDE_CONFIG_DIR") != "" {
		found.folder = "$CLAUDE_CONFIG_DIR"
	}
	credentials, _ := look.File(filepath.Join(user.dir, ".credentials.json"))
	stream.Decode(credentials, &found) // unexpected content counts as missing
	found.storedKey = look.readObject(user.global).word("primaryApiKey") != ""
	return found
}

// readJSON reads a JSON file.
func readJSON(look Look, path string, into any) bool {
	text, ok := look.File(path)
	return ok && json.Unmarshal(text, into) == nil
}

// claudeClouds are the switches for clouds that serve the model, and the variables that hold their
// credentials.
var claudeClouds = []struct {
	variable, name string
	credentials    []string
}{
	{"CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock", []string{"AWS_*"}},
	{
		"CLAUDE_CODE_USE_VERTEX", "Google Vertex",
		[]string{"GOOGLE_*", "GCLOUD_*", "CLOUDSDK_*", "CLOUD_ML_REGION", "VERTEX_*"},
	},
	{"CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry", []string{"AZURE_*"}},
}

// claudeEnvWhen is [About.EnvWhen] of Claude Code.
func claudeEnvWhen() map[string][]string {
	when := map[string][]string{}
	for _, cloud := range claudeClouds {
		when[cloud.variable] = cloud.credentials
	}
	return when
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
	case c.helper:
		return Account{
			Login:   LoginUnknown,
			Billing: BillingUnknown,
			Because: c.folder + "/settings.json has an apiKeyHelper",
		}
	case c.env("CLAUDE_CODE_OAUTH_TOKEN") != "":
		return Account{Login: LoggedIn, Billing: BillingSubscription, Because: "CLAUDE_CODE_OAUTH_TOKEN is set"}
	case c.OAuth.AccessToken != "":
		return c.stored()
	case c.storedKey:
		return Account{Login: LoggedIn, Billing: BillingKey, Because: "a key is stored in .claude.json"}
	case c.goos == "darwin":
		return Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "the keychain is not read"}
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

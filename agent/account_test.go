package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// secret stands for everything that must not be repeated.
const secret = "sk-a-secret-that-nobody-prints"

// world is what a search for a login may see.
type world struct {
	goos  string // default: linux
	env   []string
	files map[string]string // by path
}

func (w world) look() Look {
	goos := w.goos
	if goos == "" {
		goos = "linux"
	}
	return Look{
		Home: "/home/me", GOOS: goos,
		Env: func(name string) string {
			for _, entry := range w.env {
				if key, value, _ := strings.Cut(entry, "="); key == name {
					return value
				}
			}
			return ""
		},
		File: func(path string) ([]byte, bool) {
			text, ok := w.files[path]
			return []byte(text), ok
		},
		List: func(dir string) []string {
			var names []string
			for path := range w.files {
				if below, ok := strings.CutPrefix(path, dir+"/"); ok {
					name, _, folder := strings.Cut(below, "/")
					if folder {
						name += "/"
					}
					names = append(names, name)
				}
			}
			slices.Sort(names)
			return slices.Compact(names)
		},
	}
}

func checkAccount(t *testing.T, d Dialect, w world, want Account) {
	t.Helper()
	got := d.About().Account(w.look())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(fmt.Sprint(got), secret) {
		t.Errorf("a secret is told: %+v", got)
	}
}

func TestClaudeAccount(t *testing.T) {
	const (
		stored   = "/home/me/.claude/.credentials.json"
		settings = "/home/me/.claude/settings.json"
		replaced = "it is used instead of the subscription login"
		helper   = "~/.claude/settings.json has an apiKeyHelper"
	)
	login := func(fields string) string { return `{"claudeAiOauth":{"accessToken":"` + secret + `"` + fields + `}}` }
	subscribed := map[string]string{stored: login(
		`,"refreshToken":"` + secret + `","expiresAt":4102444800000,"subscriptionType":"max"`,
	)}
	for name, c := range map[string]struct {
		world
		want Account
	}{
		"nothing": {world{}, Account{
			Login: LoggedOut, Billing: BillingUnknown, Because: "no key is set, and there is no login in ~/.claude",
		}},
		"key": {world{env: []string{"ANTHROPIC_API_KEY=" + secret}}, Account{
			Login: LoggedIn, Billing: BillingKey, Because: "ANTHROPIC_API_KEY is set",
		}},
		"long-lived token": {world{env: []string{"CLAUDE_CODE_OAUTH_TOKEN=" + secret}},
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "CLAUDE_CODE_OAUTH_TOKEN is set"}},
		"gateway": {world{env: []string{"ANTHROPIC_AUTH_TOKEN=" + secret, "ANTHROPIC_API_KEY=" + secret}},
			Account{
				Login: LoggedIn, Billing: BillingUnknown,
				Because: "ANTHROPIC_AUTH_TOKEN is set; unknown who pays for its gateway",
			}},
		"subscription": {world{files: subscribed}, Account{
			Login: LoggedIn, Billing: BillingSubscription, Because: "~/.claude/.credentials.json has a login (max)",
		}},
		"a key silently replaces the subscription": {world{env: []string{"ANTHROPIC_API_KEY=" + secret}, files: subscribed},
			Account{Login: LoggedIn, Billing: BillingKey, Because: "ANTHROPIC_API_KEY is set", Warning: replaced}},
		"a key silently replaces the long-lived token": {world{env: []string{
			"ANTHROPIC_API_KEY=" + secret, "CLAUDE_CODE_OAUTH_TOKEN=" + secret,
		}},
			Account{Login: LoggedIn, Billing: BillingKey, Because: "ANTHROPIC_API_KEY is set", Warning: replaced}},
		"expired, to be renewed": {world{files: map[string]string{stored: login(`,"refreshToken":"r","expiresAt":1000`)}},
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "~/.claude/.credentials.json has a login"}},
		"expired for good": {world{files: map[string]string{stored: login(`,"expiresAt":1000`)}},
			Account{
				Login: LoggedOut, Billing: BillingSubscription,
				Because: "the login in ~/.claude/.credentials.json has expired",
			}},
		"another folder": {world{env: []string{"CLAUDE_CONFIG_DIR=/cfg"}, files: map[string]string{
			"/cfg/.credentials.json": login(""), stored: "{",
		}},
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "$CLAUDE_CONFIG_DIR/.credentials.json has a login"}},
		"stored key": {world{files: map[string]string{"/home/me/.claude.json": `{"primaryApiKey":"` + secret + `"}`}},
			Account{Login: LoggedIn, Billing: BillingKey, Because: "a key is stored in .claude.json"}},
		"an account without a login": {world{files: map[string]string{
			"/home/me/.claude.json": `{"oauthAccount":{"emailAddress":"` + secret + `"}}`,
		}},
			Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no key is set, and there is no login in ~/.claude"}},
		"helper": {world{files: map[string]string{settings: `{"apiKeyHelper":"cat ` + secret + `"}`}},
			Account{Login: LoginUnknown, Billing: BillingUnknown, Because: helper}},
		"a helper silently replaces the subscription": {world{files: map[string]string{
			settings: `{"apiKeyHelper":"x"}`, stored: login(""),
		}},
			Account{Login: LoginUnknown, Billing: BillingUnknown, Because: helper, Warning: replaced}},
		"a key in the settings": {world{files: map[string]string{
			settings: `{"env":{"ANTHROPIC_API_KEY":"` + secret + `"}}`,
		}},
			Account{Login: LoggedIn, Billing: BillingKey, Because: "ANTHROPIC_API_KEY is set"}},
		"cloud": {world{env: []string{"CLAUDE_CODE_USE_BEDROCK=1"}, files: subscribed},
			Account{
				Login: LoginUnknown, Billing: BillingUnknown,
				Because: "CLAUDE_CODE_USE_BEDROCK is set: Amazon Bedrock has its own credentials",
			}},
		"cloud switched off": {world{env: []string{"CLAUDE_CODE_USE_VERTEX=0"}},
			Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no key is set, and there is no login in ~/.claude"}},
		"keychain": {world{goos: "darwin"}, Account{
			Login: LoginUnknown, Billing: BillingUnknown, Because: "the keychain is not read",
		}},
		"broken files": {world{files: map[string]string{
			stored: `{"claudeAiOauth":7}`, settings: "no", "/home/me/.claude.json": "[]",
		}},
			Account{Login: LoggedOut, Billing: BillingUnknown, Because: "no key is set, and there is no login in ~/.claude"}},
	} {
		t.Run(name, func(t *testing.T) { checkAccount(t, claude{}, c.world, c.want) })
	}
}

func TestCodexAccount(t *testing.T) {
	const (
		auth    = "/home/me/.codex/auth.json"
		config  = "/home/me/.codex/config.toml"
		chatGPT = `{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"access_token":"` + secret +
			`","refresh_token":"` + secret + `"}}`
		none = "no CODEX_API_KEY and no ~/.codex/auth.json"
	)
	for name, c := range map[string]struct {
		world
		want Account
	}{
		"nothing": {world{}, Account{Login: LoggedOut, Billing: BillingUnknown, Because: none}},
		"key": {world{env: []string{"CODEX_API_KEY=" + secret}}, Account{
			Login: LoggedIn, Billing: BillingKey, Because: "CODEX_API_KEY is set",
		}},
		"subscription": {world{files: map[string]string{auth: chatGPT}},
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "~/.codex/auth.json has a ChatGPT login"}},
		"subscription of an older version": {world{files: map[string]string{
			auth: `{"tokens":{"access_token":"` + secret + `"}}`,
		}},
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "~/.codex/auth.json has a ChatGPT login"}},
		"a key silently replaces the subscription": {world{
			env: []string{"CODEX_API_KEY=" + secret}, files: map[string]string{auth: chatGPT},
		},
			Account{
				Login: LoggedIn, Billing: BillingKey, Because: "CODEX_API_KEY is set",
				Warning: "it is used instead of the subscription login",
			}},
		"stored key": {world{files: map[string]string{auth: `{"OPENAI_API_KEY":"` + secret + `"}`}},
			Account{Login: LoggedIn, Billing: BillingKey, Because: "~/.codex/auth.json has a key"}},
		"stored key beside tokens": {world{files: map[string]string{
			auth: `{"OPENAI_API_KEY":"` + secret + `","tokens":{"access_token":"` + secret + `"}}`,
		}},
			Account{Login: LoggedIn, Billing: BillingKey, Because: "~/.codex/auth.json has a key"}},
		"a variable that is not read": {world{env: []string{"OPENAI_API_KEY=" + secret}},
			Account{
				Login: LoginUnknown, Billing: BillingUnknown, Because: none,
				Warning: "OPENAI_API_KEY is set, which `codex exec` no longer reads: set CODEX_API_KEY",
			}},
		"a variable that is not read beside a login": {world{
			env: []string{"OPENAI_API_KEY=" + secret}, files: map[string]string{auth: chatGPT},
		},
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "~/.codex/auth.json has a ChatGPT login"}},
		"another folder": {world{env: []string{"CODEX_HOME=/cfg"}, files: map[string]string{"/cfg/auth.json": chatGPT}},
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "$CODEX_HOME/auth.json has a ChatGPT login"}},
		"another provider": {world{files: map[string]string{
			auth:   chatGPT,
			config: "model = \"x\"\nmodel_provider = \"mine\" # ours\n[model_providers.mine]\nenv_key = \"MINE\"\n",
		}},
			Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "~/.codex/config.toml names a provider of its own"}},
		"a provider of a profile": {world{files: map[string]string{
			auth: chatGPT, config: "[profiles.x]\nmodel_provider = \"mine\"\n",
		}},
			Account{Login: LoggedIn, Billing: BillingSubscription, Because: "~/.codex/auth.json has a ChatGPT login"}},
		"keyring": {world{files: map[string]string{config: "cli_auth_credentials_store = 'keyring'\n"}},
			Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "the keyring is not read"}},
		"another form": {world{files: map[string]string{auth: `{"auth_mode":"agentIdentity","secret":"` + secret + `"}`}},
			Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "~/.codex/auth.json has an unexpected format"}},
		"no JSON": {world{files: map[string]string{auth: secret}},
			Account{Login: LoginUnknown, Billing: BillingUnknown, Because: "~/.codex/auth.json has an unexpected format"}},
	} {
		t.Run(name, func(t *testing.T) { checkAccount(t, codex{}, c.world, c.want) })
	}
}

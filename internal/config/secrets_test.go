package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhichValuesAreMasked(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".env": "# comment with s0me-text\nexport DB_PASSWORD='s3cr3t-db-pass-77'\nMODE=development\n" +
			"URL=https://me:p4ssw0rd!x@db.example/x\n",
		"account.json": `{"type": "service", "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n"}`,
		"raw.txt":      "hq7Zk2LmPq9\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := NewEnv([]string{
		"GITHUB_TOKEN=ghx_0123456789ab", "SSH_KEY=-----BEGIN KEY-----\nAAAAB3NzaC1yc2E4\npassword\n-----END KEY-----",
		"LOGIN_PASSWORD=password", "AUTH_MODE=client-secret", "MAX_TOKEN=100000000", "SSH_AUTH_SOCK=" + dir,
		"TOKEN_URL=https://login.example.com/oauth/token1", "SHORT_KEY=abc1234",
		"DATABASE_URL=postgres://app:kX8vd93jq@localhost/app", "REMOTE=https://glpat-abcdefgh12345@git.example/x",
		"PASSPHRASE_KEY=correct horse battery staple", "INTERNAL=hunter2hunter2", "PLAIN=visible-text-123",
	})
	settings := Settings{Secrets: SecretSettings{
		Variables: []string{"INTERN*"}, Files: []string{".env", "raw.txt", "missing", filepath.Join(dir, "account.json")},
	}}
	mask, err := settings.Masker(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"ghx_0123456789ab":                       "[masked:GITHUB_TOKEN]",
		"AAAAB3NzaC1yc2E4":                       "[masked:SSH_KEY:2]",
		"password":                               "password",
		"client-secret":                          "client-secret",
		"100000000":                              "100000000",
		dir:                                      dir,
		"https://login.example.com/oauth/token1": "https://login.example.com/oauth/token1",
		"abc1234":                                "abc1234",
		"postgres://app:kX8vd93jq@localhost":     "postgres://app:[masked:DATABASE_URL]@localhost",
		"https://glpat-abcdefgh12345@git.example/": "https://[masked:REMOTE]@git.example/",
		"correct horse battery staple":             "[masked:PASSPHRASE_KEY]",
		"hunter2hunter2":                           "[masked:INTERNAL]",
		"visible-text-123":                         "visible-text-123",
		"s0me-text":                                "s0me-text",
		"DB_PASSWORD=s3cr3t-db-pass-77":            "DB_PASSWORD=[masked:.env:2]",
		"development":                              "development",
		"p4ssw0rd!x":                               "[masked:.env:4]",
		"MIIEvQIBADANBgkq":                         "[masked:account.json:1]",
		"hq7Zk2LmPq9":                              "[masked:raw.txt:1]",
	}
	got := map[string]string{}
	for text := range want {
		got[text] = mask.String(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRecordedSettingsHaveTheirSecretsAgain(t *testing.T) {
	env := NewEnv([]string{`DEPLOY_TOKEN=dt_9Xk2/Qm"+47Lz`})
	text := []byte(`{"agent":{"command":"curl -H X:[masked:DEPLOY_TOKEN] u"}}`)
	s, err := Recorded(text, env, t.TempDir())
	if want := `curl -H X:dt_9Xk2/Qm"+47Lz u`; err != nil || s.Agent.Command != want {
		t.Errorf("command %q, error %v", s.Agent.Command, err)
	}
}

func TestASecretFileThatCannotBeReadIsAUsageError(t *testing.T) {
	_, err := Settings{Secrets: SecretSettings{Files: []string{"."}}}.Masker(Env{}, t.TempDir())
	if usage, ok := errors.AsType[*UsageError](err); !ok || usage.Hint == "" {
		t.Errorf("error %v", err)
	}
}

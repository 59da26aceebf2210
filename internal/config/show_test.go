package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShow(t *testing.T) {
	loaded := mustLoad(t, Input{Flags: map[string][]string{
		"check": {`API_KEY="a b" make <x`, "curl https://me:pw@host/x"}, "max-time": {"1h30m"}, "max-cost": {"0.10"},
		"max-wait": {"90.5s"},
	}})
	var got strings.Builder
	for _, row := range Show(loaded) {
		got.WriteString(row.Key + " | " + row.Value + " | " + row.Origin + "\n")
	}
	golden(t, "testdata/show.golden", got.String())
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"go test ./...":                             "go test ./...",
		"https://user:pass@host/path":               "https://***@host/path",
		"git clone ssh://tok@host:22/x && echo a@b": "git clone ssh://***@host:22/x && echo a@b",
		"NPM_TOKEN=abc npm test":                    "NPM_TOKEN=*** npm test",
		"A=1 SECRET='a b' B=2 make":                 "A=1 SECRET=*** B=2 make",
		`env TOKEN="x y" make KEYBOARD=de`:          `env TOKEN=*** make KEYBOARD=de`,
		"tool --api-key abc --verbose":              "tool --api-key *** --verbose",
		"tool --token=abc x":                        "tool --token=*** x",
		"tool --token --verbose":                    "tool --token --verbose",
		"TOKEN=$MY_TOKEN make":                      "TOKEN=$MY_TOKEN make",
		`curl -H "Authorization: Bearer abc.def" x`: `curl -H "Authorization: Bearer ***" x`,
		`curl -H "X-Api-Key: abc" x`:                `curl -H "X-Api-Key: ***" x`,
		"run ghp_0123456789abcdef":                  "run ***",
		"run sk-ant-0123456789abcdef":               "run ***",
		"ssh-keygen a key to the token":             "ssh-keygen a key to the token",
		"TOKEN='a b":                                "TOKEN=***",
		"TOKEN=":                                    "TOKEN=",
		"grep password file":                        "grep password file",
		"go test -run TestKey/token=1 ./...":        "go test -run TestKey/token=*** ./...",
		"max_tokens=5":                              "max_tokens=5",
		strings.Repeat("token ", 10):                strings.Repeat("token ", 10),
		"":                                          "",
	} {
		if got := redact(text); got != want {
			t.Errorf("redact(%q)\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestOrigins(t *testing.T) {
	got := []string{}
	for _, o := range []Origin{
		{Layer: LayerDefault}, {Layer: LayerProfile, Name: "status"}, {Layer: LayerUser, File: "u", Line: 1},
		{Layer: LayerProject, File: "p", Line: 2},
		{Layer: LayerConfig, File: "c", Line: 3}, {Layer: LayerEnvironment, Name: "RALPH_X"}, {Layer: LayerSet},
		{Layer: LayerFlag, Name: "--x"},
	} {
		got = append(got, o.String())
	}
	want := []string{
		"default", "profile status", "user u:1", "project p:2", "config c:3", "environment RALPH_X", "--set", "flag --x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFieldsOfAnotherTypePanic(t *testing.T) {
	wrong := Key{Name: "agent"} // a group, which has no value
	for name, do := range map[string]func(){
		"store":  func() { wrong.store(&Settings{}, "x") },
		"format": func() { format(new(uint8)) },
		"put":    func() { mustPut(layer{}, allKeys.byName["max_cost"], "much", Origin{}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("a bug in the table must not go unnoticed")
				}
			}()
			do()
		})
	}
}

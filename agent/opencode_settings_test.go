package agent

import (
	"path/filepath"
	"testing"
)

func TestOpencodeLeavesTheUsersServersOut(t *testing.T) {
	config := func(name string) string { return filepath.Join("/home/u", ".config", "opencode", name) }
	cases := map[string]struct {
		files, env map[string]string
		want       string
	}{
		"nothing":    {},
		"no servers": {files: map[string]string{config("opencode.json"): `{"model":"a/b","mcp":{}}`}},
		"two files, with comments": {
			files: map[string]string{
				config("opencode.jsonc"): "{ // mine\n \"mcp\": { \"a\": {\"type\": \"local\", \"command\": [\"x\", " +
					"],}, /* and\n */ \"b // no comment\": {}, }, }",
				config("config.json"): `{"mcp":{"c":{}}}`,
			},
			want: `{"mcp":{"a":{"enabled":false},"b // no comment":{"enabled":false},"c":{"enabled":false}}}`,
		},
		"the user's own in the variable stays": {
			env:  map[string]string{"OPENCODE_CONFIG_CONTENT": `{"model":"a/b","mcp":{"d":{"type":"remote"}}}`},
			want: `{"mcp":{"d":{"enabled":false,"type":"remote"}},"model":"a/b"}`,
		},
		"what cannot be read stays": {
			env:   map[string]string{"OPENCODE_CONFIG_CONTENT": `{file:x}`},
			files: map[string]string{config("opencode.json"): `{"mcp":{"a":{}}}`},
		},
		"other places": {
			env: map[string]string{"XDG_CONFIG_HOME": "/x", "OPENCODE_CONFIG": "/etc/oc.json"},
			files: map[string]string{
				filepath.Join("/x", "opencode", "opencode.json"): `{"mcp":{"a":{}}}`, "/etc/oc.json": `{"mcp":{"b":{}}}`,
			},
			want: `{"mcp":{"a":{"enabled":false},"b":{"enabled":false}}}`,
		},
		"a broken file": {files: map[string]string{config("opencode.json"): `{"mcp":{"a":`}},
	}
	for name, c := range cases {
		look := Look{
			Home: "/home/u",
			Env:  func(name string) string { return c.env[name] },
			File: func(path string) ([]byte, bool) {
				text, ok := c.files[path]
				return []byte(text), ok
			},
		}
		if got := opencodeAlone(look); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
	if got := opencodeAlone(Look{}); got != "" {
		t.Errorf("without a look: %s", got)
	}
}

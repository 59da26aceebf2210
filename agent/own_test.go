package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The same question for every other CLI: which of the user's settings does a run leave out?
func TestOwnSettings(t *testing.T) {
	cases := []struct {
		name, agent string
		permissions Permissions
		files       map[string]string
		want        Own
	}{
		{"nothing", "codex", PermitEdits, nil, Own{}},
		{"all kinds", "codex", PermitEdits, map[string]string{
			"/home/me/.codex/config.toml": "default_permissions = \"mine\"\nnotify = [\"a\"]\n[mcp_servers.x]\n" +
				"[plugins.\"a@b\"]\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ncommand = \"a\"\n",
			"/home/me/.codex/hooks.json": `{"hooks":{"Stop":[{"hooks":[{},{}]}]}}`,
		}, Own{
			LeftOut: []string{"3 hooks", "1 notifier", "1 plugin", "1 MCP server"},
			Notes:   []string{"codex keeps to your permission profile mine"},
		}},
		{"without a sandbox", "codex", PermitAll, map[string]string{
			"/home/me/.codex/config.toml": "default_permissions = \"mine\"\n",
		}, Own{LeftOut: []string{"the permission profile mine (there is no sandbox)"}}},
		{"a mode of its own", "codex", PermitEdits, map[string]string{
			"/home/me/.codex/config.toml": "notify = []\ndefault_permissions = \":workspace\"\n",
		}, Own{}},
		{"all kinds", "gemini", PermitEdits, map[string]string{
			"/home/me/.gemini/settings.json":   `{"mcpServers":{"a":{},"b":{}}} // mine`,
			"/home/me/.gemini/extensions/x/g":  "",
			"/home/me/.gemini/policies/a.toml": "",
		}, Own{LeftOut: []string{"1 extension", "2 MCP servers"}}},
		{"all kinds", "qwen", PermitEdits, map[string]string{
			"/home/me/.qwen/settings.json":  `{"mcpServers":{"a":{}},"hooks":{"Stop":[{"hooks":[{}]}]}}`,
			"/home/me/.qwen/extensions/x/g": "",
		}, Own{LeftOut: []string{"1 hook", "1 extension", "1 MCP server"}}},
		{"all kinds", "opencode", PermitEdits, map[string]string{
			"/home/me/.config/opencode/opencode.jsonc": `{"plugin":["a"],"mcp":{"a":{},"b":{}},
				"permission":{"read":"allow","bash":{"git *":"allow","rm *":"deny"},},}`,
			"/home/me/.config/opencode/plugin/x.ts": "",
		}, Own{LeftOut: []string{"2 plugins", "2 MCP servers", "1 allow rule"}}},
		{"everything is allowed", "opencode", PermitAll, map[string]string{
			"/home/me/.config/opencode/opencode.json": `{"permission":"allow"}`,
		}, Own{}},
		{"all kinds", "amp", PermitEdits, map[string]string{
			"/home/me/.config/amp/settings.json": `{"amp.mcpServers":{"a":{}},"amp.hooks":[{}],
				"amp.permissions":[{"tool":"Bash","action":"allow"},{"tool":"Read","action":"reject"}]}`,
		}, Own{LeftOut: []string{"1 hook", "1 MCP server", "1 rule"}}},
		{"extensions", "goose", PermitEdits, map[string]string{
			"/home/me/.config/goose/config.yaml": "GOOSE_MODEL: x\nextensions:\n  a:\n    enabled: true\n" +
				"  b:\n    enabled: false\nother:\n  enabled: true\n",
		}, Own{LeftOut: []string{"1 extension"}}},
		{"nothing", "goose", PermitEdits, nil, Own{}},
	}
	for _, c := range cases {
		t.Run(c.agent+"/"+c.name, func(t *testing.T) {
			d, _ := Find(c.agent)
			got := d.About().Own(Request{Look: world{files: c.files}.look(), Permissions: c.permissions})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A run that inherits the user's settings leaves nothing out.
func TestInheritedSettingsAreNotLeftOut(t *testing.T) {
	home := t.TempDir()
	cli := New(Options{Dialect: claude{}, InheritSettings: true, Env: []string{"HOME=" + home}})
	if got := cli.Own(home); got.LeftOut != nil {
		t.Errorf("got %v", got)
	}
}

// Settings that are too large to read are no reason to forget rules without a word.
func TestLargeSettingsAreReported(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, ".claude", "settings.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat(" ", maxSettings) + `{"permissions":{"deny":["Edit"]}}`
	if err := os.WriteFile(file, []byte(large), 0o600); err != nil {
		t.Fatal(err)
	}
	got := New(Options{Dialect: claude{}, Env: []string{"HOME=" + home}}).Own(home)
	want := Own{Notes: []string{
		"Ralph does not read " + file + ", which is larger than 1 MB; what it says does not count",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// --sandbox would replace a permission profile of the user's own, and with it the files that it
// denies.
func TestCodexKeepsThePermissionProfile(t *testing.T) {
	for config, want := range map[string]string{
		"":                                     "--sandbox workspace-write",
		"default_permissions = \":read-only\"": "--sandbox workspace-write",
		"default_permissions = \"mine\"":       `-c default_permissions="mine"`,
		"[x]\ndefault_permissions = \"other\"": "--sandbox workspace-write",
	} {
		look := world{files: map[string]string{"/home/me/.codex/config.toml": config + "\n"}}.look()
		got, err := codex{}.Command(Request{PromptFile: "p", Permissions: PermitEdits, Look: look})
		if err != nil || !strings.Contains(strings.Join(got.Argv, " "), " "+want+" ") {
			t.Errorf("%s: %v, %v", config, got.Argv, err)
		}
	}
}

// --policy would replace the user's own policies.
func TestGeminiKeepsThePolicies(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"none": {},
		"the usual folder": {map[string]string{
			"/home/me/.gemini/policies/a.toml": "",
		}, []string{"/home/me/.gemini/policies"}},
		"named ones": {map[string]string{
			"/home/me/.gemini/settings.json": `{"policyPaths":["/a","/b"]}`, "/home/me/.gemini/policies/a.toml": "",
		}, []string{"/a", "/b"}},
	}
	for name, c := range cases {
		got, err := gemini{}.Command(Request{
			PromptFile: "/p/prompt.md", Permissions: PermitEdits, AllowedCommands: []string{"make"},
			Look: world{files: c.files}.look(),
		})
		var policies []string
		for i, arg := range got.Argv {
			if arg == "--policy" {
				policies = append(policies, got.Argv[i+1])
			}
		}
		if diff := cmp.Diff(append([]string{"/p/gemini-policy.toml"}, c.want...), policies); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

// The file that disables hooks replaces an administrator's settings, so it has those, too.
func TestQwenKeepsTheSystemsSettings(t *testing.T) {
	const system = `{"permissions":{"deny":["Bash(rm *)"]},"general":{"language":"en","enableAutoUpdate":true}}`
	want := decoded(t, `{"permissions":{"deny":["Bash(rm *)"]},"general":{"language":"en","enableAutoUpdate":false},
		"disableAllHooks":true,"memory":{"enableManagedAutoMemory":false,"enableManagedAutoDream":false},
		"security":{"folderTrust":{"enabled":false}}}`)
	for name, w := range map[string]world{
		"linux": {files: map[string]string{"/etc/qwen-code/settings.json": system}},
		"macOS": {goos: "darwin", files: map[string]string{"/Library/Application Support/QwenCode/settings.json": system}},
		"named": {env: []string{"QWEN_CODE_SYSTEM_SETTINGS_PATH=/x"}, files: map[string]string{"/x": system}},
	} {
		if diff := cmp.Diff(want, decoded(t, qwenSystem(Request{Look: w.look()}))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// The safe mode in which a reviewer works excludes the user's rules with all other settings.
func TestQwenRepeatsTheUsersRulesForAReviewer(t *testing.T) {
	w := world{files: map[string]string{
		"/home/me/.qwen/settings.json": `{"permissions":{"deny":["Read(./secret.env)","Bash(a,b)"],"allow":["Bash"]}}`,
	}}
	got, err := qwen{}.Command(Request{PromptFile: "/p/prompt.md", Permissions: PermitReading, Look: w.look()})
	line := strings.Join(got.Argv, " ")
	if err != nil || strings.Count(line, "--exclude-tools") != 1 ||
		!strings.Contains(line, " --exclude-tools Read(./secret.env) --") {
		t.Errorf("%s, %v", line, err)
	}
	want := Own{Notes: []string{"a reviewer that is qwen does not follow your deny rules that have a comma: Bash(a,b)"}}
	if diff := cmp.Diff(want, qwenOwn(Request{Look: w.look()})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Merged settings of the user or an administrator may hold keys, so they do not stay in the folder
// of an iteration.
func TestMergedSettingsDoNotStay(t *testing.T) {
	for _, d := range Known() {
		got, err := d.Command(Request{PromptFile: "/p/prompt.md", CommandLine: "x", Look: world{}.look()})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got.Files {
			if strings.HasSuffix(f.Path, ".json") && f.Text != "" {
				t.Errorf("%s leaves %s behind", d.Name(), f.Path)
			}
		}
	}
}

// What the user's rules reject comes first, because the first rule that matches decides.
func TestAmpKeepsTheUsersRejections(t *testing.T) {
	w := world{files: map[string]string{"/home/me/.config/amp/settings.json": `{"amp.permissions":[
		{"tool":"Bash","matches":{"cmd":"*push*"},"action":"reject"},{"tool":"Bash","action":"allow"}],
		"amp.tools.disable":["x"],"amp.mcpServers":{"a":{}},"amp.dangerouslyAllowAll":true}`}}
	first := func(permissions Permissions) (rules []map[string]any) {
		settings := ampSettings(Request{Look: w.look(), Permissions: permissions})
		if err := json.Unmarshal(settings["amp.permissions"], &rules); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"amp.mcpServers", "amp.dangerouslyAllowAll"} {
			if settings[name] != nil {
				t.Errorf("%s: %s is %s", permissions, name, settings[name])
			}
		}
		if disabled, _ := settings.strings("amp.tools.disable"); len(disabled) != 1 {
			t.Errorf("%s: %v", permissions, settings)
		}
		return rules
	}
	want := map[string]any{"tool": "Bash", "matches": map[string]any{"cmd": "*push*"}, "action": "reject"}
	for _, permissions := range []Permissions{PermitEdits, PermitAll, PermitReading} {
		rules := first(permissions)
		if diff := cmp.Diff(want, rules[0]); diff != "" {
			t.Errorf("%s: -want +got:\n%s", permissions, diff)
		}
	}
	if rules := first(PermitAll); len(rules) != 2 || rules[1]["action"] != "allow" {
		t.Errorf("got %v", rules)
	}
}

func TestOpencodeKeepsTheUsersDenials(t *testing.T) {
	cases := []struct {
		name        string
		permissions Permissions
		files, env  map[string]string
		want        string // what is added to our own rules
	}{
		{"nothing is denied", PermitEdits, map[string]string{
			"opencode.json": `{"permission":{"bash":"ask","read":"allow"}}`,
		}, nil, ``},
		{"a file and a command", PermitEdits, map[string]string{
			"opencode.json": `{"permission":{"read":{"*":"allow","*.env":"deny"},
				"bash":{"*":"ask","git *":"allow","rm *":"deny"}}}`,
		}, nil, `,"rea?":{"*":"allow","*.env":"deny"},"bas?":{"rm *":"deny"}`},
		{"everything else is allowed", PermitAll, map[string]string{
			"opencode.json": `{"permission":{"bash":{"*":"deny","git *":"ask"}}}`,
		}, nil, `,"bas?":{"*":"deny","git *":"allow"}`},
		{"one action for all", PermitEdits, map[string]string{
			"opencode.json": `{"permission":{"*":"deny","read":"allow","webfetch":"allow"}}`,
		}, nil, `,"**":{"*":"deny"},"rea?":{"*":"allow"}`},
		{"several places", PermitEdits, map[string]string{
			"config.json": `{"tools":{"write":false,"webfetch":true}}`, "opencode.jsonc": "{\"permission\":\"deny\",} // all",
		}, map[string]string{"OPENCODE_PERMISSION": `{"edit":"allow","mcp_*":"deny"}`},
			`,"edi?":{"*":"allow"},"**":{"*":"deny"},"mcp_**":{"*":"deny"}`},
		{"a reviewer", PermitReading, map[string]string{
			"opencode.json": `{"permission":{"edit":{"a":"allow","b":"deny"},"read":{"*":"allow","*.env":"deny"}}}`,
		}, nil, `,"edi?":{"b":"deny"},"rea?":{"*":"allow","*.env":"deny"}`},
		{"not JSON", PermitEdits, map[string]string{"opencode.json": `{"permission":{"read":"deny"`}, nil, ``},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := world{files: map[string]string{}}
			for name, content := range c.files {
				w.files["/home/me/.config/opencode/"+name] = content
			}
			for name, value := range c.env {
				w.env = append(w.env, name+"="+value)
			}
			r := Request{Permissions: c.permissions, AllowedCommands: []string{"make"}, Look: w.look()}
			ours, _ := json.Marshal(opencodeRules(r))
			cmd, err := opencode{}.Command(r)
			if err != nil {
				t.Fatal(err)
			}
			want := "OPENCODE_PERMISSION=" + strings.TrimSuffix(string(ours), "}") + c.want + "}"
			if diff := cmp.Diff(want, cmd.Env[0]); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A model of the user's choice has a known price, so a run knows what it costs.
func TestModelsOfTheSettings(t *testing.T) {
	cases := []struct {
		agent, want string
		world       world
	}{
		{"gemini", "", world{}},
		{"gemini", "a", world{files: map[string]string{"/home/me/.gemini/settings.json": `{"model":{"name":"a"}}`}}},
		{"gemini", "b", world{
			env: []string{"GEMINI_MODEL=b"}, files: map[string]string{"/home/me/.gemini/settings.json": `{"model":"a"}`},
		}},
		{"qwen", "a", world{files: map[string]string{"/home/me/.qwen/settings.json": `{"model":"a"}`}}},
		{"qwen", "b", world{env: []string{"QWEN_MODEL=c", "OPENAI_MODEL=b"}}},
		{"codex", "a", world{files: map[string]string{"/home/me/.codex/config.toml": "model = \"a\"\n"}}},
	}
	for _, c := range cases {
		d, _ := Find(c.agent)
		if got := d.About().ModelOf(c.world.look()); got != c.want {
			t.Errorf("%s: got %q, want %q", c.agent, got, c.want)
		}
	}
}

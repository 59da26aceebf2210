package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const claudeUserFile = "/home/me/.claude/settings.json"

// A run lost all of the user's settings, not only hooks and servers: with a rule that denies a file
// and a model of the user's choice, the file was read and another model was asked (real-agents 1).
func TestClaudeKeepsTheUsersRules(t *testing.T) {
	cases := []struct {
		name        string
		permissions Permissions
		own, want   string // settings, without white space
	}{
		{"none", PermitEdits, "", ""},
		{"only what does not belong in a run", PermitEdits,
			`{"hooks":{"Stop":[]},"statusLine":{"type":"command","command":"x"},"enabledPlugins":{"a@b":true}}`, ""},
		{"rules, model, environment and login", PermitEdits,
			`{"permissions":{"deny":["Read(./secret.env)","Bash(rm *)"],"ask":["WebFetch"]},"model":"haiku",
			"env":{"A":"b"},"apiKeyHelper":"get-key","cleanupPeriodDays":365,"hooks":{"Stop":[]},
			"enableAllProjectMcpServers":true,"disabledMcpjsonServers":["x"],"outputStyle":"Learning","agent":"mine"}`,
			`{"apiKeyHelper":"get-key","cleanupPeriodDays":365,"disabledMcpjsonServers":["x"],"env":{"A":"b"},"model":"haiku",
			"permissions":{"ask":["WebFetch"],"deny":["Read(./secret.env)","Bash(rm *)"]}}`},
		{"rules can only narrow", PermitEdits,
			`{"permissions":{"allow":["Bash"],"additionalDirectories":["/"],"defaultMode":"bypassPermissions",
			"deny":["Edit"],"disableBypassPermissionsMode":"disable"}}`,
			`{"permissions":{"deny":["Edit"],"disableBypassPermissionsMode":"disable"}}`},
		{"rules for files beside the settings", PermitAll,
			`{"permissions":{"deny":["Read(/keys/**)","Edit(//etc/**)","Read(~/x)","Bash(/bin/rm)","Read(/)"]}}`,
			`{"permissions":{"deny":["Read(//home/me/.claude/keys/**)","Edit(//etc/**)","Read(~/x)","Bash(/bin/rm)",
			"Read(/)"]}}`},
		{"a sandbox", PermitEdits,
			`{"sandbox":{"enabled":true,"filesystem":{"denyRead":["keys","~/x","/y","//z"],"other":1}}}`,
			`{"sandbox":{"autoAllowBashIfSandboxed":false,"enabled":true,
			"filesystem":{"denyRead":["/home/me/.claude/keys","~/x","/y","//z"],"other":1}}}`},
		{"a sandbox of an agent that may do everything", PermitAll,
			`{"sandbox":{"enabled":true}}`, `{"sandbox":{"enabled":true}}`},
		{"a rule that the CLI does not understand", PermitEdits, `{"permissions":{"deny":"all"}}`,
			`{"permissions":{"deny":"all"}}`},
		{"not JSON", PermitEdits, `{"model":"haiku",}`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := world{files: map[string]string{}}
			if c.own != "" {
				w.files[claudeUserFile] = c.own
			}
			got := claudeSettings(claudeUserOf(w.look()), c.permissions)
			if diff := cmp.Diff(decoded(t, c.want), decoded(t, got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestClaudeGetsTheUsersFiles(t *testing.T) {
	w := world{files: map[string]string{
		claudeUserFile: `{"model":"haiku"}`, "/home/me/.claude/CLAUDE.md": "Use tabs.\n", "/w/x": "Be brief.",
	}}
	const settings, memory = "/f/claude-settings.json", "/f/claude-memory.md"
	cases := []struct {
		name    string
		request Request
		argv    []string // after the permissions
		files   []string
	}{
		{"edit mode", Request{Permissions: PermitEdits}, []string{
			"--setting-sources", "project,local", "--settings", settings, "--strict-mcp-config",
			"--append-system-prompt-file", memory,
		}, []string{settings, memory}},
		{"everything allowed", Request{Permissions: PermitAll}, []string{
			"--setting-sources", "project,local", "--settings", settings, "--strict-mcp-config",
			"--append-system-prompt-file", memory,
		}, []string{settings, memory}},
		{"inherited", Request{Permissions: PermitEdits, InheritSettings: true}, nil, nil},
		{"a reviewer has the rules, but no memory", Request{Permissions: PermitReading}, []string{
			"--setting-sources", "", "--settings", settings, "--strict-mcp-config",
		}, []string{settings}},
		{"settings of the call", Request{ExtraArgs: []string{"--settings", "x.json"}}, []string{
			"--setting-sources", "project,local", "--strict-mcp-config", "--settings", "x.json",
			"--append-system-prompt-file", memory,
		}, []string{memory}},
		{"instructions of the call", Request{ExtraArgs: []string{"--append-system-prompt-file=x"}}, []string{
			"--setting-sources", "project,local", "--settings", settings, "--strict-mcp-config",
			"--append-system-prompt-file=x", "--append-system-prompt-file", memory,
		}, []string{settings, memory}},
		{"instructions that are missing", Request{ExtraArgs: []string{"--append-system-prompt-file", "y"}}, []string{
			"--setting-sources", "project,local", "--settings", settings, "--strict-mcp-config",
			"--append-system-prompt-file", "y",
		}, []string{settings}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.request.Look, c.request.Folder, c.request.PromptFile, c.request.Dir = w.look(), "/f", "/f/prompt.md", "/w"
			got, err := claude{}.Command(c.request)
			if err != nil {
				t.Fatal(err)
			}
			argv := got.Argv[len(got.Argv)-len(c.argv):]
			if diff := cmp.Diff(c.argv, argv, equalEmpty); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			var files []string
			for _, f := range got.Secrets {
				files = append(files, f.Path)
			}
			if !slices.Equal(c.files, files) || len(got.Files) > 0 {
				t.Errorf("files %v and %v, want %v", files, got.Files, c.files)
			}
		})
	}
}

// The memory may be long and is nobody's business, so it is in a private file, never on the command
// line, where every user of the machine can see it.
func TestMemoryIsNotOnTheCommandLine(t *testing.T) {
	w := world{files: map[string]string{"/home/me/.claude/CLAUDE.md": "Use tabs.\n", "/w/x": "Be brief."}}
	got, err := claude{}.Command(Request{
		Look: w.look(), Folder: "/f", Dir: "/w", ExtraArgs: []string{"--append-system-prompt-file", "x"},
	})
	if err != nil || strings.Contains(strings.Join(got.Argv, " "), "tabs") {
		t.Errorf("%q, %v", got.Argv, err)
	}
	want := []File{{"/f/claude-memory.md", claudeMemory(claudeUserOf(w.look())) + "\nBe brief."}}
	if diff := cmp.Diff(want, got.Secrets); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

var equalEmpty = cmp.Transformer("list", func(list []string) string { return strings.Join(list, "\n") })

func TestClaudeSaysWhatIsLeftOut(t *testing.T) {
	cases := map[string]struct {
		world   world
		request Request
		want    Own
	}{
		"nothing": {},
		"nothing to leave out": {world: world{files: map[string]string{
			claudeUserFile: `{"permissions":{"deny":["Edit"]},"model":"haiku","hooks":{},"enabledPlugins":{"a@b":false}}`,
		}}},
		"all kinds": {
			world: world{files: map[string]string{
				claudeUserFile: `{"permissions":{"allow":["Bash","Edit"]},"outputStyle":"Learning",
					"hooks":{"Stop":[{"hooks":[{},{}]}],"PreToolUse":[{"matcher":"*","hooks":[{}]}]},
					"enabledPlugins":{"a@b":true,"c@d":["1.0"]}}`,
				"/home/me/.claude.json": `{"mcpServers":{"a":{}},
					"projects":{"/work":{"mcpServers":{"b":{}}},"/x":{"mcpServers":{"c":{}}}}}`,
				"/home/me/.claude/skills/a/x.md":   "",
				"/home/me/.claude/agents/a.md":     "",
				"/home/me/.claude/agents/b.md":     "",
				"/home/me/.claude/agents/.hidden":  "",
				"/home/me/.claude/commands/a/b.md": "",
			}},
			request: Request{Dir: "/work"},
			want: Own{LeftOut: []string{
				"3 hooks", "2 plugins", "2 MCP servers", "2 allow rules", "1 skill", "2 agents", "1 command", "1 output style",
			}},
		},
		"another folder": {
			world: world{env: []string{"CLAUDE_CONFIG_DIR=/cfg"}, files: map[string]string{
				"/cfg/.claude.json": `{"mcpServers":{"a":{}}}`, claudeUserFile: `{"permissions":{"allow":["Bash"]}}`,
			}},
			want: Own{LeftOut: []string{"1 MCP server"}},
		},
		"not JSON": {
			world: world{files: map[string]string{claudeUserFile: "// mine\n{}"}},
			want:  Own{Notes: []string{"claude ignores /home/me/.claude/settings.json, which is not valid JSON"}},
		},
		"settings of the call": {
			world:   world{files: map[string]string{claudeUserFile: `{"model":"haiku"}`}},
			request: Request{ExtraArgs: []string{"--settings=x.json"}},
			want:    Own{LeftOut: []string{"all of settings.json (you pass --settings)"}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.request.Look = c.world.look()
			if diff := cmp.Diff(c.want, claudeOwn(c.request)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestClaudeMemory(t *testing.T) {
	const head = "The user's own instructions for all projects. " +
		"Follow them unless the project or the task says otherwise.\n\n"
	const includes = "See @notes.md and @~/x\\ y.md#part, not `@code.md` or me@mail.md.\n" +
		"```\n@fence.md\n```\n<!-- @hidden.md -->\n@CLAUDE.md"
	dir := "/home/me/.claude/"
	cases := map[string]struct{ files, want map[string]string }{
		"none":  {},
		"empty": {files: map[string]string{dir + "CLAUDE.md": " \n"}},
		"one file": {
			files: map[string]string{dir + "CLAUDE.md": "Use tabs.\n"},
			want:  map[string]string{dir + "CLAUDE.md": "Use tabs."},
		},
		"included files": {
			files: map[string]string{
				dir + "CLAUDE.md": includes,
				dir + "notes.md":  "@./sub/deep.md", dir + "sub/deep.md": "deep", "/home/me/x y.md": "at home",
				dir + "code.md": "no", dir + "mail.md": "no", dir + "fence.md": "no", dir + "hidden.md": "no",
			},
			want: map[string]string{
				dir + "CLAUDE.md": includes,
				dir + "notes.md":  "@./sub/deep.md", dir + "sub/deep.md": "deep", "/home/me/x y.md": "at home",
			},
		},
		"rules": {
			files: map[string]string{
				dir + "rules/a.md":     "---\ndescription: x\n---\nalways",
				dir + "rules/sub/b.md": "---\npaths:\n  - \"*.go\"\n---\nfor Go",
				dir + "rules/c.txt":    "no",
			},
			want: map[string]string{
				dir + "rules/a.md": "always", dir + "rules/sub/b.md": "---\npaths:\n  - \"*.go\"\n---\nfor Go",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := claudeMemory(claudeUserOf(world{files: c.files}.look()))
			rest, found := strings.CutPrefix(got, head)
			if found != (c.want != nil) {
				t.Fatalf("got %q", got)
			}
			parts := map[string]string{}
			for _, part := range strings.Split("\n"+rest, "\n# /") {
				if path, body, ok := strings.Cut(part, "\n\n"); ok {
					parts["/"+path] = strings.TrimSuffix(body, "\n")
				}
			}
			if diff := cmp.Diff(c.want, parts); diff != "" && c.want != nil {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// An endless chain of included files ends, and a memory that is too long is cut.
func TestClaudeMemoryIsBounded(t *testing.T) {
	files := map[string]string{
		"/home/me/.claude/CLAUDE.md": "@a.md " + strings.Repeat("x", 2*maxMemory), "/home/me/.claude/a.md": "@a/b.md",
	}
	path := "/home/me/.claude/a/b.md"
	for range 10 {
		files[path] = "@a/b.md"
		path = strings.TrimSuffix(path, "b.md") + "a/b.md"
	}
	u := claudeUserOf(world{files: files}.look())
	m := &userMemory{look: u.look}
	m.add("/home/me/.claude/CLAUDE.md", 0)
	if got := len(claudeMemory(u)); len(m.seen) != maxIncludes || got > maxMemory+100 {
		t.Errorf("%d files, %d characters", len(m.seen), got)
	}
}

// The credentials of a cloud pass if the user's settings switch it on.
func TestClaudeCloudsOfTheSettings(t *testing.T) {
	w := world{files: map[string]string{
		claudeUserFile: `{"env":{"CLAUDE_CODE_USE_BEDROCK":"1","CLAUDE_CODE_USE_VERTEX":"0"}}`,
	}}
	if diff := cmp.Diff([]string{"AWS_*"}, claude{}.About().EnvOf(w.look())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A rule for a pipe allows nothing: each of its commands needs one (real-agents 10).
func TestClaudePipes(t *testing.T) {
	for line, want := range map[string]string{
		"make test":            "-- --allowedTools 'Bash(make test)'",
		"make a && make b":     "-- --allowedTools 'Bash(make a && make b)'",
		"make test | tail -3":  "-- --allowedTools 'Bash(make test)' 'Bash(tail -3)'",
		"make 2>&1 | tee out":  "-- --allowedTools 'Bash(make)' 'Bash(tee out)'",
		"a | b && c":           "-- --allowedTools 'Bash(a)' 'Bash(b)' 'Bash(c)'",
		"a || b":               "-- --allowedTools 'Bash(a || b)'",
		`a | grep "x y"`:       "--yolo", // no rule is sure to allow it
		"make & wait":          "--yolo",
		"echo $(date)":         "--yolo",
		"":                     "--yolo",
		"unfinished 'quote":    "-- --allowedTools 'Bash(unfinished '\\''quote)'",
		"unfinished 'quote |x": "--yolo",
	} {
		if got := claudeAllows("Bash", line); got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	}
	got := claudeRules([]string{"make test | tail -3", "make lint"})
	want := []string{
		"Bash(make test)", "Bash(make test:*)", "Bash(tail -3)", "Bash(tail -3:*)", "Bash(make lint)", "Bash(make lint:*)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

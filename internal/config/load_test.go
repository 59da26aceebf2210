package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// write creates a file in the current folder, which the test has changed to a temporary one, so
// that messages name the file without a folder.
func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func mustLoad(t *testing.T, in Input) Loaded {
	t.Helper()
	loaded, err := Load(in)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// rows returns the output of Show, by key.
func rows(loaded Loaded) map[string]string {
	values := map[string]string{}
	for _, row := range Show(loaded) {
		values[row.Key] = row.Value + " <- " + row.Origin
	}
	return values
}

// with returns the default rows with some of them replaced.
func with(t *testing.T, changed map[string]string) map[string]string {
	t.Helper()
	all := rows(mustLoad(t, Input{}))
	for key, row := range changed {
		if _, known := all[key]; !known {
			t.Fatalf("no row %s", key)
		}
		all[key] = row
	}
	return all
}

func TestLayersInOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	user := write(t, "user.yaml",
		"max_iterations: 1\nmax_time: 1\nmax_cost: 1\nmax_tokens: 1\nmax_wait: 1\nprofile: status\n")
	project := write(t, "project.yaml", "max_time: 2\nmax_cost: 2\nmax_tokens: 2\nmax_wait: 2\n")
	got := rows(mustLoad(t, Input{
		UserFile: user, ProjectFile: project,
		Env:   NewEnv([]string{"RALPH_MAX_COST=3", "RALPH_MAX_TOKENS=3", "RALPH_MAX_WAIT=3"}),
		Set:   []string{"max_tokens=4", "max_wait=4"},
		Flags: map[string][]string{"max-wait": {"5"}},
	}))
	want := with(t, map[string]string{
		"max_iterations":        "1 <- user user.yaml:1",
		"max_time":              "2s <- project project.yaml:1",
		"max_cost":              "3 <- environment RALPH_MAX_COST",
		"max_tokens":            "4 <- --set",
		"max_wait":              "5s <- flag --max-wait",
		"profile":               "status <- user user.yaml:6",
		"gate.status":           "required <- profile status",
		"gate.shown":            "warn <- profile status",
		"gate.unfinished":       "refuse <- profile status",
		"breaker.cooldown":      "30m <- profile status",
		"tasks.plan":            "IMPLEMENTATION_PLAN.md <- profile status",
		"limits.calls_per_hour": "100 <- profile status",
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConfigFileStandsInForTheProjects(t *testing.T) {
	t.Chdir(t.TempDir())
	project := write(t, "project.yaml", "max_iterations: 5\nchecks: [make test]\n")
	named := write(t, "mine.yaml", "checks: [make lint]\ntrust: true\n")
	loaded := mustLoad(t, Input{ProjectFile: project, ConfigFile: named})
	want := with(t, map[string]string{
		"checks.commands": `["make lint"] <- config mine.yaml:1`, "trust": "true <- config mine.yaml:2",
	})
	if diff := cmp.Diff(want, rows(loaded)); diff != "" {
		t.Error(diff)
	}
	if len(loaded.ProjectCommands) > 0 {
		t.Errorf("the user's own file needs no consent: %v", loaded.ProjectCommands)
	}
}

func TestFilesThatAreNotThere(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yaml")
	if diff := cmp.Diff(with(t, nil), rows(mustLoad(t, Input{UserFile: missing, ProjectFile: missing}))); diff != "" {
		t.Error(diff)
	}
}

// sample returns a value for key that is not its default if there is another, as a text and as
// `config show` prints it.
func sample(key Key) (text, shown string) {
	switch key.Kind {
	case Count:
		return "7", "7"
	case Amount:
		return "1.5", "1.5"
	case Length:
		return "42s", "42s"
	case Switch:
		if key.Default == "true" {
			return "false", "false"
		}
		return "true", "true"
	case List:
		switch key.Name {
		case "agent.fallback":
			return "codex\nclaude:opus", `["codex","claude:opus"]`
		case "prices":
			return "one=1/2\nmaker/two:free=0/0/0/0", `["one=1/2","maker/two:free=0/0/0/0"]`
		}
		return "ONE\nTWO", `["ONE","TWO"]`
	}
	if len(key.Choices) == 0 {
		switch key.Name {
		case "worktree":
			return "a/b", "a/b"
		case "evaluator.agent", "tests.by", "agent.escalate":
			return "claude:opus", "claude:opus"
		case "worker.api_key_env", "evaluator.api_key_env", "planner.api_key_env":
			return "MY_KEY", "MY_KEY"
		case "tasks.on_failure":
			return "retry:2", "retry:2"
		case "sandbox.memory", "sandbox.file_size":
			return "4GB", "4GB"
		case "agent.reserve":
			return "5h=20%,week=30%", "5h=20%,week=30%"
		}
		return "some text", "some text"
	}
	choice := key.Choices[len(key.Choices)-1]
	if key.Name == "agent.name" {
		choice = "codex"
	}
	return choice, choice
}

// yamlOf writes a key and its value as a config file would.
func yamlOf(key Key, text string) string {
	if key.Kind == List {
		var items []string
		for item := range strings.SplitSeq(text, "\n") {
			items = append(items, strconv.Quote(item))
		}
		text = "[" + strings.Join(items, ", ") + "]"
	}
	group, name, grouped := strings.Cut(key.Name, ".")
	if !grouped {
		return key.Name + ": " + text + "\n"
	}
	return group + ":\n  " + name + ": " + text + "\n"
}

func TestEveryKeyFromEverywhere(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, key := range Keys() {
		if !key.Ready() {
			continue
		}
		t.Run(key.Name, func(t *testing.T) {
			text, shown := sample(key)
			line := "1"
			if key.Group() != "" {
				line = "2"
			}
			inputs := map[string]Input{
				"user user.yaml:" + line:   {UserFile: write(t, "user.yaml", yamlOf(key, text))},
				"environment " + key.Env(): {Env: NewEnv([]string{key.Env() + "=" + text})},
				"--set":                    {Set: []string{key.Name + "=" + text}},
			}
			if key.Flag != "" {
				inputs["flag --"+key.Flag] = Input{Flags: map[string][]string{key.Flag: flagValues(key, text)}}
			}
			for origin, in := range inputs {
				changed := map[string]string{key.Name: shown + " <- " + origin}
				switch key.Name {
				case "profile":
					for name, row := range rows(mustLoad(t, Input{Set: []string{"profile=" + text}})) {
						if strings.Contains(row, "<- profile") {
							changed[name] = row
						}
					}
				case "agent.command":
					changed["agent.name"] = "command <- " + origin
					changed["idle_timeout"] = "0 <- default for a custom command"
				}
				if diff := cmp.Diff(with(t, changed), rows(mustLoad(t, in))); diff != "" {
					t.Errorf("from %s:\n%s", origin, diff)
				}
			}
		})
	}
}

func flagValues(key Key, text string) []string {
	if key.Repeats() {
		return strings.Split(text, "\n")
	}
	return []string{"first", text} // the last one wins
}

func TestKeysOfALaterVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, key := range Keys() {
		if key.Ready() {
			continue
		}
		want := "this is not available yet (" + key.Later + ")"
		inputs := map[string]Input{
			"file":    {ProjectFile: write(t, "c.yaml", yamlOf(key, "x"))},
			key.Env(): {Env: NewEnv([]string{key.Env() + "=x"})},
			"--set":   {Set: []string{key.Name + "=x"}},
		}
		if key.Flag != "" {
			inputs["--"+key.Flag] = Input{Flags: map[string][]string{key.Flag: {"x"}}}
		}
		for from, in := range inputs {
			if _, err := Load(in); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s from %s: %v, want %q", key.Name, from, err, want)
			}
		}
	}
}

func TestShorthands(t *testing.T) {
	t.Chdir(t.TempDir())
	agent := "agent: codex\n"
	for name, c := range map[string]struct {
		in   Input
		want map[string]string
	}{
		"list for a group": {Input{ProjectFile: write(t, "1.yaml", "checks:\n  - go test ./...\n  - true\n")},
			map[string]string{"checks.commands": `["go test ./...","true"] <- project 1.yaml:1`}},
		"scalar for a group": {Input{ProjectFile: write(t, "2.yaml", agent)},
			map[string]string{"agent.name": "codex <- project 2.yaml:1"}},
		"scalar for a list": {Input{ProjectFile: write(t, "3.yaml", "completion_tag: FINISHED\n")},
			map[string]string{"completion_tag": `["FINISHED"] <- project 3.yaml:1`}},
		"group in --set": {Input{Set: []string{"checks=make", "checks=go vet\ngo test"}},
			map[string]string{"checks.commands": `["make","go vet","go test"] <- --set`}},
		"group in the environment": {Input{Env: NewEnv([]string{"RALPH_AGENT=codex"})},
			map[string]string{"agent.name": "codex <- environment RALPH_AGENT"}},
		"the full name before the short": {Input{Env: NewEnv([]string{"RALPH_AGENT__NAME=codex", "RALPH_AGENT=claude"})},
			map[string]string{"agent.name": "codex <- environment RALPH_AGENT__NAME"}},
		"numbers as texts": {Input{ProjectFile: write(t, "4.yaml", "max_iterations: \"010\"\nagent: {model: 4.1}\n")},
			map[string]string{"max_iterations": "10 <- project 4.yaml:1", "agent.model": "4.1 <- project 4.yaml:2"}},
		"words for switches": {Input{
			ProjectFile: write(t, "5.yaml", "allow_unverified: yes\nbreaker: {diagnose: off}\ngate: {status: off}\n"),
		},
			map[string]string{
				"allow_unverified": "true <- project 5.yaml:1", "breaker.diagnose": "false <- project 5.yaml:2",
				"gate.status": "off <- project 5.yaml:3",
			}},
		"once": {Input{Flags: map[string][]string{"once": {"true"}}},
			map[string]string{"max_iterations": "1 <- flag --once"}},
		"not once": {Input{Flags: map[string][]string{"once": {"false"}, "max-time": nil}}, nil},
		"empty list of checks": {Input{ProjectFile: write(t, "6.yaml", "checks: []\n")},
			map[string]string{"checks.commands": "[] <- project 6.yaml:1"}},
		"a text given back": {Input{ProjectFile: write(t, "7.yaml", "agent: {model: opus}\n"), Set: []string{"agent.model="}},
			map[string]string{"agent.model": " <- --set"}},
		"an empty variable says nothing": {Input{Env: NewEnv([]string{"RALPH_MAX_ITERATIONS=", "RALPH_CHECKS="})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(with(t, c.want), rows(mustLoad(t, c.in))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestYAMLThatIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, c := range map[string]struct {
		text string
		want map[string]string
	}{
		"nothing":         {"", nil},
		"comments":        {"# only this\n\n", nil},
		"null":            {"null\n", nil},
		"nulls":           {"max_cost: null\nchecks:\nagent: ~\nralph_loop:\nprofile: !!str\n", nil},
		"byte order mark": {"\ufeffmax_iterations: 3\n", map[string]string{"max_iterations": "3 <- user c.yaml:1"}},
		"CRLF": {"max_iterations: 3\r\nmax_cost: 2\r\n",
			map[string]string{"max_iterations": "3 <- user c.yaml:1", "max_cost": "2 <- user c.yaml:2"}},
		"directive and marker": {"%YAML 1.2\n---\nmax_iterations: 3\n",
			map[string]string{"max_iterations": "3 <- user c.yaml:3"}},
		"JSON": {`{"max_iterations": 3, "checks": {"commands": ["a b"]}}`,
			map[string]string{"max_iterations": "3 <- user c.yaml:1", "checks.commands": `["a b"] <- user c.yaml:1`}},
		"explicit key": {"? max_iterations\n: 3\n", map[string]string{"max_iterations": "3 <- user c.yaml:1"}},
		"tag":          {"completion_tag: !!str 5\n", map[string]string{"completion_tag": `["5"] <- user c.yaml:1`}},
		"anchor and alias": {"max_time: &t 5m\nmax_wait: *t\nchecks: [&c make, *c]\n",
			map[string]string{
				"max_time": "5m <- user c.yaml:1", "max_wait": "5m <- user c.yaml:2",
				"checks.commands": `["make","make"] <- user c.yaml:3`,
			}},
		"block text": {"notify:\n  command: |\n    one\n    two\nchecks:\n  - >-\n    go\n    test\n",
			map[string]string{
				"notify.command": `"one\ntwo" <- user c.yaml:2`, "checks.commands": `["go test"] <- user c.yaml:5`,
			}},
		"the seed's section": {"ralph_loop:\n  max_iterations: 25        # 1-100\n  max_cost: null\n  max_time: null\n " +
			" completion_tag: \"COMPLETE\"\n  agent: build\n",
			map[string]string{
				"max_iterations": "25 <- user c.yaml:2", "completion_tag": `["COMPLETE"] <- user c.yaml:5`,
				"agent.name": " <- user c.yaml:6",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(with(t, c.want), rows(mustLoad(t, Input{UserFile: write(t, "c.yaml", c.text)}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProfiles(t *testing.T) {
	for profile, want := range map[string]map[string]string{
		"default": {},
		"promise": {
			"gate.shown":         "warn <- profile promise",
			"gate.committed":     "warn <- profile promise",
			"agent.max_failures": "0 <- profile promise",
			"max_iterations":     "10 <- profile promise", "completion_tag": `["COMPLETE"] <- profile promise`,
			"breaker.no_progress": "0 <- profile promise", "breaker.same_error": "0 <- profile promise",
			"breaker.permission_denials": "0 <- profile promise", "breaker.output_decline": "0 <- profile promise",
		},
		"checks": {
			"breaker.no_progress": "0 <- profile checks", "breaker.same_error": "0 <- profile checks",
			"breaker.permission_denials": "0 <- profile checks", "breaker.output_decline": "0 <- profile checks",
			"max_iterations": "25 <- profile checks", "completion_tag": `["COMPLETE"] <- profile checks`,
			"checks.when": "always <- profile checks", "gate.shown": "warn <- profile checks",
		},
		"status": {
			"gate.status": "required <- profile status", "gate.unfinished": "refuse <- profile status",
			"gate.shown":       "warn <- profile status",
			"breaker.cooldown": "30m <- profile status", "limits.calls_per_hour": "100 <- profile status",
			"tasks.plan": "IMPLEMENTATION_PLAN.md <- profile status",
		},
	} {
		t.Run(profile, func(t *testing.T) {
			want["profile"] = profile + " <- flag --profile"
			got := rows(mustLoad(t, Input{Flags: map[string][]string{"profile": {profile}}}))
			if diff := cmp.Diff(with(t, want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamedAgentOrCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	command := write(t, "command.yaml", "agent: {command: ./agent.sh}\n")
	named := write(t, "named.yaml", "agent: claude\n")
	both := write(t, "both.yaml", "agent: {name: command, command: ./agent.sh}\n")
	seed := write(t, "seed.yaml", "agent: {command: ./agent.sh}\nralph_loop: {agent: build}\n")
	flag := func(name, value string) map[string][]string { return map[string][]string{name: {value}} }
	for name, c := range map[string]struct {
		in                  Input
		agent, command, why string
	}{
		"the project's command": {Input{ProjectFile: command}, "command", "./agent.sh", "project command.yaml:1"},
		"a flag names another": {Input{ProjectFile: command, Flags: flag("agent", "codex")}, "codex", "",
			"flag --agent"},
		"a flag asks for the default": {Input{ProjectFile: command, Flags: flag("agent", "build")}, "", "",
			"flag --agent"},
		"a flag's command over a name": {Input{ProjectFile: named, Flags: flag("agent-cmd", "cat")}, "command", "cat",
			"flag --agent-cmd"},
		"a user's name under a command": {Input{UserFile: named, ProjectFile: command}, "command", "./agent.sh",
			"project command.yaml:1"},
		"a user's command under a name": {Input{UserFile: command, ProjectFile: named}, "claude", "",
			"project named.yaml:1"},
		"named as a command":     {Input{ProjectFile: both}, "command", "./agent.sh", "project both.yaml:1"},
		"build in the same file": {Input{ProjectFile: seed}, "command", "./agent.sh", "project seed.yaml:1"},
		"nothing":                {Input{}, "", "", "default"},
		"the environment over a project": {Input{ProjectFile: command, Env: NewEnv([]string{"RALPH_AGENT=claude"})}, "claude",
			"", "environment RALPH_AGENT"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := mustLoad(t, c.in)
			got := []string{loaded.Settings.Agent.Name, loaded.Settings.Agent.Command, loaded.Origins["agent.name"].String()}
			if diff := cmp.Diff([]string{c.agent, c.command, c.why}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIdleTimeoutOfAPlainCommand(t *testing.T) {
	for name, c := range map[string]struct {
		flags map[string][]string
		want  time.Duration
	}{
		"a CLI":              {map[string][]string{"agent": {"claude"}}, 30 * time.Minute},
		"a command":          {map[string][]string{"agent-cmd": {"cat"}}, 0},
		"a command, and set": {map[string][]string{"agent-cmd": {"cat"}, "idle-timeout": {"5m"}}, 5 * time.Minute},
	} {
		if got := mustLoad(t, Input{Flags: c.flags}).Settings.IdleTimeout.Duration(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestProjectCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	project := write(t, "project.yaml", `max_iterations: 3
yolo: true
agent:
  command: ./agent.sh
  args: [--fast]
  permissions: bypass
  env: [DEPLOY_KEY]
checks:
  - make test
  - make lint
notify: say done
prompt: PROMPT.md
`)
	all := []NamedCommand{
		{Key: "yolo", Value: "true", File: project, Line: 2},
		{Key: "agent.command", Value: "./agent.sh", File: project, Line: 4},
		{Key: "agent.args", Value: "--fast", File: project, Line: 5},
		{Key: "agent.env", Value: "DEPLOY_KEY", File: project, Line: 7},
		{Key: "agent.permissions", Value: "bypass", File: project, Line: 6},
		{Key: "checks.commands", Value: "make test", File: project, Line: 9},
		{Key: "checks.commands", Value: "make lint", File: project, Line: 10},
		{Key: "notify.command", Value: "say done", File: project, Line: 11},
	}
	if diff := cmp.Diff(all, mustLoad(t, Input{ProjectFile: project}).ProjectCommands); diff != "" {
		t.Errorf("all:\n%s", diff)
	}
	if got := mustLoad(t, Input{UserFile: project}).ProjectCommands; got != nil {
		t.Errorf("the user's own commands need no consent: %v", got)
	}
	replaced := mustLoad(t, Input{ProjectFile: project, Flags: map[string][]string{
		"yolo": {"false"}, "agent": {"claude"}, "check": {"true"},
	}, Set: []string{"agent.args=", "agent.env=", "agent.permissions=auto"}}).ProjectCommands
	if diff := cmp.Diff(all[7:], replaced); diff != "" {
		t.Errorf("replaced:\n%s", diff)
	}
	outside := write(t, "outside.yaml", "spec: ../secret.md\nprompt: /etc/passwd\n")
	wanted := []NamedCommand{
		{Key: "spec", Value: "../secret.md", File: outside, Line: 1},
		{Key: "prompt.file", Value: "/etc/passwd", File: outside, Line: 2},
	}
	if diff := cmp.Diff(wanted, mustLoad(t, Input{ProjectFile: outside}).ProjectCommands); diff != "" {
		t.Errorf("files outside of the project:\n%s", diff)
	}
	harmless := write(t, "harmless.yaml", "yolo: false\nagent: {permissions: edits, command: \"\"}\nchecks: []\n")
	if got := mustLoad(t, Input{ProjectFile: harmless}).ProjectCommands; got != nil {
		t.Errorf("nothing is widened: %v", got)
	}
}

func TestNothingIsHiddenFromThePersonWhoIsAsked(t *testing.T) {
	for value, want := range map[string]string{
		"make test":              "make test",
		`echo "Ünïcode" \t`:      `echo "Ünïcode" \t`,
		"rm -rf ~\rmake test":    `"rm -rf ~\rmake test"`,
		"rm -rf ~\x1b[8m":        `"rm -rf ~\x1b[8m"`,
		"one\ntwo":               `"one\ntwo"`,
		"a\u202etxt.sh\u009b31m": `"a\u202etxt.sh\u009b31m"`,
	} {
		got := NamedCommand{Key: "checks.commands", Value: value, File: "c.yaml", Line: 9}.String()
		if want := "c.yaml:9: checks.commands: " + want; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestSettingsSurviveTheLog(t *testing.T) {
	in := Input{
		Flags: map[string][]string{"max-time": {"90.5s"}, "check": {"a", "b"}, "agent-cmd": {"cat"}, "max-cost": {"0.25"}},
	}
	want := mustLoad(t, in).Settings
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Settings
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPolicyCarriesEverySetting(t *testing.T) {
	got := mustLoad(t, Input{Set: []string{
		"max_iterations=1", "max_time=2", "max_cost=3", "max_tokens=4", "gate.claim=optional", "gate.status=required",
		"gate.status_min=5",
		"gate.unfinished=off", "allow_unverified=true", "agent.max_failures=6", "checks.max_broken=7", "checks.when=claim",
		"checks.baseline=false", "breaker.no_progress=8", "breaker.same_error=9", "breaker.permission_denials=10",
		"breaker.output_decline=11",
		"breaker.diagnose=false", "breaker.cooldown=12", "on_limit=stop", "max_wait=13", "limits.calls_per_hour=14",
		"iteration_delay=15",
		"iteration_timeout=16", "idle_timeout=17", "checks.timeout=18", "completion_tag=A\nB", "gate.status_phrases=all done",
		"tasks.max_tries=19", "tasks.on_failure=retry:20", "on_decide=wait", "gate.tamper=stop", "gate.test_change=refuse",
		"gate.shown=refuse", "gate.proof=unbroken", "checks.retries=21",
		"checks.canary=off", "checks.parallel=23", "evaluator.max_calls_per_task=22", "agent.outage=24", "iteration_cost=25",
		"iteration_turns=26", "agent.escalate=claude:opus", "gate.committed=require",
		"gate.verifier_tools=browser", "profile=goal",
		"agent.escalate_after=27", "agent.reserve=5h=20%, 7d=30",
	}}).Settings.Policy()
	want := ralph.Policy{
		MaxIterations: 1, MaxTime: ralph.Span(2 * time.Second), MaxCost: 3, MaxTokens: 4,
		Claim: ralph.ClaimOptional, Status: ralph.StatusRequired, StatusMin: 5, Tamper: ralph.TamperStop,
		Unfinished: ralph.UnfinishedOff, TestChange: ralph.TestsRefuse,
		Shown: ralph.ShownRefuse, Proof: ralph.ProofUnbroken, Retries: 21, Parallel: 23, MaxRejections: 22,
		AllowUnverified: true, MaxFailures: 6, Outage: ralph.Span(24 * time.Second),
		MaxBroken: 7, ChecksWhen: ralph.ChecksOnClaim,
		Breaker: ralph.BreakerPolicy{
			NoProgress: 8, SameError: 9, PermissionDenials: 10, OutputDecline: 11, Cooldown: ralph.Span(12 * time.Second),
			Blocks: true,
		},
		Rules:     ralph.CurrentRules,
		TaskTries: 19, OnTaskFailure: ralph.TaskRetry, TaskRetries: 20, OnDecide: ralph.DecideWait,
		OnLimit: ralph.LimitStop, MaxWait: ralph.Span(13 * time.Second), CallsPerHour: 14,
		IterationDelay: ralph.Span(15 * time.Second), IterationTimeout: ralph.Span(16 * time.Second),
		IterationCost: 25, IterationTurns: 26,
		Escalation: &ralph.Escalation{After: 27}, Committed: ralph.CommittedRequire,
		VerifierTools: []string{"browser"}, KeepAnswer: true,
		Reserves:     []ralph.Reserve{{Window: "5h", Part: 0.2}, {Window: "week", Part: 0.3}},
		IdleTimeout:  ralph.Span(17 * time.Second),
		CheckTimeout: ralph.Span(18 * time.Second), CompletionTags: []string{"A", "B"}, StatusPhrases: []string{"all done"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLengthsOfTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "-0": 0, "5": 5 * time.Second, "1.5": 1500 * time.Millisecond, "90s": 90 * time.Second,
		"10m": 10 * time.Minute, "2h": 2 * time.Hour,
		"1h30m": 90 * time.Minute, " 10m ": 10 * time.Minute, "250ms": 250 * time.Millisecond,
		"1000000000": 1e9 * time.Second,
	} {
		loaded, err := Load(Input{Set: []string{"max_time=" + text}})
		if err != nil || loaded.Settings.MaxTime.Duration() != want {
			t.Errorf("%q: %v %v, want %v", text, loaded.Settings.MaxTime, err, want)
		}
	}
}

func TestOneEvaluator(t *testing.T) {
	t.Chdir(t.TempDir())
	user := write(t, "user.yaml", "evaluator: {command: judge}\n")
	for name, tt := range map[string]struct {
		in   Input
		want EvaluatorSettings
		err  string
	}{
		"the flag holds": {
			in:   Input{UserFile: user, Flags: map[string][]string{"evaluator": {"claude"}}},
			want: EvaluatorSettings{Agent: "claude"},
		},
		"so does a later command": {
			in:   Input{UserFile: write(t, "named.yaml", "evaluator: claude\n"), Set: []string{"evaluator.command=judge"}},
			want: EvaluatorSettings{Command: "judge"},
		},
		"both at once": {
			in:  Input{UserFile: write(t, "both.yaml", "evaluator: {agent: claude, command: judge}\n")},
			err: "evaluator.agent (user both.yaml:1) and evaluator.command (user both.yaml:1) exclude each other",
		},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, err := Load(tt.in)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != tt.err || loaded.Settings.Evaluator != tt.want && err == nil {
				t.Errorf("got %+v, %q; want %+v, %q", loaded.Settings.Evaluator, said, tt.want, tt.err)
			}
		})
	}
}

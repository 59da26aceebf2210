package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/agent"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/probe"
)

func TestStateOfAnAgent(t *testing.T) {
	report := func(change func(*probe.Report)) *probe.Report {
		ok := probe.Aspect{State: probe.OK}
		r := probe.Report{Stream: ok, Tag: ok, Permission: ok, Isolation: ok, Settled: true}
		change(&r)
		return &r
	}
	failed, unknown := probe.Aspect{State: probe.Failed}, probe.Aspect{State: probe.Unknown}
	in := agent.Account{Login: agent.LoggedIn, Billing: agent.BillingKey}
	for name, c := range map[string]struct {
		finding AgentFinding
		want    State
	}{
		"all is well": {AgentFinding{Version: "1.0", Account: in, Probe: report(func(*probe.Report) {})}, OK},
		"not probed":  {AgentFinding{Version: "1.0", Account: in}, OK},
		"nothing is known": {AgentFinding{
			Version: "1.0", Account: in, Probe: report(func(r *probe.Report) { r.Stream = unknown }),
		}, OK},
		"stream": {AgentFinding{
			Version: "1.0", Account: in, Probe: report(func(r *probe.Report) { r.Stream = failed }),
		}, Bad},
		"tag": {AgentFinding{
			Version: "1.0", Account: in, Probe: report(func(r *probe.Report) { r.Tag = failed }),
		}, Bad},
		"permission": {AgentFinding{
			Version: "1.0", Account: in, Probe: report(func(r *probe.Report) { r.Permission = failed }),
		}, Bad},
		"isolation": {AgentFinding{
			Version: "1.0", Account: in, Probe: report(func(r *probe.Report) { r.Isolation = failed }),
		}, Note},
		"broken version":  {AgentFinding{Version: "1.0", Account: in, Broken: "hangs"}, Bad},
		"unknown version": {AgentFinding{Version: "unknown", Account: in}, Unknown},
		"logged out":      {AgentFinding{Version: "1.0", Account: agent.Account{Login: agent.LoggedOut}}, Note},
		"login not known": {AgentFinding{Version: "1.0", Account: agent.Account{Login: agent.LoginUnknown}}, OK},
		"a key in its place": {AgentFinding{
			Version: "1.0", Account: agent.Account{Login: agent.LoggedIn, Warning: "replaced"},
		}, Note},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.finding.state(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// fakeWorld has programs on PATH, a home folder, and a list of messages.
type fakeWorld struct {
	bin, home string
	env       config.Env

	mu   sync.Mutex
	told []string
}

func newFakeWorld(t *testing.T, programs map[string]string) *fakeWorld {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	w := &fakeWorld{bin: t.TempDir(), home: t.TempDir()}
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(w.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", w.bin)
	w.env = config.NewEnv([]string{"HOME=" + w.home, "PATH=" + w.bin + ":/usr/bin:/bin"})
	return w
}

func (w *fakeWorld) examine(t *testing.T, probing Probing) (installed []Finding, others []Finding) {
	t.Helper()
	for _, f := range (Examination{Env: w.env, Probing: probing, Tell: func(line string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.told = append(w.told, line)
	}}).agents(t.Context(), nil) {
		if f.Agent != nil {
			installed = append(installed, f)
		} else if f.State != Missing {
			others = append(others, f)
		}
	}
	return installed, others
}

func TestAgentsAreExamined(t *testing.T) {
	w := newFakeWorld(t, map[string]string{
		"claude": "echo '2.1.7 (Claude Code)'", "gemini": "echo 0.20.0", "goose": "exit 1", "codex": "echo new",
	})
	w.env = config.NewEnv(append(w.env.Environ, "ANTHROPIC_API_KEY=sk-secret"))
	installed, others := w.examine(t, ProbeNone)
	gemini, _ := agent.Find("gemini")
	path := func(name string) string { return filepath.Join(w.bin, name) }
	gooseDetail := path("goose") + " does not report its version; it may be another program with this name"
	want := []Finding{
		{"agent claude", OK, "2.1.7 at " + path("claude"), false, &AgentFinding{
			Name: "claude", Version: "2.1.7", Path: path("claude"),
			Account: agent.Account{Login: agent.LoggedIn, Billing: agent.BillingKey, Because: "ANTHROPIC_API_KEY is set"},
		}},
		{"agent codex", Note, path("codex") + " does not report its version", false, &AgentFinding{
			Name: "codex", Version: "unknown", Path: path("codex"),
			Account: agent.Account{
				Login: agent.LoggedOut, Billing: agent.BillingUnknown, Because: "no CODEX_API_KEY and no ~/.codex/auth.json",
			},
		}},
		{"agent gemini", Bad, "0.20.0 at " + path("gemini"), false, &AgentFinding{
			Name: "gemini", Version: "0.20.0", Path: path("gemini"), Account: installed[2].Agent.Account,
			Broken: gemini.About().Broken[0].Why,
		}},
		{"agent goose", Note, gooseDetail, false, &AgentFinding{
			Name: "goose", Version: "unknown", Path: path("goose"),
			Account: agent.Account{Login: agent.LoggedOut, Billing: agent.BillingUnknown, Because: "no provider is configured"},
		}},
	}
	if diff := cmp.Diff(want, installed); diff != "" {
		t.Error(diff)
	}
	if len(others) > 0 || len(w.told) > 0 {
		t.Errorf("%v %v", others, w.told)
	}
}

func TestWithoutAgents(t *testing.T) {
	w := newFakeWorld(t, nil)
	installed, others := w.examine(t, ProbeNew)
	want := []Finding{
		{
			What: "agents", State: Note,
			Detail: "no agent CLI on PATH; pass any command with --agent-cmd; ralph demo needs no agent",
		},
	}
	if diff := cmp.Diff(want, others); diff != "" || installed != nil {
		t.Errorf("%v\n%s", installed, diff)
	}
}

// The report of a probe is shown even if it cannot be saved, with the reason.
func TestProbeThatCannotBeKept(t *testing.T) {
	w := newFakeWorld(t, map[string]string{"claude": "case $1 in --version) echo 2.1.7;; *) echo nonsense;; esac"})
	w.env.CacheDir = filepath.Join(w.home, "file", "ralph")
	if err := os.WriteFile(filepath.Join(w.home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	installed, others := w.examine(t, ProbeNew)
	if len(installed) != 1 || installed[0].State != Bad || installed[0].Agent.Probe.Stream.State != probe.Failed ||
		installed[0].Agent.ProbedAt == nil {
		t.Errorf("%+v", installed)
	}
	if len(others) != 1 || others[0].What != "probe" || !strings.HasPrefix(others[0].Detail, "make cache folder: ") {
		t.Errorf("%+v", others)
	}
	if diff := cmp.Diff([]string{"probing claude 2.1.7 against a scripted model on this machine, up to 1m0s"},
		w.told); diff != "" {
		t.Error(diff)
	}
}

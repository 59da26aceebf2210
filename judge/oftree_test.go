package judge

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func TestChangedEnvironmentIsRefused(t *testing.T) {
	h := History{Base: ralph.TreeState{Snapshot: "base"}}
	h.Now.Environment = []string{"node_modules/a/i.js (changed)"}
	h.Now.BaseTests = &ralph.BaseTestsRun{OldPassed: true}
	for _, rule := range []ralph.TestRule{ralph.TestsAsk, ralph.TestsWarn, ralph.TestsEvaluate, ralph.TestsRefuse} {
		got := askTampered(ralph.Policy{TestChange: rule}, h)
		want := ralph.Gate{
			State: ralph.GateShut, Refusal: ralph.RefusedEnvironment,
			Detail: "checks depend on what a commit of the tree would not have: node_modules/a/i.js (changed); undo that; " +
				"installed dependencies may change only with their lock file; if you changed them yourself, start a new run",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rule, diff)
		}
	}
}

func TestInstalledDependenciesFollowTheRuleForTests(t *testing.T) {
	detail := "checks ran with dependencies that the agent installed, and the tree alone does not prove what is in " +
		"them: node_modules; with checks.setup Ralph installs them itself"
	shut := ralph.Gate{State: ralph.GateShut, Refusal: ralph.RefusedDependencies, Detail: detail}
	h := History{Base: ralph.TreeState{Snapshot: "base"}}
	h.Now.Dependencies = []string{"node_modules"}
	for rule, want := range map[ralph.TestRule]ralph.Gate{
		ralph.TestsAsk: shut, ralph.TestsRefuse: shut,
		ralph.TestsEvaluate: {State: ralph.GateNoted, Detail: detail},
		ralph.TestsWarn:     {State: ralph.GateWarned, Detail: detail},
	} {
		if diff := cmp.Diff(want, askTampered(ralph.Policy{TestChange: rule}, h)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", rule, diff)
		}
		if asked := mayAsk(ralph.Policy{TestChange: rule}, "", ralph.RefusedDependencies); asked != (rule == ralph.TestsAsk) {
			t.Errorf("%s: asked %v", rule, asked)
		}
	}
	h.Now.Tampered = []string{"check.sh (changed)"}
	if got := askTampered(ralph.Policy{TestChange: ralph.TestsWarn}, h).Refusal; got != ralph.RefusedTampered {
		t.Errorf("tampering beside dependencies is refused as %q", got)
	}
	shown := []ralph.Showing{{By: ralph.ShownByTests}}
	if got := proofWord(h, shown); got != ralph.ProvenWorkspace {
		t.Errorf("proof with the workspace's dependencies: %s", got)
	}
	h.Now.Dependencies = nil
	if got := proofWord(h, shown); got != ralph.ProvenShown {
		t.Errorf("proof of the tree: %s", got)
	}
}

func TestFailuresForLackOfIgnoredFilesSaySo(t *testing.T) {
	h := History{}
	h.Now.Checks = []ralph.CheckResult{
		{Name: "vet", Passed: true},
		{Name: "test", ExitCode: 1, NotInTree: []string{"dist/a", "dist/b"}},
	}
	const want = "test (exit 1) failed: the work is not in the tree: a commit would not have these ignored files and " +
		"empty folders: dist/a, dist/b; add them with git add -f, or remove them from .gitignore"
	if got := askChecks(ralph.Policy{}, h); got.Refusal != ralph.RefusedCheckFailed || got.Detail != want {
		t.Errorf("goal: %+v", got)
	}
	if code, detail := refuseByChecks(ralph.Policy{}, h, "A"); code != ralph.RefusedCheckFailed || detail != want {
		t.Errorf("task: %s %s", code, detail)
	}
	h.Now.Checks[1].NotInTree = []string{"out/"}
	const advice = "git keeps no empty folder, so put a file into it"
	if got := askChecks(ralph.Policy{}, h).Detail; !strings.HasSuffix(got, advice) {
		t.Errorf("empty folder: %s", got)
	}
	h.Now.Checks[1].Hidden = true // the agent learns nothing about it
	if got := askChecks(ralph.Policy{}, h).Detail; got != HiddenCheckName+" failed" {
		t.Errorf("hidden: %s", got)
	}
}

package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

func changesOf(names ...string) (changes []ralph.FileChange) {
	for _, name := range names {
		changes = append(changes, ralph.FileChange{Name: name, Kind: ralph.FileChanged})
	}
	return changes
}

func TestWhatIsTheUsersSinceTheLastRun(t *testing.T) {
	isInHead := func(name string) bool { return name != "dirty.go" }
	for name, tt := range map[string]struct {
		since SinceLastRun
		want  []string
	}{
		"nothing changed since": {
			SinceLastRun{Untrusted: changesOf("a.go", "a_test.go"), IsLeft: true}, nil},
		"the user changed a file": {
			SinceLastRun{Untrusted: changesOf("a.go", "b.go"), IsLeft: true, Changed: []string{"b.go", "same.go"}},
			[]string{"b.go"}},
		"the user committed a file": {
			SinceLastRun{Untrusted: changesOf("a.go", "b.go"), IsLeft: true, Committed: []string{"b.go"}, IsInHead: isInHead},
			[]string{"b.go"}},
		"a file differs from the commit": {
			SinceLastRun{Untrusted: changesOf("dirty.go"), IsLeft: true, Committed: []string{"dirty.go"}, IsInHead: isInHead},
			nil},
		"git cannot tell": {
			SinceLastRun{Untrusted: changesOf("b.go"), IsLeft: true, Committed: []string{"b.go"}}, nil},
		"another branch was checked out": {
			SinceLastRun{Untrusted: changesOf("a.go", "dirty.go"), IsLeft: true, Rewritten: true, IsInHead: isInHead},
			[]string{"a.go"}},
		"the run was killed": {
			SinceLastRun{
				Untrusted: changesOf("a.go", "b.go"), Changed: []string{"a.go"}, Committed: []string{"b.go"}, IsInHead: isInHead,
			}, nil},
		"the user accepted a file and a folder": {
			SinceLastRun{Untrusted: changesOf("a.go", "tests/b.go", "testsuite.go"), Accepted: []string{"a.go", "tests"}},
			[]string{"a.go", "tests/b.go"}},
		"the user accepted everything": {
			SinceLastRun{Untrusted: changesOf("a.go", "b/c.go"), Accepted: []string{"."}}, []string{"a.go", "b/c.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.since.Users()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsTheUsersInANewWorktree(t *testing.T) {
	isList := func(name string) bool { return name == "tasks.json" }
	gone := ralph.FileChange{Name: "tasks.json", Kind: ralph.FileDeleted}
	for name, tt := range map[string]struct {
		made NewWorktree
		want []string
	}{
		"the user's files without a commit are missing": {NewWorktree{Untrusted: append(changesOf("a.go"), gone)},
			[]string{"a.go", "tasks.json"}},
		"an agent committed a file": {NewWorktree{Untrusted: changesOf("a.go", "b.go"), ByAgents: []string{"b.go"}},
			[]string{"a.go"}},
		"the user committed it again": {
			NewWorktree{Untrusted: changesOf("b.go"), ByAgents: []string{"b.go"}, Committed: []string{"b.go"}},
			[]string{"b.go"}},
		"a list was committed in a run that completed": {NewWorktree{Untrusted: changesOf("tasks.json")}, nil},
		"HEAD left the commits of the run behind": {
			NewWorktree{Untrusted: changesOf("b.go", "tasks.json"), ByAgents: []string{"b.go"}, AreCommitted: true},
			[]string{"b.go", "tasks.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.made.IsHeldBack = isList
			if diff := cmp.Diff(tt.want, tt.made.Users()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhichTreeIsTrustedAfterARun(t *testing.T) {
	type trusted struct {
		Snapshot  string
		HoldsBack bool
	}
	for name, tt := range map[string]struct {
		end    RunEnd
		proven string // the tree in which a task was last proven
		want   trusted
	}{
		"proven":                    {RunEnd{Proof: ralph.ProvenShown}, "", trusted{"judged", true}},
		"unbroken":                  {RunEnd{Proof: ralph.ProvenUnbroken}, "", trusted{"judged", true}},
		"in the workspace":          {RunEnd{Proof: ralph.ProvenWorkspace}, "", trusted{"judged", true}},
		"accepted":                  {RunEnd{Proof: ralph.ProvenAccepted, Accepted: "seen"}, "", trusted{"seen", false}},
		"accepted some time before": {RunEnd{Proof: ralph.ProvenAccepted}, "", trusted{"judged", true}},
		"nothing proven":            {RunEnd{Proof: ralph.ProvenNone}, "", trusted{"base", false}},
		"only the agent's tools":    {RunEnd{Proof: ralph.ProvenReported}, "", trusted{"base", false}},
		"not completed":             {RunEnd{}, "", trusted{"base", false}},
		"not completed, but a task": {RunEnd{}, "task", trusted{"task", true}},
	} {
		t.Run(name, func(t *testing.T) {
			h := History{LastProvenTree: tt.proven}
			h.Base.Snapshot, h.Now.Tree.Snapshot = "base", "judged"
			snapshot, holdsBack := TrustedAfter(h, tt.end)
			if diff := cmp.Diff(tt.want, trusted{snapshot, holdsBack}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/promise"
)

func TestMismatches(t *testing.T) {
	changed := func(n int) *ralph.FileCount { return &ralph.FileCount{Changed: n} }
	list := []ralph.TaskState{{ID: "A"}, {ID: "B"}, {ID: "C"}}
	claims := func(ids ...string) History {
		h := History{Tasks: list, Now: Observation{Task: "A"}}
		h.Now.Agent.Said.TasksDone = ids
		return h
	}
	wholeList := claims()
	wholeList.Now.Agent.Said.Complete, wholeList.Now.Agent.Said.CompleteTag = true, "COMPLETE"
	marked := claims("A")
	marked.Now.Listed = []string{"A", "B"}
	trees := func(before, after string) History {
		h := History{LastSeen: LastSeen{Tree: ralph.TreeState{Known: true, Hash: before}}}
		h.Now.Tree = ralph.TreeState{Known: true, Hash: after}
		return h
	}
	checks := func(passed bool) History {
		return History{Now: Observation{Checks: []ralph.CheckResult{{Name: "c", Passed: passed}}}}
	}
	for _, c := range []struct {
		name  string
		block promise.Status
		h     History
		files *ralph.FileCount
		want  []string
	}{
		{"tests pass", promise.Status{Tests: "PASSING"}, checks(true), nil, nil},
		{
			"a check failed", promise.Status{Tests: "PASSING"}, checks(false), nil,
			[]string{"TESTS_STATUS says PASSING, but a check failed"},
		},
		{
			"no check failed", promise.Status{Tests: "FAILING"}, checks(true), nil,
			[]string{"TESTS_STATUS says FAILING, but every check passed"},
		},
		{"as many files", promise.Status{FilesModified: 2}, History{}, changed(2), nil},
		{
			"seeds-audit 7: too many files", promise.Status{FilesModified: 99}, History{}, changed(2),
			[]string{"FILES_MODIFIED says 99, but 2 files changed"},
		},
		{
			"too few files", promise.Status{FilesModified: 1}, History{}, changed(2),
			[]string{"FILES_MODIFIED says 1, but 2 files changed"},
		},
		{
			"one file instead of none", promise.Status{}, History{}, changed(1),
			[]string{"FILES_MODIFIED says 0, but 1 file changed"},
		},
		{
			"no file", promise.Status{FilesModified: 1}, History{}, changed(0),
			[]string{"FILES_MODIFIED says 1, but no file changed"},
		},
		{"a rename counts once", promise.Status{FilesModified: 1}, History{}, &ralph.FileCount{Changed: 2, Moved: 1}, nil},
		{"a rename counts twice", promise.Status{FilesModified: 2}, History{}, &ralph.FileCount{Changed: 2, Moved: 1}, nil},
		{"the list counts", promise.Status{FilesModified: 2}, History{}, &ralph.FileCount{Changed: 1, Own: 1}, nil},
		{"the list does not count", promise.Status{FilesModified: 1}, History{}, &ralph.FileCount{Changed: 1, Own: 1}, nil},
		{"more than the snapshot", promise.Status{FilesModified: 9}, History{}, &ralph.FileCount{Omitted: true}, nil},
		{
			"fewer than the snapshot", promise.Status{}, History{}, &ralph.FileCount{Changed: 1, Omitted: true},
			[]string{"FILES_MODIFIED says 0, but 1 file changed"},
		},
		{"without snapshots any number agrees", promise.Status{FilesModified: 9}, trees("x", "y"), nil, nil},
		{
			"without snapshots a change is known", promise.Status{}, trees("x", "y"), nil,
			[]string{"FILES_MODIFIED says 0, but files changed"},
		},
		{
			"without snapshots no change is known", promise.Status{FilesModified: 9}, trees("x", "x"), nil,
			[]string{"FILES_MODIFIED says 9, but no file changed"},
		},
		{"the goal is one task", promise.Status{TasksCompleted: 1}, History{}, nil, nil},
		{
			"seeds-audit 7: four tasks of no list", promise.Status{TasksCompleted: 4}, History{}, nil,
			[]string{"TASKS_COMPLETED_THIS_LOOP says 4, but this run has one goal and no task list"},
		},
		{"as many tasks", promise.Status{TasksCompleted: 2}, claims("A", "B"), nil, nil},
		{"by tag and in the list", promise.Status{TasksCompleted: 2}, marked, nil, nil},
		{"everything is the current task", promise.Status{TasksCompleted: 1}, wholeList, nil, nil},
		{
			"a task too many", promise.Status{TasksCompleted: 2}, claims("A"), nil,
			[]string{"TASKS_COMPLETED_THIS_LOOP says 2, but 1 task was claimed"},
		},
		{
			"a task too few", promise.Status{TasksCompleted: 1}, claims("A", "B"), nil,
			[]string{"TASKS_COMPLETED_THIS_LOOP says 1, but 2 tasks were claimed"},
		},
		{
			"no task, and one unknown", promise.Status{TasksCompleted: 1}, claims("X"), nil,
			[]string{"TASKS_COMPLETED_THIS_LOOP says 1, but no task was claimed, by tag or in the list"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Mismatches(ralph.DefaultPolicy(), c.h, c.block, c.files)); diff != "" {
				t.Errorf("mismatches (-want +got):\n%s", diff)
			}
		})
	}
}

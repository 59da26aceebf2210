package plan

import (
	"bytes"
	"testing"

	"github.com/ralphloop/ralph"
)

// FuzzJSON: reading never panics; setting states changes only states; and what was set is read again.
func FuzzJSON(f *testing.F) {
	for _, s := range []sample{ownSample, agentSample, caseSample, storiesSample} {
		f.Add([]byte(s.files[s.path]))
	}
	f.Add([]byte(`{"tasks":[{"id":"A","title":"a","status":"done","status":"done"}]}`))
	f.Add([]byte(`[{"id":"A","title":"a"},{"title":"b","id":"B"},]`))
	f.Add([]byte("[{\"id\":\"A\",\"title\":\"\\ud800\xff\"\r\n}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []format{ownFormat, agentFolder, caseList, stories} {
			src := source{path: "l.json", files: map[string][]byte{"l.json": data}}
			all, problems := format.parse(src)
			problems = append(problems, crossCheck("l.json", all)...)
			if len(Errors(problems)) > 0 {
				continue
			}
			for _, state := range []ralph.TaskStatus{ralph.TaskDone, ralph.TaskPending, ralph.TaskFailed} {
				checkEdit(t, format, src, all, state)
			}
		}
	})
}

// checkEdit sets every task to one state.
func checkEdit(t *testing.T, f format, src source, all []item, state ralph.TaskStatus) {
	states := map[string]ralph.TaskStatus{}
	for _, it := range all {
		states[it.ID] = state
	}
	before := bytes.Clone(src.list())
	changed, err := f.edit(src, states)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, src.list()) {
		t.Fatal("edit wrote into its source")
	}
	next := source{path: src.path, files: map[string][]byte{src.path: src.list()}}
	if data, ok := changed.files[src.path]; ok {
		next.files[src.path] = data
	}
	again, problems := f.parse(next)
	if bad := Errors(problems); len(bad) > 0 {
		t.Fatalf("%v\n%s", bad, next.list())
	}
	if f.name() == agentFolder.label || f.name() == stories.label {
		state = onlyDone(state)
	}
	want := tasksOf(all)
	for i := range want {
		want[i].Status = state
	}
	diff(t, want, tasksOf(again))
}

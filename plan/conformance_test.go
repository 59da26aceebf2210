package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// A sample is the same list of three tasks in one format, with the edits that people and agents
// make to it. Every sample goes through the whole suite. A format adds its own with
//
//	func init() { samples = append(samples, sample{...}) }
//
// in its test file.
type sample struct {
	name   string // of the sample
	format string // that must be detected
	path   string
	files  map[string]string
	// tasks is what must be read: the first pending, the second done, the third pending.
	tasks []ralph.Task

	done    change // the first task marked done; also exactly what edit has to make of it
	undone  change // the second task marked not done; exactly what edit has to make of it
	failed  change // the first task marked failed; zero if the format cannot say so and its bytes stay
	gone    change // the third task deleted
	weaker  change // one criterion of the first task changed
	added   change // a fourth pending task after the third, without dependencies
	addedID string
	trick   change // the same fourth task, but already marked done; setting it pending must give what added gives
	swapped change // the first and the third task in each other's place
	prose   change // something that is no task's business: blanks, notes, text beside the list
	broken  change // what makes the list unreadable; zero if nothing can
}

// change replaces old, which occurs exactly once in the file, by new. That must hold after the
// sample's other changes too.
type change struct{ file, old, new string } // file "" is the list itself

var samples []sample

func (s sample) source() source {
	src := source{path: s.path, files: map[string][]byte{}}
	for name, text := range s.files {
		src.files[name] = []byte(text)
	}
	return src
}

// with is the sample's source after a change.
func (s sample) with(t *testing.T, c change) source {
	t.Helper()
	src := s.source()
	name := c.file
	if name == "" {
		name = s.path
	}
	if n := strings.Count(string(src.files[name]), c.old); n != 1 {
		t.Fatalf("%s: %q occurs %d times in %s", s.name, c.old, n, name)
	}
	src.files[name] = []byte(strings.Replace(string(src.files[name]), c.old, c.new, 1))
	return src
}

// edited is the sample's files after a change, as texts.
func (s sample) edited(t *testing.T, changes ...change) map[string]string {
	t.Helper()
	for _, c := range changes {
		next := s.with(t, c)
		s.files = map[string]string{}
		for name, data := range next.files {
			s.files[name] = string(data)
		}
	}
	return s.files
}

func (s sample) state(first ralph.TaskStatus) map[string]ralph.TaskStatus {
	return map[string]ralph.TaskStatus{s.tasks[0].ID: first}
}

func eachSample(t *testing.T, test func(t *testing.T, s sample)) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel() // they mostly wait for the disk
			test(t, s)
		})
	}
}

func TestFormatReads(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		f := detect(s.path, s.source().list())
		if f == nil || f.name() != s.format {
			t.Fatalf("detected %v, want %s", f, s.format)
		}
		all, problems := f.parse(s.source())
		if bad := Errors(problems); len(bad) > 0 {
			t.Fatal(bad)
		}
		diff(t, s.tasks, tasksOf(all))
	})
}

func TestFormatEditsOnlyStates(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		f := detect(s.path, s.source().list())
		first, second := s.tasks[0].ID, s.tasks[1].ID
		for name, test := range map[string]struct {
			states map[string]ralph.TaskStatus
			want   []change
		}{
			"first done":     {map[string]ralph.TaskStatus{first: ralph.TaskDone}, []change{s.done}},
			"second pending": {map[string]ralph.TaskStatus{second: ralph.TaskPending}, []change{s.undone}},
			"both": {map[string]ralph.TaskStatus{first: ralph.TaskDone, second: ralph.TaskPending},
				[]change{s.done, s.undone}},
			"nothing that is not so": {map[string]ralph.TaskStatus{first: ralph.TaskPending, second: ralph.TaskDone}, nil},
			"nothing":                {nil, nil},
		} {
			diff(t, s.edited(t, test.want...), editedBy(t, f, s.source(), test.states), name)
		}
		var failed []change
		if s.failed != (change{}) {
			failed = []change{s.failed}
		}
		diff(t, s.edited(t, failed...), editedBy(t, f, s.source(), s.state(ralph.TaskFailed)), "first failed")
		back := editedBy(t, f, s.with(t, s.done), s.state(ralph.TaskPending))
		diff(t, s.files, back, "there and back")
		if _, err := f.edit(s.source(), map[string]ralph.TaskStatus{"no-such-task": ralph.TaskDone}); err == nil {
			t.Error("a task that is not there was set")
		}
	})
}

// editedBy is what a format makes of a source.
func editedBy(t *testing.T, f format, src source, states map[string]ralph.TaskStatus) map[string]string {
	t.Helper()
	changed, err := f.edit(src, states)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name, data := range src.files {
		all[name] = string(data)
	}
	for name, data := range changed.files {
		all[name] = string(data)
	}
	return all
}

func TestFormatAdds(t *testing.T) {
	eachSample(t, func(t *testing.T, s sample) {
		f := detect(s.path, s.source().list())
		id, ok := nextID(itemsOf(t, f, s.source()))
		if !ok {
			t.Fatal("the sample's ids have no numbers")
		}
		changed, err := f.add(s.source(), ralph.Task{ID: id, Title: "One more", Status: ralph.TaskPending})
		if err != nil {
			t.Fatal(err)
		}
		next := s.source()
		for name, data := range changed.files {
			next.files[name] = data
		}
		got := tasksOf(itemsOf(t, f, next))
		if len(got) != 4 {
			t.Fatalf("%d tasks after adding one:\n%s", len(got), next.list())
		}
		added := got[3]
		diff(t, s.tasks, got[:3])
		diff(
			t,
			ralph.Task{ID: id, Title: "One more", Status: ralph.TaskPending},
			ralph.Task{ID: added.ID, Title: added.Title, Status: added.Status},
		)
		if crlf := strings.Count(string(next.list()), "\r\n"); crlf > 0 && crlf != strings.Count(string(next.list()), "\n") {
			t.Errorf("mixed line ends:\n%q", next.list())
		}
	})
}

func itemsOf(t *testing.T, f format, src source) []item {
	t.Helper()
	all, problems := f.parse(src)
	if bad := Errors(problems); len(bad) > 0 {
		t.Fatalf("%v\n%s", bad, src.list())
	}
	return all
}

// diff fails the test when two values differ.
func diff(t *testing.T, want, got any, about ...string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", strings.Join(about, " "), d)
	}
}

package plan

import (
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

// A sample is the same list of three tasks in one format, with the edits that people and agents make to it. Every sample goes through the whole
// suite. A format adds its own with
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

// change replaces old, which occurs exactly once in the file, by new.
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

package plan

import (
	"os"
	"testing"

	"github.com/ralphloop/ralph"
)

// What an agent did while the list could not be put back must not pass for the user's edit later.
const (
	twoTasks   = `{"tasks": [{"id": "A", "title": "a"}, {"id": "B", "title": "b", "checks": ["false"]}]}`
	oneDeleted = `{"tasks": [{"id": "A", "title": "a"}]}`
)

var provenA = map[string]ralph.TaskStatus{"A": done, "B": pending}

func TestAWriteThatFailedIsMadeUpFor(t *testing.T) {
	for name, reopen := range map[string]bool{"by the same process": false, "by the next process": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, oneList("l.json", twoTasks))
			d.lay(map[string]string{"l.json": oneDeleted})
			d.must(os.Rename(d.dir, d.dir+".away"))
			if err := d.book.Write(provenA); err == nil {
				t.Fatal("there is no workspace to write to")
			}
			diff(t, []ralph.TaskStatus{done, pending}, d.states(), "what is proven stays proven")
			d.must(os.Rename(d.dir+".away", d.dir))
			if reopen {
				d.reopen()
			}
			d.must(d.book.Adopt(provenA))
			diff(t, []ralph.TaskStatus{done, pending}, d.states())
			d.lay(map[string]string{"l.json": oneDeleted})
			d.must(d.book.Adopt(provenA))
			diff(t, []ralph.TaskStatus{pending}, d.states(), "from then on it is the user's again")
		})
	}
}

func TestAListThatCannotBeInspectedIsNotTheUsers(t *testing.T) {
	d := newDesk(t, oneList("l.json", twoTasks))
	d.lay(map[string]string{"l.json": oneDeleted})
	d.must(os.Rename(d.dir, d.dir+".away"))
	if _, err := d.book.Inspect(); err == nil {
		t.Fatal("there is no workspace to look at")
	}
	d.must(os.Rename(d.dir+".away", d.dir))
	d.must(d.book.Adopt(nil))
	diff(t, d.s.files, d.files())
}

func TestAListThatCannotBeWrittenIsNotAdopted(t *testing.T) {
	d := newDesk(t, oneList("l.json", twoTasks))
	d.lay(map[string]string{"l.json": oneDeleted})
	d.must(os.Rename(d.dir, d.dir+".away"))
	d.must(os.WriteFile(d.dir, nil, 0o600))
	for range 2 {
		if err := d.book.Write(provenA); err == nil {
			t.Fatal("there is no folder to write to")
		}
		if err := d.book.Adopt(provenA); err == nil {
			t.Fatal("an agent's list was adopted as the user's")
		}
		diff(t, []ralph.TaskStatus{done, pending}, d.states())
	}
}

package plan

import (
	"fmt"
	"maps"

	"github.com/ralphloop/ralph"
)

// format reads and edits one way of writing a task list. It works on bytes only: reading, judging
// and writing files is the same for all of them.
type format interface {
	// name is what people see, such as "markdown".
	name() string

	// detects goes by content; path, as in the workspace, may break a tie.
	detects(path string, data []byte) bool

	// parse gives the items in the order of the file. Problems name line and reason; items are
	// returned as far as they could be read.
	parse(src source) ([]item, []Problem)

	// edit gives the files whose bytes change when these tasks get these states, and leaves src as it
	// is. Only the bytes of a state that differs are touched. A format that has only a boolean or a
	// box writes failed as not done. A task that is not in the list is an error.
	edit(src source, states map[string]ralph.TaskStatus) (source, error)

	// add gives the files whose bytes change when one task is appended in the format's own form, and
	// leaves src as it is. Without an id the format makes one as it does when parsing.
	add(src source, t ralph.Task) (source, error)
}

// formats are asked in this order. Each JSON format knows its own shape; Markdown comes last,
// because almost any text is Markdown.
var formats = []format{ownFormat, stories, agentFolder, caseList, markdown{}}

// companion is what a format is, too, whose list refers to other files.
type companion interface {
	// companions names the files that may belong to the list, which is the only one that src needs to
	// hold.
	companions(src source) []string
}

// source is a task list as it lies on disk.
type source struct {
	path  string            // of the list, with slashes, as in the workspace
	files map[string][]byte // the list itself and the files that say more about its tasks, by path in the workspace
}

// list is the content of the list itself.
func (s source) list() []byte { return s.files[s.path] }

// with is the source with changed files in place of its own.
func (s source) with(changed source) source {
	files := maps.Clone(s.files)
	maps.Copy(files, changed.files)
	return source{s.path, files}
}

// item is a task and where it stands.
type item struct {
	ralph.Task
	line int
}

// Problem is something wrong with a task list.
type Problem struct {
	File    string
	Line    int    // 0 if it is about the file as a whole
	Task    string // "" if it is about no task in particular
	Text    string
	Warning bool // the list can be worked all the same
}

// String reads "file:line: text".
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

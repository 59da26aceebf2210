package plan

import (
	"fmt"
	"maps"

	"github.com/ralphloop/ralph"
)

// format reads and edits one kind of task list. It works only on bytes: reading, judging and
// writing files is the same for all formats.
type format interface {
	// name is shown to users, such as "markdown".
	name() string

	// detects decides by content; path, as in the workspace, may break a tie.
	detects(path string, data []byte) bool

	// parse returns the items in the order of the file. Problems contain line and reason; items are
	// returned as far as they could be read.
	parse(src source) ([]item, []Problem)

	// edit returns the files that change when these tasks get these states, and leaves src unchanged.
	// It changes only the bytes of states that differ. A format that has only a boolean or a box
	// writes failed as not done. A task that is not in the list is an error.
	edit(src source, states map[string]ralph.TaskStatus) (source, error)

	// add returns the files that change when one task is appended in the format's own form, and leaves
	// src unchanged. Without an id the format creates one as it does when parsing.
	add(src source, t ralph.Task) (source, error)
}

// formats are tried in this order. Each JSON format knows its own shape. Markdown comes last,
// because almost any text is Markdown.
var formats = []format{taskmaster{}, ownFormat, stories, agentFolder, caseList, ralphy{}, markdown{}}

// companion is implemented by a format whose list refers to other files.
type companion interface {
	// companions returns the files that may belong to the list. src needs to contain only the list.
	companions(src source) []string
}

// source is the content of a task list on disk.
type source struct {
	path  string            // of the list, with slashes, as in the workspace
	files map[string][]byte // the list itself and the files that say more about its tasks, by path in the workspace
}

// list returns the content of the list itself.
func (s source) list() []byte { return s.files[s.path] }

// with returns the source with changed files replaced.
func (s source) with(changed source) source {
	files := maps.Clone(s.files)
	maps.Copy(files, changed.files)
	return source{s.path, files}
}

// item is a task and its line.
type item struct {
	ralph.Task
	line int
}

// Problem is something wrong with a task list.
type Problem struct {
	File    string
	Line    int    // 0 for the file as a whole
	Task    string // "" if it concerns no particular task
	Text    string
	Warning bool // the list can still be used
}

// String returns "file:line: text".
func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

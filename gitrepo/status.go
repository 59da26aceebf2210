package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// statusLimit bounds what git may say about a tree: half a million names.
const statusLimit = 64 << 20

// view is the file that the harness writes into the workspace.
const view = ".ralph/progress.md"

// status is what differs from the commit that is checked out.
type status struct {
	head  string // "" before the first commit
	paths []path // sorted, each once
}

// path is one entry below the top of the working tree, with slashes.
type path struct {
	name      string
	untracked bool
	folder    bool // a submodule or a nested repository: git looks no further
}

func (r *Repo) status(ctx context.Context) (status, error) {
	out := limited{limit: statusLimit}
	args := []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--", "."}
	if err := r.run(ctx, call{args: args, out: &out}); err != nil {
		return status{}, fmt.Errorf("read status: %w", err)
	}
	st, err := parseStatus(out.text.String())
	if err != nil {
		return status{}, fmt.Errorf("read status: %w", err)
	}
	st.paths = slices.DeleteFunc(st.paths, func(p path) bool { return p.name == r.prefix+view })
	return st, nil
}

// fieldsBefore counts the fields of a record before its name.
var fieldsBefore = map[byte]int{'1': 8, 'u': 10, '?': 1}

// parseStatus reads `git status --porcelain=v2 --branch -z --no-renames`.
func parseStatus(out string) (status, error) {
	var st status
	byName := map[string]int{}
	for record := range strings.SplitSeq(out, "\x00") {
		if record == "" {
			continue
		}
		if oid, ok := strings.CutPrefix(record, "# branch.oid "); ok {
			if oid != "(initial)" {
				st.head = oid
			}
			continue
		}
		before, known := fieldsBefore[record[0]]
		if !known {
			continue // other headers, and what later versions of git may add
		}
		fields := strings.SplitN(record, " ", before+1)
		if len(fields) != before+1 {
			return status{}, fmt.Errorf("cannot read %q", record)
		}
		p := path{name: fields[before], untracked: record[0] == '?'}
		p.folder = !p.untracked && strings.HasPrefix(fields[2], "S")
		if name, nested := strings.CutSuffix(p.name, "/"); nested {
			p.name, p.folder = name, true
		}
		// A file that was taken out of the index but lies there still comes twice.
		if i, twice := byName[p.name]; twice {
			st.paths[i].untracked = st.paths[i].untracked && p.untracked
			continue
		}
		byName[p.name] = len(st.paths)
		st.paths = append(st.paths, p)
	}
	slices.SortFunc(st.paths, func(a, b path) int { return strings.Compare(a.name, b.name) })
	return st, nil
}

// limited is a buffer that refuses to grow beyond its limit.
type limited struct {
	limit int
	text  bytes.Buffer
}

var errTooMuch = errors.New("git says too much")

func (l *limited) Write(p []byte) (int, error) {
	if l.text.Len()+len(p) > l.limit {
		return 0, errTooMuch
	}
	return l.text.Write(p)
}

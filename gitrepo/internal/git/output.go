package git

import (
	"errors"
	"fmt"
	"strings"
)

// outputLimit limits git's output about a tree: half a million names.
const outputLimit = 64 << 20

// ErrTooMuch means that git's output exceeds the limit of a call.
var ErrTooMuch = errors.New("git printed too much output")

// limited is a buffer that keeps the start of its input and fails beyond its limit.
type limited struct {
	limit int
	text  strings.Builder
}

func (l *limited) Write(p []byte) (int, error) {
	room := l.limit - l.text.Len()
	if len(p) > room {
		l.text.Write(p[:room])
		return room, ErrTooMuch
	}
	return l.text.Write(p)
}

// headLimit is how much of git's stderr is kept.
const headLimit = 4 << 10

// Head keeps the start of its input.
type Head struct{ strings.Builder }

func (h *Head) Write(p []byte) (int, error) {
	h.Builder.Write(p[:min(len(p), headLimit-h.Len())])
	return len(p), nil
}

// SplitNames splits names that each end with a zero byte.
func SplitNames(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\x00"), "\x00")
}

// Status is the output of `git status --porcelain=v2 -z --no-renames`.
type Status struct {
	Head    string // with --branch: the checked-out commit, "" before the first commit
	Entries []StatusEntry
	Ignored []string // files and folders that match a rule, if git was asked for them
}

// StatusEntry is one path.
type StatusEntry struct {
	Name      string
	Untracked bool
	XY        string // git's two status letters, for a tracked file
	ID        string // of the file in the index
	Submodule bool
}

// fieldsBefore counts the fields of a record before its name.
var fieldsBefore = map[byte]int{'1': 8, 'u': 10, '?': 1, '!': 1}

// ParseStatus parses git's output.
func ParseStatus(out string) (Status, error) {
	var st Status
	for _, record := range SplitNames(out) {
		if oid, ok := strings.CutPrefix(record, "# branch.oid "); ok && oid != "(initial)" {
			st.Head = oid
		}
		before, known := fieldsBefore[(record + " ")[0]]
		if !known {
			continue // other headers, and records that later versions of git may add
		}
		fields := strings.SplitN(record, " ", before+1)
		if len(fields) != before+1 {
			return Status{}, fmt.Errorf("cannot read %q", record)
		}
		if record[0] == '!' {
			st.Ignored = append(st.Ignored, fields[before])
			continue
		}
		e := StatusEntry{Name: fields[before], Untracked: before == 1}
		if !e.Untracked {
			e.XY, e.Submodule, e.ID = fields[1], strings.HasPrefix(fields[2], "S"), fields[before-1]
		}
		st.Entries = append(st.Entries, e)
	}
	return st, nil
}

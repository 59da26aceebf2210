package promise

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	blockBegins = "---RALPH_STATUS---"
	blockEnds   = "---END_RALPH_STATUS---"
)

const maxCountDigits = 9

// statusField is one field of the block. values are its allowed values, nil for a count or for the
// recommendation.
type statusField struct {
	name   string
	values []string
}

const recommendation = "RECOMMENDATION"

var statusFields = []statusField{
	{"STATUS", []string{"IN_PROGRESS", "COMPLETE", "BLOCKED"}},
	{"TASKS_COMPLETED_THIS_LOOP", nil},
	{"FILES_MODIFIED", nil},
	{"TESTS_STATUS", []string{"PASSING", "FAILING", "NOT_RUN"}},
	{"WORK_TYPE", []string{"IMPLEMENTATION", "TESTING", "DOCUMENTATION", "REFACTORING"}},
	{"EXIT_SIGNAL", []string{"false", "true"}},
	{recommendation, nil},
}

// statusBlock reads the lines between the two marks. Until the second mark appears, it may not be a
// block at all, so asText keeps what its lines say as ordinary text.
type statusBlock struct {
	open    bool
	values  map[string]string
	problem string
	asText  findings
}

func (b *statusBlock) begin() {
	*b = statusBlock{open: true, values: map[string]string{}}
}

// extent says whether a line of the block is complete. Only a recommendation may be longer than
// what is read.
type extent int

const (
	wholeLine extent = iota
	cutLine
)

func (b *statusBlock) line(text []byte, e extent) {
	text = bytes.TrimSpace(text)
	if !b.open || len(text) == 0 || b.problem != "" {
		return
	}
	name, value, _ := bytes.Cut(text, []byte(":"))
	at := slices.IndexFunc(statusFields, func(f statusField) bool { return f.name == string(name) })
	if at < 0 || len(name) == len(text) {
		b.problem = fmt.Sprintf("unexpected line %q", shown(tidied(text)))
		return
	}
	field := statusFields[at]
	if _, twice := b.values[field.name]; twice {
		b.problem = field.name + " is given twice"
		return
	}
	said, problem := field.read(bytes.TrimSpace(value), e)
	b.values[field.name], b.problem = said, problem
}

func (f statusField) read(value []byte, e extent) (said, problem string) {
	if f.name == recommendation {
		said = firstCharacters(tidied(value), maxContent)
		if said == "" {
			return "", f.name + " is empty"
		}
		return said, ""
	}
	said = string(value)
	switch {
	case f.values == nil && (e == cutLine || !isCount(said)):
		return "", fmt.Sprintf("%s must be a number, not %q", f.name, shown(tidied(value)))
	case f.values != nil && (e == cutLine || !slices.Contains(f.values, said)):
		return "", fmt.Sprintf("%s must be one of %s, not %q",
			f.name, strings.Join(f.values, ", "), shown(tidied(value)))
	}
	return said, ""
}

func isCount(s string) bool {
	return s != "" && len(s) <= maxCountDigits && strings.Trim(s, "0123456789") == ""
}

// end closes the block. If it returns a problem, the block is invalid.
func (b *statusBlock) end() (Status, string) {
	for _, f := range statusFields {
		if _, ok := b.values[f.name]; !ok && b.problem == "" {
			b.problem = f.name + " is missing"
		}
	}
	if b.problem != "" {
		return Status{}, b.problem
	}
	// The digits were checked, and there are too few of them to overflow.
	tasks, _ := strconv.Atoi(b.values["TASKS_COMPLETED_THIS_LOOP"])
	files, _ := strconv.Atoi(b.values["FILES_MODIFIED"])
	return Status{
		State:          b.values["STATUS"],
		TasksCompleted: tasks,
		FilesModified:  files,
		Tests:          b.values["TESTS_STATUS"],
		WorkType:       b.values["WORK_TYPE"],
		ExitSignal:     b.values["EXIT_SIGNAL"] == "true",
		Recommendation: b.values[recommendation],
	}, ""
}

package promise

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// StatusProblem is one error in a status block, and how to correct it.
type StatusProblem struct {
	Line    int    `json:"line"` // of the text, from 1; 0 if there is no line to name
	Problem string `json:"problem"`
	Fix     string `json:"fix"`
}

// StatusCheck is what [CheckStatus] understood. Without problems, Status is set.
type StatusCheck struct {
	Status   *Status         `json:"status_block"`
	Claim    bool            `json:"claim"`   // the block claims that everything is done
	Blocked  bool            `json:"blocked"` // the block reports that the agent cannot continue
	Problems []StatusProblem `json:"problems"`
	Warnings []string        `json:"warnings"` // the block is valid, but says less than its author may think
}

// CheckStatus reads a text that should end with a status block. [Parse] decides whether its last
// block is valid; CheckStatus lists every error in it, where Parse stops at the first.
func CheckStatus(text string) StatusCheck {
	report := Parse(text, Options{})
	check := StatusCheck{Problems: []StatusProblem{}, Warnings: []string{}}
	if report.Status != nil && report.StatusProblem == "" {
		check.Status, check.Claim = report.Status, report.Status.Claims()
		check.Blocked = report.Status.State == "BLOCKED"
		if why := report.Status.WhyNoClaim(); why != "" {
			check.Warnings = append(check.Warnings, "the block does not claim completion: "+why)
		}
		if len(report.Contradictions) > 0 {
			check.Warnings = append(check.Warnings, "STATUS is BLOCKED, so EXIT_SIGNAL should be false")
		}
		return check
	}
	var clean cleanText
	cleaner := terminalCleaner{next: &clean}
	cleaner.text([]byte(text))
	cleaner.endMessage()
	check.Problems = blockProblems(bytes.Split(clean.Bytes(), []byte("\n")))
	if len(check.Problems) == 0 { // something outside the block's lines, such as a thought that contains it
		problem := report.StatusProblem
		if problem == "" {
			problem = "the block is not part of the agent's own text"
		}
		check.Problems = []StatusProblem{{Problem: problem, Fix: "print the block alone, as the end of the message"}}
	}
	return check
}

// blockProblems lists the errors of the last complete block, or of the last one that begins.
func blockProblems(lines [][]byte) []StatusProblem {
	begin, end := lastBlock(lines)
	if begin < 0 {
		return []StatusProblem{noBlock(lines)}
	}
	if end >= 0 {
		return fieldProblems(lines, begin, end, end+1)
	}
	problem := StatusProblem{Problem: "the block has no end", Fix: "end it with the line " + blockEnds}
	if at := slices.IndexFunc(lines[begin+1:], looksLike(blockEnds)); at >= 0 {
		end = begin + 1 + at
		problem.Line, problem.Fix = end+1, "write the line as "+blockEnds
	} else {
		end = unendedAt(lines, begin)
		problem.Line = end
	}
	return append(fieldProblems(lines, begin, end, problem.Line), problem)
}

// unendedAt returns the index of the line where a block without an end should end: behind its last field, or behind
// the line that begins it. What follows may be any text of the message.
func unendedAt(lines [][]byte, begin int) int {
	end := begin + 1
	for i := end; i < len(lines); i++ {
		if name, _, colon := bytes.Cut(lines[i], []byte(":")); colon && fieldLike(name) >= 0 {
			end = i + 1
		}
	}
	return end
}

// fieldLike returns the index of the field that a name is meant to be, -1 if it is none.
func fieldLike(name []byte) int {
	return slices.IndexFunc(statusFields, func(f statusField) bool { return lettersOf(f.name) == lettersOf(string(name)) })
}

// lastBlock returns the indexes of the marks of the last complete block. end is -1 if no block is complete,
// and begin is -1 if none begins.
func lastBlock(lines [][]byte) (begin, end int) {
	begin, end = -1, -1
	open := -1
	for i, line := range lines {
		switch mark := string(bytes.TrimSpace(line)); {
		case mark == blockBegins:
			open = i
		case mark == blockEnds && open >= 0:
			begin, end, open = open, i, -1
		}
	}
	if end < 0 {
		begin = open
	}
	return begin, end
}

func noBlock(lines [][]byte) StatusProblem {
	if at := slices.IndexFunc(lines, looksLike(blockBegins)); at >= 0 {
		return StatusProblem{
			Line: at + 1, Problem: fmt.Sprintf("%q does not begin a block", shown(tidied(lines[at]))),
			Fix: "write the line as " + blockBegins,
		}
	}
	return StatusProblem{Problem: "there is no status block", Fix: "begin one with the line " + blockBegins}
}

// looksLike reports whether a line is meant to be a mark: the same letters, with other characters around them.
func looksLike(mark string) func([]byte) bool {
	want := lettersOf(mark)
	return func(line []byte) bool { return lettersOf(string(line)) == want }
}

func lettersOf(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 'A' || r > 'Z' {
			return -1
		}
		return r
	}, strings.ToUpper(text))
}

// fieldProblems lists the errors between two lines of a block, and names a line for the fields that are missing.
func fieldProblems(lines [][]byte, begin, end, missing int) []StatusProblem {
	var problems []StatusProblem
	first := map[string]int{} // the line of each field
	before := ""              // the field above the line
	for i := begin + 1; i < end; i++ {
		text := bytes.TrimSpace(lines[i])
		if len(text) == 0 {
			continue
		}
		name, problem := lineProblem(text, before)
		if first[name] > 0 {
			problem = StatusProblem{
				Problem: name + " is given twice", Fix: fmt.Sprintf("keep this line or line %d", first[name]),
			}
		}
		if problem.Problem != "" {
			problem.Line = i + 1
			problems = append(problems, problem)
		}
		if name != "" && first[name] == 0 {
			first[name], before = i+1, name
		}
	}
	for _, f := range statusFields {
		if first[f.name] == 0 {
			problems = append(problems, StatusProblem{
				Line: missing, Problem: f.name + " is missing", Fix: "add the line " + f.name + ": " + f.allowed(),
			})
		}
	}
	return problems
}

// lineProblem returns the field that a line gives, or is meant to give, and what is wrong with the line.
func lineProblem(text []byte, before string) (field string, problem StatusProblem) {
	name, value, colon := bytes.Cut(text, []byte(":"))
	at := fieldLike(name)
	unexpected := fmt.Sprintf("unexpected line %q", shown(tidied(text)))
	switch {
	case at < 0 && before == recommendation:
		return "", StatusProblem{Problem: unexpected, Fix: "keep RECOMMENDATION on one line, and remove this one"}
	case at < 0:
		return "", StatusProblem{Problem: unexpected, Fix: "remove it; details belong in RECOMMENDATION"}
	}
	f := statusFields[at]
	if !colon || string(name) != f.name {
		return f.name, StatusProblem{Problem: unexpected, Fix: "write it as " + f.name + ": " + f.allowed()}
	}
	_, wrong := f.read(bytes.TrimSpace(value), wholeLine)
	if wrong == "" {
		return f.name, StatusProblem{}
	}
	return f.name, StatusProblem{Problem: wrong, Fix: "write " + f.name + ": " + f.closest(value)}
}

// allowed describes the field's values.
func (f statusField) allowed() string {
	switch {
	case f.values != nil:
		return strings.Join(f.values, " | ")
	case f.name == recommendation:
		return "one line, not empty"
	}
	return "a number"
}

// closest returns the value that was meant, if one is the same but for case and punctuation, or else every
// allowed one.
func (f statusField) closest(value []byte) string {
	for _, v := range f.values {
		if lettersOf(v) == lettersOf(string(value)) {
			return v
		}
	}
	return f.allowed()
}

package config

import "strings"

// UsageError is a mistake in what the user wrote: a flag, a key, a value, a file. It ends the program with status 64.
type UsageError struct {
	Msg  string // what is wrong and where
	Hint string // what would be right; may be empty
}

// Error is the message and the hint on one line.
func (e *UsageError) Error() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + "; " + e.Hint
}

// problem is what is wrong with a value, before it is known who gave it.
type problem struct{ msg, hint string }

func (p *problem) from(subject string) error {
	return &UsageError{Msg: subject + ": " + p.msg, Hint: p.hint}
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "did you mean " + name + "?"
}

// Nearest is the candidate that name was most likely meant to be, or "" if none is near. Of equally near ones the first is taken.
func Nearest(name string, candidates []string) string {
	name = strings.ToLower(name)
	best, bestDistance := "", 1+max(1, min(3, len(name)/3))
	for _, candidate := range candidates {
		if d := distance(name, strings.ToLower(candidate), bestDistance); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance counts insertions, deletions, replacements and swaps of neighbours that turn a into b. Names whose lengths alone differ by limit or more
// are not compared, so that a huge name costs nothing.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

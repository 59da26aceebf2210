// Package text has the few string helpers that more than one package needs: counting nouns, folding
// text into one line, cutting long text, finding the nearest name, and compiling an expression on
// first use.
package text

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Count returns "1 task", "3 tasks" or "2 processes".
func Count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// CountAre returns "1 change is" or "3 changes are".
func CountAre(n int, noun string) string {
	if n == 1 {
		return Count(n, noun) + " is"
	}
	return Count(n, noun) + " are"
}

// OneLine folds text into one line. Control characters and line separators become spaces, invalid
// UTF-8 becomes U+FFFD, and runs of white space become one space.
func OneLine(s string) string {
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == '\u2028' || c == '\u2029' {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.Join(strings.Fields(s), " ")
}

// FirstLine returns the first line of s that is not blank.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// Mapped returns the result of f for each item, or nil if there are none.
func Mapped[T, R any](items []T, f func(T) R) []R {
	var made []R
	for _, item := range items {
		made = append(made, f(item))
	}
	return made
}

// Nearest returns the candidate that name was most likely meant to be, or "" if none is near. Of
// equally near candidates it returns the first.
func Nearest(name string, candidates []string) string {
	name = strings.ToLower(name)
	best, bestDistance := "", 1+max(1, min(3, len(name)/3))
	for _, candidate := range candidates {
		if d := EditDistance(name, strings.ToLower(candidate), bestDistance); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// EditDistance counts the insertions, deletions, replacements and swaps of neighbors that turn a
// into b. It returns limit at once if the lengths alone differ by that much, so a huge name costs
// nothing.
func EditDistance(a, b string, limit int) int {
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

// LazyRegexp compiles an expression when it is first needed: most runs of the program need none of
// them.
func LazyRegexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// Times returns "once", "twice" or "3 times".
func Times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return strconv.Itoa(n) + " times"
}

// Digest returns the first 16 hexadecimal digits of the text's SHA-256.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// LastOf returns the last n elements of s, or all of them.
func LastOf[T any](s []T, n int) []T { return s[max(0, len(s)-n):] }

// listed is how many files, tests or checks a sentence names.
const listed = 5

// List returns the first names for a sentence, such as "a, b, c, d, e and 3 more".
func List(names []string) string {
	list := strings.Join(names[:min(listed, len(names))], ", ")
	if len(names) > listed {
		list += " and " + strconv.Itoa(len(names)-listed) + " more"
	}
	return list
}

// acceptable is how many files one command names. After it, the next refusal names the others.
const acceptable = 20

// AcceptFiles returns the command that makes the changes of files the user's own, ready for a shell.
func AcceptFiles(names []string) string {
	command := "ralph accept --files"
	for _, name := range names[:min(acceptable, len(names))] {
		if strings.HasPrefix(name, "-") { // not a flag
			name = "./" + name
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r < 0x80 && !isWordCharacter(r) }) {
			name = "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
		}
		command += " " + name
	}
	return command
}

// isWordCharacter reports whether a character means itself in every shell.
func isWordCharacter(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-+=./:,@%", r)
}

package canary

import (
	"regexp"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// failure matches a line in which a runner prints how many tests failed. Without number, each such line is one test.
type failure struct{ line, number func() *regexp.Regexp }

var failures = []failure{
	{text.LazyRegexp(`^--- FAIL: `), nil},                                              // go test, without subtests
	{text.LazyRegexp(`^\s*Tests:?\s+.*\d+ failed\b`), text.LazyRegexp(`(\d+) failed`)}, // jest, vitest
	{text.LazyRegexp(`^  \d+ failing$`), text.LazyRegexp(`(\d+)`)},                     // mocha
	{
		pytestSummary, // pytest
		text.LazyRegexp(`(\d+) (?:failed|errors?)\b`),
	},
	{text.LazyRegexp(`^FAILED \(`), text.LazyRegexp(`[(,] ?(?:failures|errors)=(\d+)`)},  // unittest
	{text.LazyRegexp(`^test result: FAILED\. `), text.LazyRegexp(`(\d+) failed`)},        // cargo
	{text.LazyRegexp(`^\d+ examples?, \d+ failures?`), text.LazyRegexp(`(\d+) failure`)}, // rspec
	{
		text.LazyRegexp(`^\d+ (?:runs|tests), \d+ assertions, `), // minitest
		text.LazyRegexp(`(\d+) (?:failures|errors)`),
	},
	{
		text.LazyRegexp(`^(?:\[\w+\]\s+)?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+$`), // maven
		text.LazyRegexp(`(?:Failures|Errors): (\d+)`),
	},
	{text.LazyRegexp(`^[#ℹ] fail \d+$`), text.LazyRegexp(`(\d+)`)}, // node, tap
}

// CountFailing returns how many tests failed, according to their runners. It returns 0 if that is unknown.
func CountFailing(output string) int {
	var seen failureCount
	for line := range strings.Lines(output) {
		seen.line(plain(line))
	}
	return seen.count()
}

// failureCount counts the tests that failed. Their number is unknown if something could not be built or the runner
// stopped early: fewer tests failed only because fewer ran.
type failureCount struct {
	tests   int
	unbuilt bool
	cut     bool
}

func (c *failureCount) line(line string) {
	if !mayTellFailure(line) {
		return
	}
	c.unbuilt = c.unbuilt || unbuiltLine().MatchString(line)
	c.cut = c.cut || cutLine().MatchString(line) || strings.HasSuffix(line, " failed]")
	c.tests += failingIn(line)
}

// mayTellFailure reports whether a line can match one of the expressions for failures. Most lines cannot, and this is
// many times faster.
func mayTellFailure(line string) bool {
	for _, part := range []string{
		"ail", "AIL", "rror", "ERR", "annot find", "Exiting due", "Interrupted", ".test]", "stopping after",
	} {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// count returns 0 if the number is unknown.
func (c *failureCount) count() int {
	if c.unbuilt || c.cut {
		return 0
	}
	return c.tests
}

func failingIn(line string) int {
	for _, f := range failures {
		switch {
		case !f.line().MatchString(line):
		case f.number == nil:
			return 1
		default:
			return sum(f.number, line)
		}
	}
	return 0
}

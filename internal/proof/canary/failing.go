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
		text.LazyRegexp(`^=*\s*(?:\d+ \w+, )*\d+ \w+ in [\d.]+s\b`), // pytest
		text.LazyRegexp(`(\d+) (?:failed|errors?)\b`),
	},
	{text.LazyRegexp(`^FAILED \(`), text.LazyRegexp(`\b(?:failures|errors)=(\d+)`)},      // unittest
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
	var seen failing
	for line := range strings.Lines(output) {
		seen.line(plain(line))
	}
	return seen.count()
}

// failing counts the tests that failed. Their number is unknown if something could not be built or the runner stopped
// early: fewer tests failed only because fewer ran.
type failing struct {
	tests   int
	unknown bool
}

func (f *failing) line(line string) {
	f.unknown = f.unknown || unbuiltLine().MatchString(line) || cutLine().MatchString(line) ||
		strings.HasSuffix(line, " failed]")
	if strings.Contains(line, "ail") || strings.Contains(line, "AIL") || strings.Contains(line, "rror") {
		f.tests += failingIn(line)
	}
}

// count returns 0 if the number is unknown.
func (f *failing) count() int {
	if f.unknown {
		return 0
	}
	return f.tests
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

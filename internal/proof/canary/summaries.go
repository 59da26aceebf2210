package canary

import (
	"regexp"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// summary matches a line in which a runner prints how many tests there were.
type summary struct {
	format string
	line   func() *regexp.Regexp
	// ran and idle match the numbers of tests in the line that ran and that did not.
	ran, idle func() *regexp.Regexp
}

var summaries = []summary{
	{"jest", text.LazyRegexp(`^Tests:\s+.*\d+ total$`), text.LazyRegexp(`(\d+) (?:passed|failed)`), nil},
	{
		"vitest", text.LazyRegexp(`^\s+Tests\s+\d+ (?:passed|failed|skipped|todo).*\(\d+\)$`),
		text.LazyRegexp(`(\d+) (?:passed|failed)`), nil,
	},
	{"mocha", text.LazyRegexp(`^  \d+ (?:passing|failing)\b`), text.LazyRegexp(`(\d+) (?:passing|failing)`), nil},
	{
		"pytest", pytestSummary,
		text.LazyRegexp(`(\d+) (?:passed|failed|xpassed)`), nil,
	},
	{"unittest", text.LazyRegexp(`^Ran \d+ tests? in `), text.LazyRegexp(`Ran (\d+)`), nil},
	{
		"unittest", text.LazyRegexp(`^(?:OK|FAILED|NO TESTS RAN) \(.*skipped=\d+.*\)$`), nil,
		text.LazyRegexp(`skipped=(\d+)`),
	},
	{"cargo", text.LazyRegexp(`^test result: \w+\. \d+ passed; `), text.LazyRegexp(`(\d+) (?:passed|failed)`), nil},
	{
		"rspec", text.LazyRegexp(`^\d+ examples?, \d+ failures?`), text.LazyRegexp(`(\d+) examples?`),
		text.LazyRegexp(`(\d+) pending`),
	},
	{
		"minitest", text.LazyRegexp(`^\d+ (?:runs|tests), \d+ assertions, `), text.LazyRegexp(`^(\d+)`),
		text.LazyRegexp(`(\d+) (?:skips|pendings|omissions)`),
	},
	{
		"maven", text.LazyRegexp(`^(?:\[\w+\]\s+)?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+$`),
		text.LazyRegexp(`run: (\d+)`), text.LazyRegexp(`Skipped: (\d+)`),
	},
	{"tap", text.LazyRegexp(`^[#ℹ] tests \d+$`), text.LazyRegexp(`(\d+)`), nil},
	{"tap", text.LazyRegexp(`^[#ℹ] (?:skipped|todo) \d+$`), nil, text.LazyRegexp(`(\d+)`)},
}

// summaryLine adds up the summaries of runners, because several may have run.
func (r *reading) summaryLine(line string) {
	if !strings.ContainsAny(line, "0123456789") {
		return
	}
	for _, s := range summaries {
		if !s.line().MatchString(line) {
			continue
		}
		r.sums[s.format] = true
		r.counted += sum(s.ran, line) - sum(s.idle, line)
		return
	}
}

func sum(find func() *regexp.Regexp, line string) int {
	if find == nil {
		return 0
	}
	total := 0
	for _, m := range find().FindAllStringSubmatch(line, -1) {
		total += parseNumber(m[1])
	}
	return total
}

// pytestSummary matches the last line of pytest, such as "2 failed, 4 subtests passed in 0.03s".
var pytestSummary = text.LazyRegexp(`^=*\s*(?:\d+ \w+(?: \w+)?, )*\d+ \w+(?: \w+)? in [\d.]+s\b`)

var (
	unbuiltLine = text.LazyRegexp(
		`errors? during collection|^_* ?ERROR collecting|error: could not compile|Test suite failed to run|` +
			`COMPILATION ERROR|Compilation failed|error TS\d+:|^\s*SyntaxError: |ERR_MODULE_NOT_FOUND|` +
			`Cannot find module|unittest\.loader\._FailedTest|^# .*\[.*\.test\]$`,
	)
	cutLine = text.LazyRegexp(`stopping after \d+ failures|^Bail out!|Exiting due to|^ERROR: Interrupted`)
)

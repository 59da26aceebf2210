package canary

import (
	"regexp"
	"strings"
)

// summary is a line in which a runner says how many tests there were.
type summary struct {
	format string
	line   func() *regexp.Regexp
	// ran and idle find the numbers of tests that ran and of those that did not inside of the line.
	ran, idle func() *regexp.Regexp
}

var summaries = []summary{
	{"jest", lazily(`^Tests:\s+.*\d+ total$`), lazily(`(\d+) (?:passed|failed)`), nil},
	{"vitest", lazily(`^\s+Tests\s+\d+ (?:passed|failed|skipped|todo).*\(\d+\)$`), lazily(`(\d+) (?:passed|failed)`), nil},
	{"mocha", lazily(`^  \d+ (?:passing|failing)\b`), lazily(`(\d+) (?:passing|failing)`), nil},
	{"pytest", lazily(`^=*\s*(?:\d+ \w+, )*\d+ \w+ in [\d.]+s\b`), lazily(`(\d+) (?:passed|failed|xpassed)`), nil},
	{"unittest", lazily(`^Ran \d+ tests? in `), lazily(`Ran (\d+)`), nil},
	{"unittest", lazily(`^(?:OK|FAILED|NO TESTS RAN) \(.*skipped=\d+.*\)$`), nil, lazily(`skipped=(\d+)`)},
	{"cargo", lazily(`^test result: \w+\. \d+ passed; `), lazily(`(\d+) (?:passed|failed)`), nil},
	{"rspec", lazily(`^\d+ examples?, \d+ failures?`), lazily(`(\d+) examples?`), lazily(`(\d+) pending`)},
	{"minitest", lazily(`^\d+ (?:runs|tests), \d+ assertions, `), lazily(`^(\d+)`), lazily(`(\d+) (?:skips|pendings|omissions)`)},
	{"maven", lazily(`^(?:\[\w+\]\s+)?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+$`), lazily(`run: (\d+)`), lazily(`Skipped: (\d+)`)},
	{"tap", lazily(`^[#ℹ] tests \d+$`), lazily(`(\d+)`), nil},
	{"tap", lazily(`^[#ℹ] (?:skipped|todo) \d+$`), nil, lazily(`(\d+)`)},
}

// summaryLine adds up what runners say about themselves: several of them may have run.
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
		total += number(m[1])
	}
	return total
}

var (
	unbuiltLine = lazily(`errors? during collection|^_* ?ERROR collecting|error: could not compile|Test suite failed to run|COMPILATION ERROR|` +
		`Compilation failed|error TS\d+:|^\s*SyntaxError: |ERR_MODULE_NOT_FOUND|Cannot find module|unittest\.loader\._FailedTest|^# .*\[.*\.test\]$`)
	cargoWent = lazily(`^error: \d+ targets? failed:`)
	cutLine   = lazily(`stopping after \d+ failures|^Bail out!|Exiting due to|^ERROR: Interrupted`)
)

// troubleLine notices that tests were not run for a reason that the runner told.
func (r *reading) troubleLine(line string) {
	r.unbuilt = r.unbuilt || unbuiltLine().MatchString(line)
	r.cut = r.cut || cutLine().MatchString(line)
	// Cargo says which target failed and ends, or, asked to go on, counts them at the end.
	switch {
	case strings.HasPrefix(line, "error: test failed, to rerun pass"):
		r.cargoCut = true
	case cargoWent().MatchString(line):
		r.cargoCut = false
	}
}

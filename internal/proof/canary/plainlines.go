package canary

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// plainLines undoes what options of [Invoke] add to the output of runners other than go test.
//
// unittest prints a line per test with -v, and a character without. The line becomes that character again. A test
// that prints to stderr without an end of line glues its text to the result; such a line stays as it is, without the
// character. If the process ends during a test, the name of that test stays, too.
//
// pytest, jest and vitest print where they wrote a report. That line is dropped.
type plainLines struct {
	unittest bool
	reports  []string

	name    string // a line that may be the name of a test, whose description comes next
	running bool   // a test was named, and its result was not printed yet
}

var (
	unittestHead = text.LazyRegexp(`^(?:  )?\S+ \([\w.<>]+\)(?: [\[(].*[\])])?$`)
	unittestTest = text.LazyRegexp(`^(?:  )?\S+ \([\w.<>]+\)(?: [\[(].*[\])])? \.\.\. (.*)$`)
	unittestDone = text.LazyRegexp(`^(ok|FAIL|ERROR|expected failure|unexpected success|skipped .*)$`)
	reportNote   = text.LazyRegexp(`generated xml file: |Test results written to: |JSON report written to `)
)

// addedReports returns the reports that a runner was asked to write, as the ends of their paths: jest prints a path
// that is relative to its folder.
func addedReports(inv Invocation) (ends []string) {
	for _, report := range inv.Reports {
		if filepath.IsAbs(report) {
			ends = append(ends, filepath.Join(filepath.Base(filepath.Dir(report)), filepath.Base(report)))
		}
	}
	return ends
}

// line returns what to print for a line with its end.
func (p *plainLines) line(line string) string {
	seen := plain(line)
	if p.isReportNote(seen) {
		return p.close()
	}
	if !p.unittest {
		return line
	}
	head := p.name
	p.name = ""
	if head != "" {
		if result, ok := afterDescription(seen); ok {
			return p.result(result)
		}
	}
	switch {
	case unittestTest().MatchString(seen):
		return head + p.result(unittestTest().FindStringSubmatch(seen)[1])
	case unittestHead().MatchString(seen):
		p.name = line
		return head
	case p.running && unittestDone().MatchString(seen):
		return head + p.result(seen)
	case strings.HasPrefix(seen, "======") || strings.HasPrefix(seen, "------"):
		p.running = false
	}
	return head + line
}

// result returns what to print for the text after the name of a test: its result, or the beginning of what it printed
// itself.
func (p *plainLines) result(after string) string {
	if m := unittestDone().FindStringSubmatch(after); m != nil {
		p.running = false
		word, _, _ := strings.Cut(m[1], " ")
		return map[string]string{
			"ok": ".", "FAIL": "F", "ERROR": "E", "expected": "x", "unexpected": "u", "skipped": "s",
		}[word]
	}
	p.running = true
	switch {
	case after == "":
		return ""
	case unittestTest().MatchString(after):
		// Before Python 3.11 a test ends without a result if one of its subtests failed.
		return p.result(unittestTest().FindStringSubmatch(after)[1])
	}
	return after + "\n"
}

// close returns a line that was held back.
func (p *plainLines) close() string {
	name := p.name
	p.name = ""
	return name
}

// afterDescription returns the text after the description of a test. The description itself may contain dots.
func afterDescription(line string) (string, bool) {
	const dots = " ... "
	if at := strings.LastIndex(line, dots); at >= 0 && unittestDone().MatchString(line[at+len(dots):]) {
		return line[at+len(dots):], true
	}
	_, after, ok := strings.Cut(line, dots)
	return after, ok
}

func (p *plainLines) isReportNote(line string) bool {
	return slices.ContainsFunc(p.reports, func(report string) bool { return strings.Contains(line, report) }) &&
		reportNote().MatchString(line)
}

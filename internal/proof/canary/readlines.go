package canary

import (
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var (
	unittestName = text.LazyRegexp(`^(test\w*) \(([\w.]+)\)(?: \.\.\. (.*))?$`)
	unittestFell = text.LazyRegexp(`^(?:FAIL|ERROR): (test\w*) \(([\w.]+)\)`)
	unittestEnd  = text.LazyRegexp(`(?:^|\.\.\. )(ok|FAIL|ERROR|expected failure|unexpected success|skipped .*)$`)
	tapResult    = text.LazyRegexp(`^( *)(not )?ok \d+ - (.*?)(?: # time=\S+)?(?: # (SKIP|TODO)\b.*)?$`)
	tapSubtest   = text.LazyRegexp(`^( *)# Subtest: (.*)$`)
	specResult   = text.LazyRegexp(`^ *([✔✓✖✗✘×﹣-]|\d+\)) (.*?)(?: \(\d+(?:\.\d+)? ?m?s\))?(?: # (SKIP|TODO).*)?$`)
	specFooter   = text.LazyRegexp(`^(?:ℹ tests \d+|  \d+ passing \(.*\)|  \d+ tests? (?:passed|failed))$`)
	// A hook is not a test, and ava prints errors after the name of a test.
	specNoTest = text.LazyRegexp(`^(?:"(?:before|after)|\[fail\]|\S*\.[cm]?[jt]sx?$)`)
	// A file that could not be loaded, or that has no test, is reported as a test with the file's
	// name.
	jsFileName  = text.LazyRegexp(`^\S*\.[cm]?[jt]sx?$`)
	cargoRuns   = text.LazyRegexp(`^\s+(?:Running (.+?)(?: \(.*[/\\](.+)-[0-9a-f]+(?:\.exe)?\))?|Doc-tests (\S+))$`)
	cargoResult = text.LazyRegexp(`^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b`)
)

// unittestLine reads the output of `python -m unittest -v`. A test with a description has its
// result on the line after its name.
func (r *reading) unittestLine(line string) {
	// What a test prints may look like its result. The list of failures at the end decides.
	if m := unittestFell().FindStringSubmatch(line); m != nil {
		if name := unittestFullName(m[1], m[2]); r.formats["unittest"] && !strings.HasPrefix(name, "unittest.loader.") {
			r.test("unittest", name, Failed)
		}
		return
	}
	if m := unittestName().FindStringSubmatch(line); m != nil {
		name := unittestFullName(m[1], m[2])
		if strings.HasPrefix(name, "unittest.loader.") {
			return // a file that could not be loaded is not a test
		}
		// A failure is repeated later as "FAIL: test_x (module.Class)"; that line does not begin
		// with the name.
		r.unittest = name
		r.test("unittest", name, Ran)
	}
	if r.unittest == "" {
		return
	}
	if m := unittestEnd().FindStringSubmatch(line); m != nil {
		state := Passed
		switch {
		case m[1] == "FAIL" || m[1] == "ERROR":
			state = Failed
		case strings.HasPrefix(m[1], "skipped") || m[1] == "expected failure":
			state = Skipped
		}
		r.test("unittest", r.unittest, state)
		r.unittest = ""
	}
}

// unittestFullName returns the whole name of a test. Python 3.11 and later print it, earlier versions print the class.
func unittestFullName(test, place string) string {
	if strings.HasSuffix(place, "."+test) {
		return place
	}
	return place + "." + test
}

// tapLine reads the Test Anything Protocol with node's nesting.
func (r *reading) tapLine(line string) {
	if m := tapSubtest().FindStringSubmatch(line); m != nil {
		depth := len(m[1]) / 4
		r.tap = append(r.tap[:min(depth, len(r.tap))], m[2])
		return
	}
	m := tapResult().FindStringSubmatch(line)
	if m == nil {
		return
	}
	above := r.tap[:min(len(m[1])/4, len(r.tap))]
	state := Passed
	switch {
	case m[4] != "":
		state = Skipped
	case m[2] != "":
		state = Failed
	}
	if !jsFileName().MatchString(m[3]) {
		r.test("tap", joinPath(above, m[3]), state)
	}
}

// specLine reads reporters for people. Only the last lines show which one it was, because jest,
// vitest and ava use the same marks for other things.
func (r *reading) specLine(line string) {
	if specFooter().MatchString(line) {
		if r.specDone {
			// the names of a second suite cannot be told from the failures that the first one
			// repeats
			r.overflow = true
		}
		for _, t := range r.spec {
			if !specNoTest().MatchString(t.name) {
				r.test("spec", strings.TrimPrefix(t.name, "[skip] "), t.state)
			}
		}
		r.spec, r.specDone = nil, true
		return
	}
	m := specResult().FindStringSubmatch(line)
	if m == nil {
		return
	}
	if m[2] == "failing tests:" || len(r.spec) >= maxNames {
		r.specDone = true
	}
	if r.specDone {
		return
	}
	state := Passed
	switch {
	case m[3] != "" || m[1] == "﹣" || m[1] == "-":
		state = Skipped
	case m[1] != "✔" && m[1] != "✓":
		state = Failed
	}
	r.spec = append(r.spec, namedState{m[2], state})
}

func joinPath(above []string, name string) string {
	return strings.Join(append(append([]string(nil), above...), name), " > ")
}

// cargoLine reads the output of `cargo test`. Cargo names the target before its tests.
func (r *reading) cargoLine(line string) {
	if m := cargoRuns().FindStringSubmatch(line); m != nil {
		r.cargo = strings.TrimSpace(m[2] + " " + m[1] + m[3])
		return
	}
	m := cargoResult().FindStringSubmatch(line)
	if m == nil {
		return
	}
	r.test(
		"cargo", strings.TrimSpace(r.cargo+" "+m[1]),
		map[string]State{"ok": Passed, "FAILED": Failed, "ignored": Skipped}[m[2]],
	)
}

func parseNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

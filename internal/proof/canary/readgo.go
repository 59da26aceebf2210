package canary

import (
	"encoding/json"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var (
	goResult  = text.LazyRegexp(`^ *--- (PASS|FAIL|SKIP): (\S+) \(`)
	goPackage = text.LazyRegexp(`^(ok|FAIL|---|\?)\s+(\S+)\s*(.*)$`)
)

// goEvent is a line of `go test -json`.
type goEvent struct{ Action, Package, ImportPath, Test, Output string }

func parseGoEvent(line string) (goEvent, bool) {
	var event goEvent
	err := json.Unmarshal([]byte(line), &event)
	return event, err == nil
}

// goEventStart returns where an event begins in a line; -1 if there is none.
func goEventStart(line string) int {
	for _, start := range []string{`{"Time":"`, `{"ImportPath":"`} {
		if at := strings.Index(line, start); at >= 0 {
			return at
		}
	}
	return -1
}

// goEvent reads a line of `go test -json`.
func (r *reading) goEvent(event goEvent) {
	states := map[string]State{"pass": Passed, "fail": Failed, "skip": Skipped, "run": Ran}
	state, ends := states[event.Action]
	switch {
	case event.Action == "build-fail":
		r.unbuilt = true
	case event.Action == "output" || event.Action == "build-output":
		if strings.Contains(event.Output, "[build failed]") || strings.Contains(event.Output, "[setup failed]") {
			r.unbuilt = true
		}
		if verdict, rest, ok := strings.Cut(event.Output, "\t"); ok && strings.HasPrefix(rest, event.Package+"\t") &&
			r.ended[event.Package] != "FAIL" {
			r.ended[event.Package] = strings.TrimSpace(verdict)
		}
		if strings.Contains(event.Output, "[no tests to run]") {
			r.packages[event.Package+" nothing"] = true
		}
	case event.Test == "" && event.Action == "pass":
		r.formats["go"] = true
		r.packages[event.Package] = !r.packages[event.Package+" nothing"]
	case event.Test != "" && ends:
		if name := event.Package + "." + event.Test; state != Ran || r.tests[name] == "" {
			r.test("go", name, state)
		}
	}
}

// goLine reads the output of `go test -v`: tests first, then the package that they belong to.
// Without -v go test names only tests that fail, so a test that was fixed since would look missing.
func (r *reading) goLine(line string) {
	if strings.HasPrefix(line, "=== RUN ") {
		r.goVerbose = true
		return
	}
	if m := goResult().FindStringSubmatch(line); m != nil {
		if len(r.goText) < maxNames {
			r.goText = append(r.goText, namedState{
				m[2], map[string]State{"PASS": Passed, "FAIL": Failed, "SKIP": Skipped}[m[1]],
			})
		}
		return
	}
	if strings.HasSuffix(line, "[build failed]") || strings.HasSuffix(line, "[setup failed]") {
		r.unbuilt = true
	}
	m := goPackage().FindStringSubmatch(line)
	if m == nil || m[1] != "ok" && m[1] != "FAIL" || !strings.Contains(line, "\t") {
		return
	}
	if r.goVerbose {
		for _, t := range r.goText {
			r.test("go", m[2]+"."+t.name, t.state)
		}
	}
	r.goText, r.goVerbose = nil, false
}

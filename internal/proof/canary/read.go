package canary

import (
	"io"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// State is the result of one test.
type State string

// The results of a test. Ran means that the end of the test was not seen.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
	Ran     State = "ran"
)

// maxNames limits the tests that an outcome names, and maxLine how much of a line is examined at
// once. The pieces of a longer line overlap, because a token may be at the seam.
const (
	maxNames = 20_000
	maxLine  = 256 << 10
	overlap  = 64
)

// Outcome is the result of one run. The zero value means that nothing is known about it.
type Outcome struct {
	Exit int
	Red  bool
	// Stopped means that a signal or its time limit ended the run, so that it did not fail by itself.
	Stopped bool
	// Tests are the tests by name, without canaries. Complete means that all of them are listed.
	Tests    map[string]State
	Complete bool
	// Total is how many tests ran, without canaries and skipped ones; -1 if unknown.
	Total int
	// Sum replaces Tests if the log does not have all of their names.
	Sum string
	// Formats are the kinds of output that names and numbers were read from.
	Formats []string
	// Unstable is how many tests have names that may differ between runs. They are not in Tests.
	Unstable int

	Planted []string // keys of all canaries
	Failing []string // keys of canaries seen failing
	Passing []string // keys of canaries seen passing
	// keys of canaries whose folder certainly ran without them
	Silent []string
	// keys of canaries that failed although their package was reported as passed
	Hidden   []string
	Literals []string        // keys of the project's own tests in which a literal was changed
	Skewed   map[string]bool // names of these tests, and what those of their sets of parameters begin with
	ByStatus bool            // only the status tells whether they failed
	// Counted is how many tests failed, canaries included, in the runner's own words; 0 if unknown. Wanted is how many
	// of them must.
	Counted, Wanted int

	Unbuilt bool // something could not be built or loaded
}

// Read makes an outcome from one run: its exit status, its output, and its reports. A [Listener] does the same while
// the run lasts.
func Read(inv Invocation, plants []Plant, exit int, output io.Reader, reports [][]byte) Outcome {
	l := &Listener{inv: inv, plants: plants, read: newReading(plants), out: &printer{to: io.Discard}}
	if output != nil {
		_, _ = io.Copy(l, output) // an outcome is made of as much as can be read
	}
	_ = l.Close() // io.Discard never fails
	return l.Outcome(exit, reports)
}

// reading is what was understood of one run so far.
type reading struct {
	canaries
	tally
	failures failureCount
	packages map[string]bool // Go packages that passed, having run tests
	// ended maps Go packages to the go command's result. FAIL wins if it printed both.
	ended map[string]string

	unbuilt bool

	pending
}

// pending holds, for each runner, what earlier lines say about the next one.
type pending struct {
	goText    []namedState // tests of a package whose name comes after them
	goVerbose bool         // all tests of that package are named
	tap       []string
	spec      []namedState
	specDone  bool
	cargo     string
	unittest  string
}

type namedState struct {
	name  string
	state State
}

func newReading(plants []Plant) *reading {
	return &reading{
		canaries: newCanaries(plants), packages: map[string]bool{}, ended: map[string]string{},
		tally: tally{
			tests:    map[string]State{},
			repeated: map[string]int{},
			formats:  map[string]bool{},
			sums:     map[string]bool{},
		},
	}
}

var escapes = text.LazyRegexp(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])`)

// plain returns a line as a person sees it: without colors, and split where a carriage return went
// back.
func plain(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if strings.IndexByte(line, '\x1b') >= 0 {
		line = escapes().ReplaceAllString(line, "")
	}
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		// Progress is overwritten, but a token in it counts.
		return line[:i] + "\n" + line[i+1:]
	}
	return line
}

// line reads one line. It returns the event of the go command that the line is, if it is one.
func (r *reading) line(line string) (goEvent, bool) {
	r.findTokens(line)
	if i := strings.LastIndexByte(line, '\n'); i >= 0 {
		line = line[i+1:]
	}
	if strings.HasPrefix(line, "{") && strings.Contains(line, `"Action":"`) {
		event, ok := parseGoEvent(line)
		if ok {
			r.goEvent(event)
		}
		return event, ok
	}
	if len(line) > 4096 {
		return goEvent{}, false
	}
	r.goLine(line)
	r.unittestLine(line)
	r.tapLine(line)
	r.specLine(line)
	r.cargoLine(line)
	r.summaryLine(line)
	r.failures.line(line)
	return goEvent{}, false
}

// test records a test by its name.
func (r *reading) test(format, name string, state State) {
	r.formats[format] = true
	if r.isCanary(name, state) {
		r.foreign++
		return
	}
	r.add(format, name, state)
}

// judge records what happened to the canaries.
func (r *reading) judge(out *Outcome, inv Invocation, plants []Plant) {
	if len(r.skewed) > 0 {
		out.Skewed = r.skewed
	}
	for _, p := range plants {
		for _, m := range p.Marks {
			out.Planted = append(out.Planted, m.Key)
			if m.ByCount {
				out.Wanted++
			}
			ecosystem, _, _ := strings.Cut(m.Key, " ")
			silent := inv.Known && inv.Runs == ecosystem && !m.Literal && !(m.Guarded && out.Red)
			if m.Scope != "" {
				silent = silent && r.packages[m.Scope]
			} else {
				silent = silent && ecosystem != "go" && !out.Red
			}
			switch {
			case m.ByStatus && out.Red:
				out.Failing, out.ByStatus = append(out.Failing, m.Key), true
			case m.ByStatus:
				out.Passing, out.ByStatus = append(out.Passing, m.Key), true
			case r.seen[m.Key]:
				out.Failing = append(out.Failing, m.Key)
				if m.Scope != "" && r.ended[m.Scope] == "ok" {
					out.Hidden = append(out.Hidden, m.Key)
				}
			case r.passing[m.Key]:
				out.Passing = append(out.Passing, m.Key)
			case silent:
				out.Silent = append(out.Silent, m.Key)
			}
			if m.Literal {
				out.Literals = append(out.Literals, m.Key)
			}
		}
	}
}

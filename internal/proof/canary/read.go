package canary

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// State is how one test fared.
type State string

// How a test can fare. One whose end was not seen has run.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
	Ran     State = "ran"
)

// maxNames bounds the tests that an outcome names, maxLine the part of a line that is looked at in one go.
const (
	maxNames = 20_000
	maxLine  = 256 << 10
)

// Outcome is what one run with canaries showed. It can be kept as JSON. The zero value is a run of which nothing is known.
type Outcome struct {
	Exit int  `json:"exit"`
	Red  bool `json:"red"`
	// Tests are the tests by name, canaries aside. Complete says that all of them are there.
	Tests    map[string]State `json:"tests,omitempty"`
	Complete bool             `json:"complete,omitempty"`
	// Total is how many tests ran, canaries and skipped ones aside; -1 if nobody said.
	Total int `json:"total"`
	// Formats are the kinds of output that names and numbers were read from.
	Formats []string `json:"formats,omitempty"`
	// Unstable is how many tests have names that may differ from one run to the next. They are not among Tests.
	Unstable int `json:"unstable,omitempty"`

	Planted []string `json:"planted,omitempty"` // keys of canaries
	Failing []string `json:"failing,omitempty"` // keys of those that were seen failing
	Passing []string `json:"passing,omitempty"` // keys of those that were seen passing
	Silent  []string `json:"silent,omitempty"`  // keys of those whose place certainly ran without them
	Hidden  []string `json:"hidden,omitempty"`  // keys of those that failed in a place that ended well all the same
	Claims  []string `json:"claims,omitempty"`  // keys, of those planted, that repeat a test of the project's own

	Unbuilt bool `json:"unbuilt,omitempty"` // something could not be built or loaded
	Cut     bool `json:"cut,omitempty"`     // the runner said that it stopped early
	Named   bool `json:"named,omitempty"`   // a planted file is mentioned
}

// Read makes an outcome of one run: its exit status, what it printed, and the reports that it left.
func Read(inv Invocation, plants []Plant, exit int, output io.Reader, reports [][]byte) Outcome {
	r := newReading(plants)
	r.lines(output)
	for _, report := range reports {
		r.report(report)
	}
	out := Outcome{Exit: exit, Red: exit != 0, Unbuilt: r.unbuilt, Cut: r.cut || r.cargoCut, Named: r.named}
	r.judge(&out, inv, plants)
	r.count(&out)
	return out
}

// Fell are tests of the project's own that failed, in order, no more than a proof names. Where the check is green without canaries, they are worth a
// second look: see [Unmask].
func (o Outcome) Fell() []string {
	var fell []string
	for name, state := range o.Tests {
		if state == Failed {
			fell = append(fell, name)
		}
	}
	slices.Sort(fell)
	return fell[:min(len(fell), maxMissing)]
}

// reading is what was understood of one run so far.
type reading struct {
	canaries
	tally
	packages map[string]bool   // Go packages that ended well, having run tests
	ended    map[string]string // Go packages, and how the go command said that they ended: FAIL counts if it said both

	unbuilt, cut, cargoCut bool

	pending
}

// pending is what lines before tell about the next one, by runner.
type pending struct {
	goText    []namedState // tests of a package whose name comes behind them
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
		tally: tally{tests: map[string]State{}, repeated: map[string]int{}, formats: map[string]bool{}, sums: map[string]bool{}},
	}
}

// lines reads everything that was printed. A line without end is read in pieces that overlap by the length of a token.
func (r *reading) lines(output io.Reader) {
	if output == nil {
		return
	}
	reader := bufio.NewReaderSize(output, maxLine)
	rest := ""
	for {
		piece, err := reader.ReadSlice('\n')
		text := rest + string(piece)
		rest = ""
		r.line(plain(text))
		if errors.Is(err, bufio.ErrBufferFull) {
			rest = text[max(0, len(text)-64):]
			continue
		}
		if err != nil {
			return
		}
	}
}

var escapes = text.LazyRegexp(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])`)

// plain is a line as a person sees it: without colours, and what was written last where a carriage return went back.
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

func (r *reading) line(line string) {
	r.look(line)
	if i := strings.LastIndexByte(line, '\n'); i >= 0 {
		line = line[i+1:]
	}
	if strings.HasPrefix(line, "{") && strings.Contains(line, `"Action":"`) {
		r.goEvent(line)
		return
	}
	if len(line) > 4096 {
		return
	}
	r.goLine(line)
	r.unittestLine(line)
	r.tapLine(line)
	r.specLine(line)
	r.cargoLine(line)
	r.summaryLine(line)
	r.troubleLine(line)
}

// test takes a test by its name.
func (r *reading) test(format, name string, state State) {
	r.formats[format] = true
	if r.own(name, state) {
		r.foreign++
		return
	}
	r.add(format, name, state)
}

// judge says what became of the canaries.
func (r *reading) judge(out *Outcome, inv Invocation, plants []Plant) {
	for _, p := range plants {
		for _, m := range p.Marks {
			out.Planted = append(out.Planted, m.Key)
			ecosystem, _, _ := strings.Cut(m.Key, " ")
			silent := inv.Known && inv.Runs == ecosystem && !m.Claims && !(m.Guarded && out.Red)
			if m.Scope != "" {
				silent = silent && r.packages[m.Scope]
			} else {
				silent = silent && ecosystem != "go" && !out.Red
			}
			switch {
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
			if m.Claims {
				out.Claims = append(out.Claims, m.Key)
			}
		}
	}
}

package canary

import (
	"strings"
)

// Limits for output that is held back until its package ends. If all packages together hold more than maxHeld,
// everything is printed, because a program that prints false events could start packages without end.
const (
	maxHeld    = 16 << 20
	maxHalf    = 256 << 10 // kept of the beginning and of the end of one package or test
	maxLast    = 4 << 10   // kept of the last line of a package
	entryBytes = 256       // about what a package or a test takes, besides its text
)

// goOutput turns the events of `go test -json` into what go test prints without -json: packages in their order; of a
// package that passed only its last line, unless -v or the lack of package arguments shows the rest; logs of tests
// that failed, below the line that says so.
//
// The events do not contain everything, so some output differs:
//
//   - With -json, text that a test prints without an end of line and its next log are one line. It is shown as printed
//     text.
//   - Text that a test writes to T.Output looks like printed text.
//   - The exit status of a test binary that printed nothing is unknown.
//   - With -v, go test prints "=== NAME" lines; events have none.
//   - Of a package that did not end, because the go command was killed, what is known is shown.
type goOutput struct {
	out            *printer
	verbose, local bool

	packages []*packageOutput          // in the order of their first events, without those that were printed
	open     map[string]*packageOutput // those that have not ended, by name
	held     int                       // about how many bytes packages hold
	failed   bool                      // a package failed, and the last line of the go command, FAIL, is due
}

func newGoOutput(inv Invocation, out *printer) *goOutput {
	return &goOutput{out: out, verbose: inv.GoVerbose, local: inv.GoLocal, open: map[string]*packageOutput{}}
}

// known reports whether the event can be one of the go command. JSON of other programs is output like any other.
func (e goEvent) known() bool {
	switch e.Action {
	case "build-output", "build-fail":
		return e.ImportPath != ""
	case "start", "run", "pause", "cont", "pass", "bench", "fail", "output", "skip", "attr", "artifacts":
		return e.Package != ""
	}
	return false
}

// other prints text that is not an event.
func (g *goOutput) other(text string) {
	if len(g.packages) == 0 {
		g.end()
	}
	g.out.printText(text)
}

func (g *goOutput) event(e goEvent) {
	if e.Action == "build-output" {
		g.out.printText(e.Output)
	}
	if e.Package == "" {
		return
	}
	p := g.find(e.Package)
	before := p.size
	switch {
	case e.Action == "output":
		p.output(e)
	case e.Action == "run" && e.Test != "":
		p.begin(e.Test)
	case p.endsWith(e):
		p.ended, p.failed = true, e.Action == "fail"
		delete(g.open, p.name)
	}
	g.held += p.size - before
	g.printEnded()
	if g.held > maxHeld {
		g.printAll()
	}
}

func (g *goOutput) find(name string) *packageOutput {
	p := g.open[name]
	if p == nil {
		p = &packageOutput{name: name, verbose: g.verbose, tests: map[string]*goTest{}, size: entryBytes + len(name)}
		g.open[name] = p
		g.packages = append(g.packages, p)
		g.held += p.size
	}
	return p
}

// printEnded prints the packages that ended. As in go test, a package waits for those before it.
func (g *goOutput) printEnded() {
	for len(g.packages) > 0 && g.packages[0].ended {
		p := g.packages[0]
		g.packages = g.packages[1:]
		g.held -= p.size
		g.failed = g.failed || p.failed
		g.out.printText(g.render(p))
	}
}

// printAll prints what is known about all packages.
func (g *goOutput) printAll() {
	for _, p := range g.packages {
		g.failed = g.failed || p.failed
		g.out.printText(g.render(p))
	}
	g.packages, g.held = nil, 0
	clear(g.open)
}

// render returns what go test prints for a package.
func (g *goOutput) render(p *packageOutput) string {
	if p.ended && !p.failed && !g.verbose && !g.local {
		return p.last
	}
	all := p.text.String()
	if p.failed && !g.verbose && !g.local && strings.HasPrefix(all, "FAIL\t"+p.name+"\t") {
		// The package printed nothing. Go gives the exit status then, but not among events.
		return "exit status other than 0\n" + all
	}
	return all
}

// end prints the last line of the go command. It is not among events.
func (g *goOutput) end() {
	if g.failed && !g.local {
		g.out.printText("FAIL\n")
	}
	g.failed = false
}

func (g *goOutput) close() {
	complete := len(g.open) == 0
	g.printAll()
	if complete {
		g.end()
	}
}

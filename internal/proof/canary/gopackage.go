package canary

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// packageOutput is the output of one package, as far as it is known.
type packageOutput struct {
	name    string
	verbose bool
	text    clipped
	last    string             // the last line, or the first part of it
	tests   map[string]*goTest // those that have not ended
	size    int                // about how many bytes it holds

	failed, ended bool
}

// goTest is a test that has not ended.
type goTest struct {
	log    clipped // what belongs below the line with its result
	logged bool    // the last piece of its output belongs there
	inLine bool    // that piece had no end of line
}

var (
	// The testing package indents logs, and the further lines of a log twice.
	goLog     = text.LazyRegexp(`^    (?:[A-Za-z]:)?[^\s:]+\.go:\d+: `)
	goUpdate  = text.LazyRegexp(`^=== (?:RUN|PAUSE|CONT|NAME|ATTR|ARTIFACTS) +(\S+)`)
	goVerdict = text.LazyRegexp(`^( *)--- (PASS|FAIL|SKIP): (\S+) \(`)
)

func (p *packageOutput) begin(test string) {
	if p.tests[test] == nil {
		p.tests[test] = &goTest{}
		p.size += entryBytes + len(test)
	}
}

// endsWith reports whether an event is the last one of the package. If the process ended by itself during a test, that
// event names the test.
func (p *packageOutput) endsWith(e goEvent) bool {
	switch e.Action {
	case "pass", "fail", "skip":
		return e.Test == "" || p.tests[e.Test] != nil && p.isResult(p.last)
	}
	return false
}

// output adds a piece of output: a line or a part of one.
func (p *packageOutput) output(e goEvent) {
	p.remember(e.Output)
	if m := goVerdict().FindStringSubmatch(e.Output); m != nil && m[3] == e.Test {
		p.verdict(e, m[1], m[2])
		return
	}
	if m := goUpdate().FindStringSubmatch(e.Output); m != nil && m[1] == e.Test && !p.verbose {
		return
	}
	test := p.tests[e.Test]
	if test == nil || p.verbose {
		p.print(e.Output)
		return
	}
	continues := test.inLine || strings.HasPrefix(e.Output, "        ")
	test.logged = goLog().MatchString(e.Output) || test.logged && continues
	test.inLine = !strings.HasSuffix(e.Output, "\n")
	if test.logged {
		p.size += test.log.add(e.Output)
	} else {
		p.print(e.Output)
	}
}

// remember keeps the last line. Of a package that passed, go test prints no other.
func (p *packageOutput) remember(piece string) {
	if p.last == "" || strings.HasSuffix(p.last, "\n") || p.isResult(piece) {
		p.last = ""
	}
	p.last += piece[:min(len(piece), max(0, maxLast-len(p.last)))]
	if strings.HasSuffix(piece, "\n") && !strings.HasSuffix(p.last, "\n") {
		p.last += "\n"
	}
}

// isResult reports whether a piece is the go command's own line about the package.
func (p *packageOutput) isResult(piece string) bool {
	return strings.HasPrefix(piece, "ok  \t"+p.name+"\t") || strings.HasPrefix(piece, "FAIL\t"+p.name+"\t")
}

func (p *packageOutput) print(piece string) {
	if p.isResult(piece) && !p.text.endsLine() {
		piece = "\n" + piece
	}
	p.size += p.text.add(piece)
}

// verdict ends a test. Its logs come below the line with its result, and both below those of the test around it. Events
// of Go 1.19 and earlier have subtests after the test around them, already indented.
func (p *packageOutput) verdict(e goEvent, indent, result string) {
	block := e.Output
	if test := p.tests[e.Test]; test != nil {
		block += indentLines(test.log.String(), indent)
		p.size -= entryBytes + len(e.Test) + test.log.size()
		delete(p.tests, e.Test)
	}
	if result != "FAIL" && !p.verbose {
		return
	}
	if around := p.around(e.Test); around != nil {
		p.size += around.log.add(indentLines(block, "    "))
		around.logged = false
		return
	}
	p.print(block)
}

// around returns the test that a subtest belongs to. The name of a subtest may contain slashes.
func (p *packageOutput) around(name string) *goTest {
	for {
		end := strings.LastIndexByte(name, '/')
		if end < 0 {
			return nil
		}
		name = name[:end]
		if test := p.tests[name]; test != nil {
			return test
		}
	}
}

func indentLines(lines, indent string) string {
	if indent == "" || lines == "" {
		return lines
	}
	var indented strings.Builder
	for line := range strings.Lines(lines) {
		indented.WriteString(indent)
		indented.WriteString(line)
	}
	return indented.String()
}

// clipped is text in bounded memory: its beginning and its end.
type clipped struct {
	head, tail []byte
	cut        int // bytes dropped between the two
}

// add appends a piece and returns how much the text grew.
func (c *clipped) add(piece string) int {
	before := c.size()
	n := min(len(piece), maxHalf-len(c.head))
	c.head = append(c.head, piece[:n]...)
	c.tail = append(c.tail, piece[n:]...)
	// Moving the bytes only when the end has doubled keeps many small pieces cheap.
	if surplus := len(c.tail) - maxHalf; surplus > maxHalf {
		c.tail = append(c.tail[:0], c.tail[surplus:]...)
		c.cut += surplus
	}
	return c.size() - before
}

func (c *clipped) size() int { return len(c.head) + len(c.tail) }

// endsLine reports whether the next piece begins a line.
func (c *clipped) endsLine() bool {
	end := c.head
	if len(c.tail) > 0 {
		end = c.tail
	}
	return len(end) == 0 || end[len(end)-1] == '\n'
}

func (c *clipped) String() string {
	if c.cut == 0 {
		return string(c.head) + string(c.tail)
	}
	return fmt.Sprintf("%s\n[ralph: %d bytes cut here]\n%s", c.head, c.cut, c.tail)
}

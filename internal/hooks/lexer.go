package hooks

import (
	"strings"
)

const (
	// nestingLimit is how deep commands are looked at inside of each other.
	nestingLimit = 60
	// arithmeticLimit is how far the end of an arithmetic expression is looked for.
	arithmeticLimit = 1000
)

// parse takes a command apart. It is no shell: what is malformed is read somehow, and never with an error.
func parse(text string) list { return parseAt(text, 0) }

func parseAt(text string, depth int) list {
	p := parser{text: text, depth: depth}
	return p.list(0)
}

// parser reads a command from left to right.
type parser struct {
	text      string
	at        int
	depth     int
	cases     int         // that are open in this list
	functions []string    // whose bodies are open; "" is a group that is none
	defining  string      // the function whose body comes next
	waiting   []*redirect // for their texts, which begin on the next line
}

// list reads commands up to a closing bracket, which is taken, or to the end.
func (p *parser) list(closing byte) list {
	cases := p.cases
	p.depth, p.cases = p.depth+1, 0
	defer func() { p.depth, p.cases = p.depth-1, cases }()
	if p.depth > nestingLimit {
		p.at = len(p.text)
		return nil
	}
	var l list
	for p.skipSeparators() {
		if p.peek() == ')' {
			p.at++
			if closing == ')' && p.cases == 0 {
				return l
			}
			continue
		}
		pipe, end := p.pipeline(closing)
		if len(pipe) > 0 {
			l = append(l, pipe)
		}
		if end == closed {
			return l
		}
	}
	return l
}

// ending is how a pipeline came to its end.
type ending int

const (
	goesOn ending = iota
	closed        // by the bracket that closes the list
)

func (p *parser) pipeline(closing byte) (pipeline, ending) {
	var pipe pipeline
	for {
		s, end := p.stage(closing)
		if len(s.words)+len(s.redirects)+len(s.group) > 0 {
			pipe = append(pipe, s)
		}
		p.skipBlanks()
		switch {
		case end == closed:
			return pipe, closed
		case p.peek() == ')' && p.cases > 0:
			// It was none, but a pattern, which ends with a bracket that nobody opened.
			p.at++
			for i := range pipe {
				pipe[i].words = append([]word{{text: "case"}}, pipe[i].words...)
			}
			return pipe, goesOn
		case p.has("||") || p.has("&&"):
			p.at += 2
			return pipe, goesOn
		case p.has("|&"):
			p.at += 2
		case p.peek() == '|':
			p.at++
		case p.peek() == '&':
			for i := range pipe {
				pipe[i].background = true
			}
			p.at++
			return pipe, goesOn
		default:
			return pipe, goesOn
		}
		p.skipSpace()
	}
}

// skipSeparators goes to the next command and reports whether there is one.
func (p *parser) skipSeparators() bool {
	for {
		p.skipSpace()
		switch p.peek() {
		case ';', '&', '|':
			p.at++
		default:
			return p.at < len(p.text)
		}
	}
}

// skipSpace skips blanks, line breaks and comments.
func (p *parser) skipSpace() {
	for {
		p.skipBlanks()
		if p.peek() != '\n' || p.at == len(p.text) {
			return
		}
		p.lineBreak()
	}
}

// lineBreak takes a line break, and the texts that begin behind it.
func (p *parser) lineBreak() {
	p.at++
	waiting := p.waiting
	p.waiting = nil
	for _, r := range waiting {
		p.hereText(r)
	}
}

// hereText reads the lines of << up to its delimiter.
func (p *parser) hereText(r *redirect) {
	var b strings.Builder
	for p.at < len(p.text) {
		l, rest, broken := strings.Cut(p.text[p.at:], "\n")
		p.at = len(p.text) - len(rest)
		if !broken {
			p.at = len(p.text)
		}
		if r.tabs {
			l = strings.TrimLeft(l, "\t")
		}
		if strings.TrimSuffix(l, "\r") == r.target.text {
			break
		}
		b.WriteString(l)
		b.WriteByte('\n')
	}
	r.body = b.String()
	if !r.target.quoted {
		inner := parser{text: r.body, depth: p.depth}
		var w wordBuilder
		inner.doubleQuoted(&w, 0)
		r.target.outputs = w.outputs
	}
}

// skipBlanks skips blanks, comments and line breaks behind a backslash.
func (p *parser) skipBlanks() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\r':
			p.at++
		case p.has("\\\n"):
			p.at += 2
		case c == '#' && (p.at == 0 || strings.IndexByte(" \t\r\n;&|()", p.text[p.at-1]) >= 0):
			if i := strings.IndexByte(p.text[p.at:], '\n'); i >= 0 {
				p.at += i
			} else {
				p.at = len(p.text)
			}
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) has(prefix string) bool { return strings.HasPrefix(p.text[p.at:], prefix) }

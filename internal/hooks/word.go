package hooks

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// wordBuilder is a word on its way.
type wordBuilder struct {
	text     strings.Builder
	outputs  []list
	fallback string
	quoted   bool
	home     bool
}

func (w *wordBuilder) word() word {
	return word{text: w.text.String(), outputs: w.outputs, fallback: w.fallback, quoted: w.quoted, home: w.home}
}

func (w *wordBuilder) output(l list) {
	w.outputs = append(w.outputs, l)
	w.text.WriteRune(outputMark)
}

func (w *wordBuilder) parameter(name string) {
	w.text.WriteRune(parameterMark)
	w.text.WriteString(name)
	w.text.WriteRune(parameterEnd)
}

// word reads up to the next blank or operator outside of quotes.
func (p *parser) word() word {
	var w wordBuilder
	if p.peek() == '~' {
		w.home = true
	}
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case p.has("<(") || p.has(">("):
			p.at += 2
			w.output(p.list(')'))
		case c == '(' && p.beginsArray(&w):
			p.array(&w)
		case strings.IndexByte(" \t\r\n;&|()<>", c) >= 0:
			return w.word()
		case c == '\\':
			p.escaped(&w)
		case c == '\'':
			w.quoted = true
			inner, rest, _ := strings.Cut(p.text[p.at+1:], "'")
			w.text.WriteString(inner)
			p.at = len(p.text) - len(rest)
		case c == '"':
			p.at++
			w.quoted = true
			p.doubleQuoted(&w, '"')
		case p.has("$'"):
			p.at += 2
			w.quoted = true
			p.escapes(&w)
		case c == '$':
			p.dollar(&w)
		case c == '`':
			p.backquoted(&w)
		default:
			w.text.WriteByte(c)
			p.at++
		}
	}
	return w.word()
}

// beginsArray reports whether a bracket belongs to the word before it: NAME=( … ), or a pattern such as @( … ).
func (p *parser) beginsArray(w *wordBuilder) bool {
	text := w.text.String()
	return text != "" && !w.quoted && strings.IndexByte("=@?*+", text[len(text)-1]) >= 0
}

// array skips the words of an array: they are no commands. What is run to make them is kept.
func (p *parser) array(w *wordBuilder) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > nestingLimit {
		p.at = len(p.text)
		return
	}
	p.at++
	for p.at < len(p.text) {
		p.skipSpace()
		before := p.at
		w.outputs = append(w.outputs, p.word().outputs...)
		switch p.peek() {
		case ')':
			p.at++
			return
		case ';', '|', '&', '<', '>', '(':
			return // it is none, and a shell goes on with the next line
		}
		if p.at == before {
			p.at = min(p.at+1, len(p.text))
		}
	}
}

// escaped takes a backslash and what it protects; a protected line break is nothing.
func (p *parser) escaped(w *wordBuilder) {
	p.at++
	if p.at == len(p.text) {
		return
	}
	_, size := utf8.DecodeRuneInString(p.text[p.at:])
	if p.text[p.at] != '\n' {
		w.quoted = true
		w.text.WriteString(p.text[p.at : p.at+size])
	}
	p.at += size
}

// doubleQuoted reads up to the closing quote, or to the end if that is 0.
func (p *parser) doubleQuoted(w *wordBuilder, end byte) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case end != 0 && c == end:
			p.at++
			return
		case c == '\\' && p.at+1 < len(p.text) && strings.IndexByte("$`\"\\\n", p.text[p.at+1]) >= 0:
			p.escaped(w)
		case c == '$':
			p.dollar(w)
		case c == '`':
			p.backquoted(w)
		default:
			w.text.WriteByte(c)
			p.at++
		}
	}
}

// dollar takes whatever a dollar begins.
func (p *parser) dollar(w *wordBuilder) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > nestingLimit {
		p.at = len(p.text)
		return
	}
	switch {
	case p.has("$((") && p.arithmetic(3):
		w.parameter("((")
	case p.has("$("):
		p.at += 2
		w.output(p.list(')'))
	case p.has("${"):
		p.at += 2
		p.braced(w)
	default:
		p.at++
		name := p.name()
		if name == "" && p.at < len(p.text) && strings.IndexByte("@*#?!$-0123456789", p.text[p.at]) >= 0 {
			name = p.text[p.at : p.at+1]
			p.at++
		}
		if name == "" {
			if c := p.peek(); c != '"' {
				w.text.WriteByte('$')
			}
			return
		}
		w.parameter(name)
	}
}

// name takes the name of a variable, if there is one.
func (p *parser) name() string {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (!isDigit(c) || p.at == from) {
			break
		}
		p.at++
	}
	return p.text[from:p.at]
}

// braced takes ${ … }: its name, and what is run inside of it.
func (p *parser) braced(w *wordBuilder) {
	var inner wordBuilder
	name := p.name()
	from := p.at
	for p.at < len(p.text) && p.text[p.at] != '}' {
		switch c := p.text[p.at]; c {
		case '\\':
			p.escaped(&inner)
		case '\'':
			_, rest, _ := strings.Cut(p.text[p.at+1:], "'")
			p.at = len(p.text) - len(rest)
		case '"':
			p.at++
			p.doubleQuoted(&inner, '"')
		case '$':
			p.dollar(&inner)
		case '`':
			p.backquoted(&inner)
		default:
			p.at++
		}
	}
	if operator := p.text[from:p.at]; strings.HasPrefix(operator, ":-") || strings.HasPrefix(operator, ":=") {
		w.fallback = operator[2:]
	}
	p.at = min(p.at+1, len(p.text))
	w.parameter(name)
	w.outputs = append(w.outputs, inner.outputs...)
}

// backquoted takes a command in backquotes.
func (p *parser) backquoted(w *wordBuilder) {
	p.at++
	var inner strings.Builder
	for p.at < len(p.text) && p.text[p.at] != '`' {
		if p.text[p.at] == '\\' && p.at+1 < len(p.text) && strings.IndexByte("`\\$", p.text[p.at+1]) >= 0 {
			p.at++
		}
		inner.WriteByte(p.text[p.at])
		p.at++
	}
	p.at = min(p.at+1, len(p.text))
	w.output(parseAt(inner.String(), p.depth))
}

// simpleEscapes are those of $' … ' that stand for one byte.
var simpleEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'e': 27, 'E': 27, 'f': '\f', 'v': '\v'}

// escapes reads the text of $' … '.
func (p *parser) escapes(w *wordBuilder) {
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == '\'':
			return
		case c != '\\' || p.at == len(p.text):
			w.text.WriteByte(c)
		default:
			p.escape(w)
		}
	}
}

// escape takes what stands behind a backslash in $' … '.
func (p *parser) escape(w *wordBuilder) {
	c := p.text[p.at]
	switch {
	case c == 'x':
		p.at++
		w.text.WriteByte(byte(p.number(2, 16)))
	case c == 'u':
		p.at++
		w.text.WriteRune(rune(p.number(4, 16)))
	case c == 'U':
		p.at++
		w.text.WriteRune(rune(p.number(8, 16)))
	case c >= '0' && c <= '7':
		w.text.WriteByte(byte(p.number(3, 8)))
	case simpleEscapes[c] != 0:
		p.at++
		w.text.WriteByte(simpleEscapes[c])
	default:
		p.at++
		w.text.WriteByte(c)
	}
}

// number takes up to so many digits.
func (p *parser) number(digits, base int) uint64 {
	var value uint64
	for n := 0; n < digits && p.at < len(p.text); n++ {
		digit, err := strconv.ParseUint(p.text[p.at:p.at+1], base, 8)
		if err != nil {
			break
		}
		value = value*uint64(base) + digit
		p.at++
	}
	return value
}

package runlog

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
)

// compact reads JSON the way encoding/json writes it: without blanks between the tokens. Whatever looks otherwise makes it odd, and the caller
// falls back on encoding/json, so that compact may know less but never anything else.
type compact struct {
	text  []byte
	at    int
	fresh bool // right behind an opening bracket
	odd   bool
}

// whole reports whether the text was read to its end and held nothing odd.
func (c *compact) whole() bool { return !c.odd && c.at == len(c.text) }

func (c *compact) peek() byte {
	if c.at >= len(c.text) {
		return 0
	}
	return c.text[c.at]
}

func (c *compact) skip(want byte) {
	if c.peek() != want {
		c.odd = true
		return
	}
	c.at++
}

// open enters an object or a list; the loop around its members asks more until it is false.
func (c *compact) open(bracket byte) {
	c.skip(bracket)
	c.fresh = true
}

func (c *compact) more(bracket byte) bool {
	if c.odd {
		return false
	}
	if c.peek() == bracket {
		c.at++
		c.fresh = false
		return false
	}
	if !c.fresh {
		c.skip(',')
	}
	c.fresh = false
	return !c.odd
}

// key reads the name of a member. Names with escapes are nobody's.
func (c *compact) key() []byte {
	start, end, escaped := c.quoted()
	c.skip(':')
	if c.odd || escaped {
		c.odd = true
		return nil
	}
	return c.text[start:end]
}

// quoted passes over a string and gives what stands between its quotation marks.
func (c *compact) quoted() (start, end int, escaped bool) {
	c.skip('"')
	start = c.at
	for i := start; i < len(c.text); i++ {
		b := c.text[i]
		if !special[b] {
			continue
		}
		if b == '"' {
			c.at = i + 1
			return start, i, escaped
		}
		if b != '\\' {
			break
		}
		escaped = true
		i++
	}
	c.odd = true
	return 0, 0, false
}

// special are the bytes that are not simply part of a string: its end, escapes, and what may not stand in one.
var special = func() (table [256]bool) {
	for b := range ' ' {
		table[b] = true
	}
	table['"'], table['\\'] = true, true
	return table
}()

func (c *compact) string() string {
	start, end, escaped := c.quoted()
	switch text := c.text[start:end]; {
	case c.odd || !utf8.Valid(text):
		c.odd = true
		return ""
	case !escaped:
		return string(text)
	default:
		return c.unescaped(text)
	}
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (c *compact) unescaped(text []byte) string {
	var out strings.Builder
	out.Grow(len(text))
	for {
		plain := bytes.IndexByte(text, '\\')
		if plain < 0 {
			out.Write(text)
			return out.String()
		}
		out.Write(text[:plain])
		mark := text[plain+1] // quoted saw to it that something follows
		text = text[plain+2:]
		if b := escapes[mark]; b != 0 {
			out.WriteByte(b)
			continue
		}
		if mark != 'u' || len(text) < 4 {
			c.odd = true
			return ""
		}
		code, err := strconv.ParseUint(string(text[:4]), 16, 16)
		if err != nil || utf16.IsSurrogate(rune(code)) {
			c.odd = true
			return ""
		}
		out.WriteRune(rune(code))
		text = text[4:]
	}
}

func (c *compact) stringPointer() *string {
	s := c.string()
	return &s
}

func (c *compact) strings() []string {
	list := []string{}
	for c.open('['); c.more(']'); {
		list = append(list, c.string())
	}
	return list
}

func (c *compact) bool() bool {
	rest := c.text[c.at:]
	switch {
	case len(rest) >= 4 && string(rest[:4]) == "true":
		c.at += 4
		return true
	case len(rest) >= 5 && string(rest[:5]) == "false":
		c.at += 5
	default:
		c.odd = true
	}
	return false
}

// integer reads a whole number of at most 18 digits, which cannot overflow.
func (c *compact) integer() int64 {
	sign := int64(1)
	if c.peek() == '-' {
		c.at++
		sign = -1
	}
	var n int64
	start := c.at
	for ; '0' <= c.peek() && c.peek() <= '9'; c.at++ {
		n = n*10 + int64(c.peek()-'0')
	}
	digits := c.at - start
	c.odd = c.odd || digits == 0 || digits > 18 || digits > 1 && c.text[start] == '0'
	return sign * n
}

// smallInteger is an integer that fits an int on every system.
func (c *compact) smallInteger() int {
	n := c.integer()
	c.odd = c.odd || n < math.MinInt32 || n > math.MaxInt32
	return int(n)
}

func (c *compact) float() float64 {
	start := c.at
	for b := c.peek(); '0' <= b && b <= '9' || b == '-' || b == '+' || b == '.' || b == 'e' || b == 'E'; b = c.peek() {
		c.at++
	}
	f, err := strconv.ParseFloat(string(c.text[start:c.at]), 64)
	c.odd = c.odd || err != nil
	return f
}

func (c *compact) span() ralph.Span { return ralph.Span(math.Round(c.float() * float64(time.Second))) }

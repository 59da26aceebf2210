package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// The standard decoder does not keep the position of a value, so this reads JSON into nodes that
// know their bytes. It is as strict as the standard.

// maxDepth is far beyond any list; it keeps a hostile file from exhausting the stack.
const maxDepth = 100

var byteOrderMark = []byte("\ufeff")

// node is one JSON value.
type node struct {
	kind       byte // '{', '[', '"', '0' for any number, 't', 'f', 'n'
	start, end int  // its bytes
	text       string
	members    []member
	elements   []*node
}

// member is one key of an object. A key that is written twice is two members.
type member struct {
	key        string
	start, end int // of the key with its quotation marks
	value      *node
}

// get returns the member of that name, or nil.
func (n *node) get(key string) *member {
	for i := range n.members {
		if n.members[i].key == key {
			return &n.members[i]
		}
	}
	return nil
}

var kindNames = map[byte]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number", 'n': "null"}

// kindName returns the kind of a value for messages.
func (n *node) kindName() string { return cmp.Or(kindNames[n.kind], "true or false") }

// syntaxError says where and why bytes are not JSON.
type syntaxError struct {
	offset int
	text   string
}

// scanJSON reads one whole document. A byte order mark is skipped.
func scanJSON(data []byte) (*node, *syntaxError) {
	s := jsonScanner{data: data}
	if bytes.HasPrefix(data, byteOrderMark) {
		s.at = len(byteOrderMark)
	}
	s.blanks()
	if s.at == len(data) {
		return nil, s.fail("the file is empty")
	}
	top, err := s.value(0)
	if err != nil {
		return nil, err
	}
	s.blanks()
	if s.at < len(data) {
		return nil, s.unexpected("after the end of the list")
	}
	return top, nil
}

type jsonScanner struct {
	data []byte
	at   int
}

func (s *jsonScanner) fail(text string) *syntaxError { return &syntaxError{offset: s.at, text: text} }

// unexpected describes the byte at the cursor, and where in the grammar it is.
func (s *jsonScanner) unexpected(where string) *syntaxError {
	if s.at >= len(s.data) {
		return s.fail("the file ends " + where)
	}
	if c := s.data[s.at]; c == '/' || c == '#' {
		return s.fail("JSON has no comments")
	}
	r, _ := utf8.DecodeRune(s.data[s.at:])
	return s.fail(fmt.Sprintf("unexpected %q %s", r, where))
}

func (s *jsonScanner) blanks() {
	for s.at < len(s.data) && strings.IndexByte(" \t\n\r", s.data[s.at]) >= 0 {
		s.at++
	}
}

// next returns the byte at the cursor, or 0 at the end.
func (s *jsonScanner) next() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

func (s *jsonScanner) value(depth int) (*node, *syntaxError) {
	if depth > maxDepth {
		return nil, s.fail(fmt.Sprintf("nested deeper than %d", maxDepth))
	}
	switch c := s.next(); {
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == '"':
		return s.string()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.data[s.at:], []byte(word)) {
			n := &node{kind: word[0], start: s.at, end: s.at + len(word)}
			s.at = n.end
			return n, nil
		}
	}
	return nil, s.unexpected("where a value was expected")
}

func (s *jsonScanner) object(depth int) (*node, *syntaxError) {
	n := &node{kind: '{', start: s.at}
	return n, s.sequence(n, '}', "in an object", func() *syntaxError {
		if s.next() != '"' {
			return s.unexpected("where a key was expected")
		}
		key, err := s.string()
		if err != nil {
			return err
		}
		s.blanks()
		if s.next() != ':' {
			return s.unexpected(fmt.Sprintf("after the key %q, where a colon was expected", key.text))
		}
		s.at++
		s.blanks()
		value, err := s.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{key: key.text, start: key.start, end: key.end, value: value})
		return nil
	})
}

func (s *jsonScanner) array(depth int) (*node, *syntaxError) {
	n := &node{kind: '[', start: s.at}
	return n, s.sequence(n, ']', "in a list", func() *syntaxError {
		value, err := s.value(depth + 1)
		if err != nil {
			return err
		}
		n.elements = append(n.elements, value)
		return nil
	})
}

// sequence reads the comma-separated parts of a node, up to the closing byte.
func (s *jsonScanner) sequence(n *node, closing byte, where string, part func() *syntaxError) *syntaxError {
	s.at++
	s.blanks()
	for s.next() != closing {
		if err := part(); err != nil {
			return err
		}
		s.blanks()
		switch s.next() {
		case closing:
			continue
		case ',':
		default:
			return s.unexpected(where + ", where a comma or " + string(rune(closing)) + " was expected")
		}
		comma := s.at
		s.at++
		s.blanks()
		if s.next() == closing {
			s.at = comma
			return s.fail("trailing comma before " + string(rune(closing)))
		}
	}
	s.at++
	n.end = s.at
	return nil
}

func (s *jsonScanner) string() (*node, *syntaxError) {
	n := &node{kind: '"', start: s.at}
	plain := true // nothing to decode and nothing to refuse: almost every text
	for s.at++; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			n.end = s.at
			return n, s.decode(n, plain)
		case c == '\n' || c == '\r':
			return nil, s.fail("the string is not closed on its line")
		case c == '\\':
			s.at++
			plain = false
		case c < ' ' || c >= utf8.RuneSelf:
			plain = false
		}
	}
	s.at = len(s.data)
	return nil, s.unexpected("inside a string")
}

// decode sets the text of a string node.
func (s *jsonScanner) decode(n *node, plain bool) *syntaxError {
	if plain {
		n.text = string(s.data[n.start+1 : n.end-1])
		return nil
	}
	if err := json.Unmarshal(s.data[n.start:n.end], &n.text); err != nil {
		s.at = n.start
		return s.fail("the string contains a control character or an invalid escape")
	}
	return nil
}

func (s *jsonScanner) number() (*node, *syntaxError) {
	n := &node{kind: '0', start: s.at}
	for s.at < len(s.data) && bytes.IndexByte([]byte("+-.eE0123456789"), s.data[s.at]) >= 0 {
		s.at++
	}
	n.end = s.at
	n.text = string(s.data[n.start:n.end])
	if !json.Valid(s.data[n.start:n.end]) {
		s.at = n.start
		return nil, s.fail(fmt.Sprintf("%s is not a number", n.text))
	}
	return n, nil
}

// lines converts offsets to line numbers.
type lines []int // the start of each line

func linesOf(data []byte) lines {
	begins := lines{0}
	for i, c := range data {
		if c == '\n' {
			begins = append(begins, i+1)
		}
	}
	return begins
}

// at returns the number of the line that contains an offset.
func (l lines) at(offset int) int { return sort.SearchInts(l, offset+1) }

// splice applies patches to data. They must be sorted by position.
func splice(data []byte, patches []patch) []byte {
	var out []byte
	at := 0
	for _, p := range patches {
		out = append(out, data[at:p.start]...)
		out = append(out, p.text...)
		at = p.end
	}
	return append(out, data[at:]...)
}

// patch replaces data[start:end] with text.
type patch struct {
	start, end int
	text       string
}

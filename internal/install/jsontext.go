package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// value is a JSON value with its place in a text. Comments and a comma after the last element are accepted,
// because people write them into settings.
type value struct {
	start, end int      // text[start:end] is the value
	open       byte     // '{' or '[' for a container, else 0
	members    []member // of a container, in order
}

// member is an element of an array, or of an object, where it has a key.
type member struct {
	key   string
	start int // of the key, or of the element
	value value
	comma int // the offset of the comma behind it, 0 if there is none
}

// document is a parsed JSON text.
type document struct {
	text []byte
	root value
}

// maxDepth limits how deeply values may be nested.
const maxDepth = 200

// parseDocument reads a text that is one JSON value. An empty text is an empty object.
func parseDocument(text []byte) (document, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	p := parser{text: text}
	root, err := p.value(0)
	if err == nil {
		if p.space(); p.at < len(text) {
			err = p.unexpected()
		}
	}
	return document{text, root}, err
}

type parser struct {
	text []byte
	at   int
}

func (p *parser) unexpected() error {
	line := 1 + bytes.Count(p.text[:min(p.at, len(p.text))], []byte("\n"))
	if p.at >= len(p.text) {
		return fmt.Errorf("line %d: the text ends too early", line)
	}
	return fmt.Errorf("line %d: unexpected %q", line, p.text[p.at])
}

// space skips white space, comments and a byte order mark.
func (p *parser) space() {
	p.at += commentsAndSpace(p.text[p.at:])
}

func commentsAndSpace(text []byte) int {
	n := 0
	for n < len(text) {
		rest := text[n:]
		switch {
		case bytes.HasPrefix(rest, []byte("\xef\xbb\xbf")):
			n += 3
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			n++
		case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")):
			n += commentLength(rest)
		default:
			return n
		}
	}
	return n
}

// commentLength returns the length of the comment at the beginning of a text, without a line break at its end; 0 if
// there is none.
func commentLength(text []byte) int {
	ends := map[string]string{"//": "\n", "/*": "*/"}
	if len(text) < 2 || ends[string(text[:2])] == "" {
		return 0
	}
	n := bytes.Index(text[2:], []byte(ends[string(text[:2])]))
	switch {
	case n < 0:
		return len(text)
	case text[1] == '*':
		n += 2
	}
	return 2 + n
}

func (p *parser) value(depth int) (value, error) {
	p.space()
	if p.at >= len(p.text) || depth > maxDepth {
		return value{}, p.unexpected()
	}
	v := value{start: p.at}
	var err error
	switch c := p.text[p.at]; c {
	case '{', '[':
		v.open = c
		v.members, err = p.members(c, depth)
	case '"':
		_, err = p.quoted()
	default:
		n := bytes.IndexAny(p.text[p.at:], ",]} \t\r\n/")
		if n < 0 {
			n = len(p.text) - p.at
		}
		if !json.Valid(p.text[p.at : p.at+n]) {
			return v, p.unexpected()
		}
		p.at += n
	}
	v.end = p.at
	return v, err
}

func (p *parser) members(open byte, depth int) ([]member, error) {
	closer := map[byte]byte{'{': '}', '[': ']'}[open]
	var all []member
	for p.at++; ; {
		p.space()
		if p.at < len(p.text) && p.text[p.at] == closer {
			p.at++
			return all, nil
		}
		m := member{start: p.at}
		if open == '{' {
			var err error
			if m.key, err = p.quoted(); err != nil {
				return nil, err
			}
			if p.space(); p.at >= len(p.text) || p.text[p.at] != ':' {
				return nil, p.unexpected()
			}
			p.at++
		}
		var err error
		if m.value, err = p.value(depth + 1); err != nil {
			return nil, err
		}
		p.space()
		switch {
		case p.at < len(p.text) && p.text[p.at] == ',':
			m.comma = p.at
			p.at++
		case p.at >= len(p.text) || p.text[p.at] != closer:
			return nil, p.unexpected()
		}
		all = append(all, m)
	}
}

func (p *parser) quoted() (string, error) {
	begin := p.at
	if begin >= len(p.text) || p.text[begin] != '"' {
		return "", p.unexpected()
	}
	for i := begin + 1; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '"':
			var s string
			if json.Unmarshal(p.text[begin:i+1], &s) != nil {
				return "", p.unexpected()
			}
			p.at = i + 1
			return s, nil
		}
	}
	p.at = len(p.text)
	return "", p.unexpected()
}

// find returns the last member with the key, as JSON readers do.
func (v value) find(key string) (value, bool) {
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].key == key {
			return v.members[i].value, true
		}
	}
	return value{}, false
}

// plain returns a value as encoding/json decodes it, except that numbers keep their text.
func (d document) plain(v value) any {
	switch v.open {
	case '{':
		object := map[string]any{}
		for _, m := range v.members {
			object[m.key] = d.plain(m.value)
		}
		return object
	case '[':
		list := []any{}
		for _, m := range v.members {
			list = append(list, d.plain(m.value))
		}
		return list
	}
	raw := d.text[v.start:v.end]
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		_ = json.Unmarshal(raw, &s) // the parser has checked it
		return s
	}
	return json.RawMessage(raw)
}

// errNotObject means that a settings file has something else where hooks belong.
var errNotObject = errors.New("hooks are not written as this version of the CLI expects them")

package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// ObjectTaker gets the JSON objects of a stream, one per line, each valid only during the call.
type ObjectTaker interface {
	// Wants reports, from the beginning of an incomplete line, whether the rest is worth keeping.
	Wants(head []byte) bool
	// Object handles one line, which may be anything.
	Object(text []byte)
	// LongObject handles the beginning of an object that is too long, completed to valid JSON, and
	// reports whether nothing that matters was lost.
	LongObject(text []byte) bool
}

// NewJSONReader reads a stream of JSON objects. In some formats and versions they come as an array
// instead.
func NewJSONReader(r *Reading, to ObjectTaker) *Lines {
	r.Structured = true
	return &Lines{To: &jsonLines{r, to}}
}

type jsonLines struct {
	*Reading
	ObjectTaker
}

func (j *jsonLines) Line(text []byte) {
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r"), []byte("[")) {
		j.Object(text)
		return
	}
	var elements []json.RawMessage
	_ = json.Unmarshal(text, &elements) // empty if it is not JSON
	for _, element := range elements {
		j.Object(element)
	}
}

func (j *jsonLines) LongLine(head []byte) {
	if !j.LongObject(Mend(head)) {
		j.Lost++
	}
}

func (j *jsonLines) LastLine(text []byte) {
	switch {
	case text != nil && len(bytes.TrimSpace(text)) == 0:
	case json.Valid(text):
		j.Line(text)
	default:
		j.Cut = true
	}
}

// Decode reads an object into a struct and reports whether it is JSON. Fields of an unexpected type
// are skipped: formats change, and one field more or less is no reason to lose an event.
func Decode(text []byte, into any) bool {
	err := json.Unmarshal(text, into)
	_, otherType := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || otherType
}

// Mend completes the beginning of an object to valid JSON: it drops what is incomplete and closes
// what is open.
func Mend(head []byte) []byte {
	var open []byte // the closing brackets of what is open
	whole := 0      // length up to a point where everything can be closed; every bracket is one
	for i := 0; i < len(head); i++ {
		switch c := head[i]; c {
		case '"':
			i = StringEnd(head, i) - 1
		case '{', '[':
			open = append(open, c+2) // the closing bracket
			whole = i + 1
		case '}', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return nil
			}
			open = open[:len(open)-1]
			whole = i + 1
		case ',':
			whole = i
		}
	}
	slices.Reverse(open)
	return append(bytes.Clone(head[:whole]), open...)
}

// Repair returns valid JSON for an object with raw control characters in its strings, a byte order
// mark before it, or something after it. An error that an agent reports must not be lost for that.
// It returns nil if there is no complete object.
func Repair(text []byte) []byte {
	plain := bytes.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, bytes.TrimPrefix(text, []byte("\ufeff")))
	var whole json.RawMessage
	if json.NewDecoder(bytes.NewReader(plain)).Decode(&whole) != nil {
		return nil
	}
	return whole
}

// StringEnd returns the end of the string that begins at a quote, or the end of the text.
func StringEnd(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		n := bytes.IndexAny(text[i:], `"\`)
		if n < 0 {
			break
		}
		if i += n; text[i] == '"' {
			return i + 1
		}
		i++ // the escaped character
	}
	return len(text)
}

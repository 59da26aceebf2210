package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// ObjectTaker gets the JSON objects of a stream, one a line, each valid only during the call.
type ObjectTaker interface {
	// Wants says, from the beginning of a line that is still coming in, whether the rest is worth keeping.
	Wants(head []byte) bool
	// Object takes one line, which may be anything.
	Object(text []byte)
	// LongObject takes the beginning of an object that is too long, mended so that it is JSON, and says whether nothing
	// was lost that matters.
	LongObject(text []byte) bool
}

// NewJSONReader reads a stream of JSON objects. In some formats and versions they come as an array instead.
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
	_ = json.Unmarshal(text, &elements) // there are none if it is no JSON
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

// Decode reads an object into a struct and says whether it is JSON. What is of another type than expected is left
// out: formats change, and one field more or less is no reason to lose an event.
func Decode(text []byte, into any) bool {
	err := json.Unmarshal(text, into)
	_, otherType := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || otherType
}

// Mend makes JSON of the beginning of an object: what is not whole is left out, and what is open is closed.
func Mend(head []byte) []byte {
	var open []byte // the closing brackets of what is open
	whole := 0      // bytes that end where something may be closed; every bracket is such a place
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

// Repair makes JSON of an object that is nearly JSON: with raw control characters in its strings, a byte order mark
// before it, or something behind it. An error that an agent reports must not be lost for that. It returns nil if there
// is no whole object.
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

// StringEnd is the end of the string that begins at a quote, or that of the text.
func StringEnd(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		n := bytes.IndexAny(text[i:], `"\`)
		if n < 0 {
			break
		}
		if i += n; text[i] == '"' {
			return i + 1
		}
		i++ // what is escaped
	}
	return len(text)
}

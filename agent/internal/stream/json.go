package stream

import (
	"bytes"
	"encoding/json"
	"errors"
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
	var open, missing []byte // closing brackets: of what is open here, and of what was open at whole
	whole := 0               // bytes that end where something may be closed
	for i := 0; i < len(head); i++ {
		switch c := head[i]; c {
		case '"':
			i = StringEnd(head, i) - 1
			continue
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
		default:
			continue
		}
		missing = append(missing[:0], open...)
	}
	mended := bytes.Clone(head[:whole])
	for i := len(missing) - 1; i >= 0; i-- {
		mended = append(mended, missing[i])
	}
	return mended
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

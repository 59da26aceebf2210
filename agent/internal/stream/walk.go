package stream

import (
	"bytes"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Walker reads one JSON text by walking over it: what nobody asks for is skipped and never decoded, so that a tool result of a megabyte costs
// little more than finding its last quote. It is lenient, as a reader of other people's formats should be: it wants the text to be balanced and
// otherwise believes it. Once bad is set it stands still.
type Walker struct {
	Text []byte
	At   int
	Bad  bool // not JSON, or cut off
}

// Fields yields the keys of the object that comes next, as they are written. A value that the loop did not take is skipped. Anything but an
// object is skipped as a whole and yields nothing.
func (w *Walker) Fields() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !w.enter('{') {
			return
		}
		for w.more('}') {
			key, ok := w.Str()
			if !ok || w.Peek() != ':' {
				w.Bad = true
				return
			}
			w.At++
			w.blanks()
			value := w.At
			if !yield(key) {
				return
			}
			if w.At == value {
				w.Skip()
			}
		}
	}
}

// Elements yields once for each element of the array that comes next, with the same rules as fields.
func (w *Walker) Elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		if !w.enter('[') {
			return
		}
		for i := 0; w.more(']'); i++ {
			value := w.At
			if !yield(i) {
				return
			}
			if w.At == value {
				w.Skip()
			}
		}
	}
}

// Raw takes the next value as it is written.
func (w *Walker) Raw() []byte {
	w.blanks()
	start := w.At
	w.Skip()
	if w.Bad {
		return nil
	}
	return w.Text[start:w.At]
}

// Str takes the next value if it is a string and gives what stands between the quotes, still escaped. Another value is skipped.
func (w *Walker) Str() ([]byte, bool) {
	if w.Peek() != '"' {
		w.Skip()
		return nil, false
	}
	start := w.At + 1
	w.SkipString()
	if w.Bad {
		return nil, false
	}
	return w.Text[start : w.At-1], true
}

// Word takes the next value as an unescaped string; "" if it is none.
func (w *Walker) Word() string {
	s, ok := w.Str()
	if !ok {
		return ""
	}
	return string(Unescape(nil, s))
}

// Number takes the next value as a number; false if it is none.
func (w *Walker) Number() (float64, bool) {
	n, err := strconv.ParseFloat(string(w.Raw()), 64)
	return n, err == nil
}

// Count takes the next value as a whole number; 0 if it is none.
func (w *Walker) Count() int64 {
	n, _ := w.Number()
	return int64(n)
}

// Truth takes the next value; false if it is anything but true.
func (w *Walker) Truth() bool { return string(w.Raw()) == "true" }

func (w *Walker) enter(open byte) bool {
	if w.Peek() != open {
		w.Skip()
		return false
	}
	w.At++
	return true
}

// more goes to the next member of the container that closing ends.
func (w *Walker) more(closing byte) bool {
	switch w.Peek() {
	case closing:
		w.At++
		return false
	case ',':
		w.At++
		w.blanks()
	}
	return !w.Bad
}

// Peek is the next byte that is no blank; 0, and bad, at the end.
func (w *Walker) Peek() byte {
	w.blanks()
	if w.Bad || w.At >= len(w.Text) {
		w.Bad = true
		return 0
	}
	return w.Text[w.At]
}

func (w *Walker) blanks() {
	for w.At < len(w.Text) {
		switch w.Text[w.At] {
		case ' ', '\t', '\r', '\n':
			w.At++
		default:
			return
		}
	}
}

// Skip goes behind the next value.
func (w *Walker) Skip() {
	switch w.Peek() {
	case '"':
		w.SkipString()
	case '{', '[':
		w.skipContainer()
	case 0, ',', ':', '}', ']':
		w.Bad = true
	default:
		w.skipScalar()
	}
}

func (w *Walker) SkipString() {
	for i := w.At + 1; ; {
		n := bytes.IndexByte(w.Text[i:], '"')
		if n < 0 {
			w.At, w.Bad = len(w.Text), true
			return
		}
		slashes := 0
		for j := i + n - 1; j > w.At && w.Text[j] == '\\'; j-- {
			slashes++
		}
		i += n + 1
		if slashes%2 == 0 {
			w.At = i
			return
		}
	}
}

func (w *Walker) skipContainer() {
	depth := 0
	for w.At < len(w.Text) {
		switch w.Text[w.At] {
		case '"':
			w.SkipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		w.At++
		if depth == 0 {
			return
		}
	}
	w.Bad = true
}

func (w *Walker) skipScalar() {
	for w.At < len(w.Text) {
		switch w.Text[w.At] {
		case ',', '}', ']', ':', '"', '{', '[', ' ', '\t', '\r', '\n':
			return
		}
		w.At++
	}
}

// Unescape appends what the inside of a JSON string stands for. An escape that makes no sense is kept as it is.
func Unescape(to, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			return append(to, s...)
		}
		to = append(to, s[:i]...)
		if s[i+1] == 'u' {
			r, used := unescapeUnicode(s[i:])
			to = utf8.AppendRune(to, r)
			s = s[i+used:]
			continue
		}
		if plain := escapes[s[i+1]]; plain != 0 {
			to = append(to, plain)
		} else {
			to = append(to, s[i:i+2]...)
		}
		s = s[i+2:]
	}
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescapeUnicode reads \uXXXX, or two of them that make one character, and says how many bytes that took.
func unescapeUnicode(s []byte) (rune, int) {
	first, ok := hexRune(s)
	if !ok {
		return utf8.RuneError, 2
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	if second, ok := hexRune(s[6:]); ok {
		if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
			return r, 12
		}
	}
	return utf8.RuneError, 6
}

func hexRune(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}

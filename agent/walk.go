package agent

import (
	"bytes"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// walker reads one JSON text by walking over it: what nobody asks for is skipped and never decoded, so that a tool result of a megabyte costs
// little more than finding its last quote. It is lenient, as a reader of other people's formats should be: it wants the text to be balanced and
// otherwise believes it. Once bad is set it stands still.
type walker struct {
	text []byte
	at   int
	bad  bool // not JSON, or cut off
}

// fields yields the keys of the object that comes next, as they are written. A value that the loop did not take is skipped. Anything but an
// object is skipped as a whole and yields nothing.
func (w *walker) fields() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !w.enter('{') {
			return
		}
		for w.more('}') {
			key, ok := w.str()
			if !ok || w.peek() != ':' {
				w.bad = true
				return
			}
			w.at++
			w.blanks()
			value := w.at
			if !yield(key) {
				return
			}
			if w.at == value {
				w.skip()
			}
		}
	}
}

// elements yields once for each element of the array that comes next, with the same rules as fields.
func (w *walker) elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		if !w.enter('[') {
			return
		}
		for i := 0; w.more(']'); i++ {
			value := w.at
			if !yield(i) {
				return
			}
			if w.at == value {
				w.skip()
			}
		}
	}
}

// raw takes the next value as it is written.
func (w *walker) raw() []byte {
	w.blanks()
	start := w.at
	w.skip()
	if w.bad {
		return nil
	}
	return w.text[start:w.at]
}

// str takes the next value if it is a string and gives what stands between the quotes, still escaped. Another value is skipped.
func (w *walker) str() ([]byte, bool) {
	if w.peek() != '"' {
		w.skip()
		return nil, false
	}
	start := w.at + 1
	w.skipString()
	if w.bad {
		return nil, false
	}
	return w.text[start : w.at-1], true
}

// word takes the next value as an unescaped string; "" if it is none.
func (w *walker) word() string {
	s, ok := w.str()
	if !ok {
		return ""
	}
	return string(unescape(nil, s))
}

// number takes the next value as a number; false if it is none.
func (w *walker) number() (float64, bool) {
	n, err := strconv.ParseFloat(string(w.raw()), 64)
	return n, err == nil
}

// count takes the next value as a whole number; 0 if it is none.
func (w *walker) count() int64 {
	n, _ := w.number()
	return int64(n)
}

// truth takes the next value; false if it is anything but true.
func (w *walker) truth() bool { return string(w.raw()) == "true" }

func (w *walker) enter(open byte) bool {
	if w.peek() != open {
		w.skip()
		return false
	}
	w.at++
	return true
}

// more goes to the next member of the container that closing ends.
func (w *walker) more(closing byte) bool {
	switch w.peek() {
	case closing:
		w.at++
		return false
	case ',':
		w.at++
		w.blanks()
	}
	return !w.bad
}

// peek is the next byte that is no blank; 0, and bad, at the end.
func (w *walker) peek() byte {
	w.blanks()
	if w.bad || w.at >= len(w.text) {
		w.bad = true
		return 0
	}
	return w.text[w.at]
}

func (w *walker) blanks() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return
		}
	}
}

// skip goes behind the next value.
func (w *walker) skip() {
	switch w.peek() {
	case '"':
		w.skipString()
	case '{', '[':
		w.skipContainer()
	case 0, ',', ':', '}', ']':
		w.bad = true
	default:
		w.skipScalar()
	}
}

func (w *walker) skipString() {
	for i := w.at + 1; ; {
		n := bytes.IndexByte(w.text[i:], '"')
		if n < 0 {
			w.at, w.bad = len(w.text), true
			return
		}
		slashes := 0
		for j := i + n - 1; j > w.at && w.text[j] == '\\'; j-- {
			slashes++
		}
		i += n + 1
		if slashes%2 == 0 {
			w.at = i
			return
		}
	}
}

func (w *walker) skipContainer() {
	depth := 0
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case '"':
			w.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		w.at++
		if depth == 0 {
			return
		}
	}
	w.bad = true
}

func (w *walker) skipScalar() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ',', '}', ']', ':', '"', '{', '[', ' ', '\t', '\r', '\n':
			return
		}
		w.at++
	}
}

// unescape appends what the inside of a JSON string stands for. An escape that makes no sense is kept as it is.
func unescape(to, s []byte) []byte {
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

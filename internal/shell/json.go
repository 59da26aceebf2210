package shell

import (
	"bytes"
	"encoding/json"
	"iter"
)

const spaces = " \t\r\n"

// members returns the names and values of an object, in their order. The text must be valid. It decodes no values: a
// call may have a whole file in one.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		rest := bytes.TrimLeft(object, spaces+"{")
		for len(rest) > 0 && rest[0] == '"' {
			end := stringEnd(rest, 0)
			var name string
			_ = json.Unmarshal(rest[:end], &name) // the text is valid
			rest = bytes.TrimLeft(rest[end:], spaces+":")
			end = valueEnd(rest)
			if !yield(name, rest[:end]) {
				return
			}
			rest = bytes.TrimLeft(rest[end:], spaces+",")
		}
	}
}

// valueEnd returns the end of the value that a text begins with.
func valueEnd(text []byte) int {
	open := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i) - 1
		case '{', '[':
			open++
		case '}', ']':
			open--
		case ',', ' ', '\t', '\r', '\n':
			if open == 0 {
				return i
			}
			continue
		default: // a number or a word goes on
			continue
		}
		switch {
		case open < 0: // the end of the object
			return i
		case open == 0:
			return i + 1
		}
	}
	return len(text)
}

// stringEnd returns the end of the string that begins at a quote, or the end of the text.
func stringEnd(text []byte, at int) int {
	for i := at + 1; ; i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			return len(text)
		}
		i += n
		escapes := len(text[at+1:i]) - len(bytes.TrimRight(text[at+1:i], `\`))
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

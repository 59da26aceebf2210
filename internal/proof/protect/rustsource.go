package protect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// rustTestsDiffer reports whether a test inside a source file was changed or removed. New ones are
// allowed.
func rustTestsDiffer(base, now []byte) bool {
	if !mayHaveRustTests(base) {
		return false
	}
	after := map[string]int{}
	for _, test := range rustTests(now) {
		after[test]++
	}
	for _, test := range rustTests(base) {
		if after[test]--; after[test] < 0 {
			return true
		}
	}
	return false
}

func mayHaveRustTests(source []byte) bool {
	return bytes.Contains(source, []byte("#[")) && bytes.Contains(source, []byte("test"))
}

// rustTests returns the test functions, each with its attributes and the names of its enclosing
// modules, without whitespace and comments. Every other item in a module of tests (imports,
// helpers) is one more entry.
func rustTests(source []byte) []string {
	tokens, _ := rustTokens(source)
	var tests []string
	collectRustTests(tokens, "", false, &tests)
	return tests
}

// collectRustTests walks the items of a module.
func collectRustTests(tokens []string, module string, inTests bool, tests *[]string) {
	for len(tokens) > 0 {
		item := rustItem(tokens)
		tokens = tokens[item.size:]
		isTest := inTests || item.test
		switch {
		case item.module != "":
			collectRustTests(item.body, module+"::"+item.module, isTest, tests)
		case isTest:
			*tests = append(*tests, module+" "+strings.Join(item.tokens, " "))
		}
	}
}

// rustPiece is one item of a module: a function, a use, a nested module.
type rustPiece struct {
	tokens []string
	size   int
	// head is how many tokens are attributes of the enclosing module, which can only be at its
	// beginning.
	head   int
	test   bool     // set by one of its attributes
	module string   // the name, if it is a module with a body
	body   []string // of the module
}

// rustItem reads one item: attributes, then up to a semicolon or the end of its first block outside
// brackets.
func rustItem(tokens []string) rustPiece {
	item := rustPiece{}
	at := 0
	for at+1 < len(tokens) && tokens[at] == "#" &&
		(tokens[at+1] == "[" || tokens[at+1] == "!" && at+2 < len(tokens) && tokens[at+2] == "[") {
		end := at + closing(tokens[at:])
		if tokens[at+1] == "!" {
			item.head = end
		}
		item.test = item.test || tokens[at+1] == "[" && rustTestAttribute(tokens[at+2:end])
		at = end
	}
	start := at
	for at < len(tokens) {
		switch tokens[at] {
		case ";":
			return item.cut(tokens, at+1)
		case "(", "[":
			at += closing(tokens[at:])
		case "{":
			end := at + closing(tokens[at:])
			if i := slices.Index(tokens[start:at], "mod"); i >= 0 && start+i+2 == at {
				item.module, item.body = tokens[at-1], tokens[at+1:max(at+1, end-1)]
			}
			if end < len(tokens) && tokens[end] == ";" {
				end++ // use a::{b}; and static A: B = B {};
			}
			return item.cut(tokens, end)
		default:
			at++
		}
	}
	return item.cut(tokens, max(at, 1))
}

func (p rustPiece) cut(tokens []string, size int) rustPiece {
	p.tokens, p.size = tokens[:size], size
	return p
}

// rustTestAttribute recognizes #[test], #[tokio::test], #[rstest], #[test_case(…)] and
// #[cfg(test)].
func rustTestAttribute(tokens []string) bool {
	path := tokens[:slices.IndexFunc(append(slices.Clone(tokens), "("), func(t string) bool {
		return t == "(" || t == "=" || t == "]"
	})]
	if len(path) == 0 {
		return false
	}
	last := path[len(path)-1]
	if path[0] == "cfg" || path[0] == "cfg_attr" {
		return slices.Contains(tokens, "test") && !slices.Contains(tokens, "not")
	}
	return last == "test" || last == "rstest" || last == "test_case" || last == "proptest" || last == "quickcheck" ||
		last == "wasm_bindgen_test"
}

// closing returns the number of tokens up to and including the bracket that closes the first one.
func closing(tokens []string) int {
	depth := 0
	for i, token := range tokens {
		switch token {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return len(tokens)
}

// rustTokens splits source into words, literals and single characters, without comments, and
// returns where each begins.
func rustTokens(source []byte) (tokens []string, starts []int) {
	text := string(source)
	for at := 0; at < len(text); {
		token, size := rustToken(text[at:])
		if token != "" {
			tokens, starts = append(tokens, token), append(starts, at)
		}
		at += size
	}
	return tokens, starts
}

var rawString = text.LazyRegexp(`^[bc]?r(#*)"`)

// rustToken reads one token, or nothing for whitespace and comments.
func rustToken(s string) (token string, size int) {
	switch c := s[0]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return "", 1
	case strings.HasPrefix(s, "//"):
		line, _, _ := strings.Cut(s, "\n")
		return "", len(line)
	case strings.HasPrefix(s, "/*"):
		return "", blockComment(s)
	case c == '"':
		_, n := quotedText(s)
		return s[:n], n
	case c == '\'':
		n := rustQuote(s)
		return s[:n], n
	case (c == 'r' || c == 'b' || c == 'c') && rawString().MatchString(s):
		match := rawString().FindStringSubmatch(s)
		end := strings.Index(s[len(match[0]):], `"`+match[1])
		if end < 0 {
			return s, len(s)
		}
		n := len(match[0]) + end + 1 + len(match[1])
		return s[:n], n
	case wordByte(c):
		n := 1
		for n < len(s) && wordByte(s[n]) {
			n++
		}
		return s[:n], n
	}
	return s[:1], 1
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// blockComment returns the length of a comment; comments nest.
func blockComment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// rustQuote returns the length of a character literal, or of the quote of a lifetime.
func rustQuote(s string) int {
	if strings.HasPrefix(s, `'\`) {
		if end := strings.IndexByte(s[min(3, len(s)):], '\''); end >= 0 && end < 12 {
			return 3 + end + 1
		}
		return 1
	}
	for _, width := range []int{1, 2, 3, 4} {
		if len(s) > width+1 && s[width+1] == '\'' && s[1] != '\'' && (width == 1 || s[1] >= 0x80) {
			return width + 2
		}
	}
	return 1
}

package protect

import (
	"bytes"
	"path"
	"strings"
)

// WithOldTests returns the current file with its inner tests as they were at the base. It is for
// source files in Sorted.Tests: restoring the whole file would also undo the product code, and
// every old test would fail for that reason alone. ok is false if the whole file must be restored
// or left out.
func WithOldTests(name string, base, now []byte) (blend []byte, ok bool) {
	if path.Ext(name) != ".rs" || testName(name) || len(base) == 0 || len(now) == 0 || len(base) >= Limit ||
		len(now) >= Limit {
		return nil, false
	}
	_, old := splitRustTests(base)
	product, _ := splitRustTests(now)
	if len(old) == 0 {
		return nil, false // they are nested deeper, where they cannot be put back
	}
	blend = append(blend, product...)
	if !bytes.HasSuffix(blend, []byte("\n")) {
		blend = append(blend, '\n')
	}
	return append(blend, old...), true
}

// splitRustTests separates the tests from a source file: the items that are tests by their own
// attributes. Their order does not matter to the language.
func splitRustTests(source []byte) (product, tests []byte) {
	tokens, starts := rustTokens(source)
	kept := 0
	for at := 0; at < len(tokens); {
		item := rustItem(tokens[at:])
		first, next := at+item.head, at+item.size
		at = next
		if !item.test || first >= next {
			continue
		}
		last := starts[next-1] + len(tokens[next-1])
		begin := beforeComments(source, kept, starts[first])
		product = append(product, source[kept:begin]...)
		tests = append(append(tests, source[begin:last]...), '\n')
		kept = last
	}
	return append(product, source[kept:]...), tests
}

// beforeComments moves back over the comment lines that belong to an item: documentation without an
// item is an error.
func beforeComments(source []byte, from, at int) int {
	for {
		start := bytes.LastIndexByte(source[:at], '\n') + 1
		if start <= from || len(bytes.TrimSpace(source[start:at])) > 0 {
			return at
		}
		above := bytes.LastIndexByte(source[:start-1], '\n') + 1
		line := strings.TrimSpace(string(source[above : start-1]))
		if above < from || !strings.HasPrefix(line, "//") || strings.HasPrefix(line, "//!") {
			return at
		}
		at = above
	}
}

package promise_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ralphloop/ralph/promise"
)

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " \n ": "", " a\n\t b\x1b[31m ": "a b[31m", "a\u2028b\u0085c": "a b c", "a\u202eb\ufeff": "ab",
		"\xff\x00ok\ufffd": "ok",
		"abcdefghij":       "abcdefghij", "abcdefghij \n": "abcdefghij", "abcdefghijk": "abcdefghij…",
		"abcdefgh ij": "abcdefgh i…", "abcdefghi jk": "abcdefghi…", "ääääääääää": "ääääääääää",
	} {
		if got := promise.OneLine(in, 10); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzOneLine(f *testing.F) {
	for _, seed := range []string{
		"", "a b", " a\n\nb ", "\x1b]0;x\x07", "\xff\xfe", "ä\u202e", strings.Repeat("long ", 50),
	} {
		f.Add(seed, 7)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(max(limit, 1), 1000)
		line := promise.OneLine(text, limit)
		body := strings.TrimSuffix(line, "…")
		switch {
		case !utf8.ValidString(line), strings.ContainsAny(line, "\n\r\t\x1b\x00"), strings.TrimSpace(body) != body,
			strings.Contains(body, "  "):
			t.Errorf("%q is not one plain line", line)
		case utf8.RuneCountInString(line) > limit+1:
			t.Errorf("%q has more than %d characters", line, limit)
		case promise.OneLine(line, limit+1) != line:
			t.Errorf("%q is changed when it is made again", line)
		}
	})
}

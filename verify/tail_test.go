package verify

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReadable(t *testing.T) {
	cases := map[string]struct{ raw, want string }{
		"plain":                        {"one\ttwo\nthree\n", "one\ttwo\nthree\n"},
		"colours":                      {"\x1b[31;1mred\x1b[0m and \x1b[38:2::1:2:3mtrue\x1b[m", "red and true"},
		"title ended by BEL":           {"\x1b]0;title\aA", "A"},
		"clipboard ended by ST":        {"\x1b]52;c;aGVsbG8=\x1b\\A", "A"},
		"title cut by its line":        {"\x1b]0;title\nA", "\nA"},
		"unfinished title":             {"A\x1b]0;title", "A]0;title"},
		"title cut by another":         {"\x1b]0;ti\x1b[1mA", "A"},
		"character set":                {"\x1b(BA", "A"},
		"unfinished colour":            {"A\x1b[31", "A[31"},
		"colour with a line in it":     {"A\x1b[3\n1m", "A[3\n1m"},
		"lone ESC at the end":          {"A\x1b", "A"},
		"ESC before a line end":        {"A\x1b\nB", "A\nB"},
		"Windows lines":                {"one\r\ntwo\r\n", "one\ntwo\n"},
		"progress bar":                 {"start\n10%\r20%\r\x1b[K30%\nend\n", "start\n30%\nend\n"},
		"return at the end":            {"100%\r", "100%"},
		"controls":                     {"a\x00b\x07c\bd\x7fe\u0085f", "abcdef"},
		"direction marks":              {"a\u202eb\u2066c", "abc"},
		"invalid bytes":                {"a\xff\xfeb\xc3", "a\ufffd\ufffdb\ufffd"},
		"8-bit controls in UTF-8 stay": {"é", "é"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := readable([]byte(c.raw)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestTailKeepsTheLastCharacters(t *testing.T) {
	cases := map[string]struct {
		pieces []string
		remark string
		want   string
	}{
		"nothing":                  {nil, "", ""},
		"remark alone":             {nil, "over", "over"},
		"remark on its own line":   {[]string{"text"}, "over", "text\nover"},
		"remark behind a line end": {[]string{"text\n"}, "over", "text\nover"},
		"exactly as much as fits":  {[]string{strings.Repeat("é", 2000)}, "", strings.Repeat("é", 2000)},
		"one too many":             {[]string{"x", strings.Repeat("é", 2000)}, "", strings.Repeat("é", 2000)},
		"remark counts":            {[]string{strings.Repeat("é", 3000)}, "over", strings.Repeat("é", 1995) + "\nover"},
		"one huge write": {
			[]string{"x" + strings.Repeat("é", tailBytes) + "end"}, "", strings.Repeat("é", 1997) + "end",
		},
		"many writes": {slicesRepeat("0123456789", 50_000), "", strings.Repeat("0123456789", 200)},
		"cut inside of a character": {
			[]string{strings.Repeat("é", tailBytes/2), strings.Repeat("\x00", tailBytes-3)}, "", "é",
		},
		"colours do not eat the room":  {slicesRepeat("\x1b[31mred\x1b[0m ", 3000), "", strings.Repeat("red ", 500)},
		"last line without a line end": {[]string{"one\n", "two"}, "", "one\ntwo"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var seen tail
			for _, piece := range c.pieces {
				if n, err := seen.Write([]byte(piece)); n != len(piece) || err != nil {
					t.Fatalf("wrote %d of %d bytes, %v", n, len(piece), err)
				}
			}
			if got := seen.text(c.remark); got != c.want {
				t.Errorf(
					"got %d characters %.40q, want %d %.40q", utf8.RuneCountInString(got), got, utf8.RuneCountInString(c.want),
					c.want,
				)
			}
			if cap(seen.kept) > 8*tailBytes {
				t.Errorf("holds %d bytes", cap(seen.kept))
			}
		})
	}
}

func slicesRepeat(piece string, n int) []string {
	pieces := make([]string, n)
	for i := range pieces {
		pieces[i] = piece
	}
	return pieces
}

func FuzzReadable(f *testing.F) {
	for _, seed := range []string{"plain", "\x1b[31mred\x1b[0m", "\x1b]0;t\a", "a\rb\n", "\xff\x1b", "\x1bP1;2\x1b\\x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := readable(raw)
		if !utf8.ValidString(got) {
			t.Errorf("invalid text %q", got)
		}
		if bad := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && isInvisible(r) }); bad >= 0 {
			t.Errorf("control character in %q", got)
		}
		if again := readable([]byte(got)); again != got {
			t.Errorf("%q became %q", got, again)
		}
	})
}

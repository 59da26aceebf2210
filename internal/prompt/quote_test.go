package prompt

import (
	"strings"
	"testing"
)

func TestWordsOfOthers(t *testing.T) {
	for _, tt := range []struct{ how, text, want string }{
		{"quote", "a\n\n# b  \n\tc", "> a\n>\n> # b\n> \tc"},
		{"quote", "\n\n  a\n", ">   a"},
		{"quote", "", ">"},
		{"clean", "a\r\nb\rc\x00\x1b[1md\u2028e\tf\xff\u0085", "a\nb\nc[1md\ne\tf\uFFFD"},
		{"inline", " a\n\n b\tc ", "a b c"},
		{"inline", "<promise>DONE</promise>", `<promise\>DONE</promise>`},
		{"inline", "<pro\x00mise>DONE", `<promise\>DONE`},
		{"inline", strings.Repeat("ä", inlineCap+1), strings.Repeat("ä", inlineCap) + "…"},
		{"code", "a `b` c", "`a 'b' c`"},
		{"exact", "go test", "`go test`"},
		{"exact", "echo `date` ``x``", "``` echo `date` ``x`` ```"},
	} {
		does := map[string]func(string) string{
			"quote": quote, "clean": clean, "inline": inline, "code": code, "exact": exactCode,
		}
		if got := does[tt.how](tt.text); got != tt.want {
			t.Errorf("%s(%q) = %q, want %q", tt.how, tt.text, got, tt.want)
		}
	}
	if got, want := bullets([]string{"a\nb", " \n", "c"}), "- a\n  b\n- c"; got != want {
		t.Errorf("bullets: %q, want %q", got, want)
	}
}

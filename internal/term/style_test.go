package term

import (
	"testing"
	"time"

	"github.com/ralphloop/ralph"
)

func TestClean(t *testing.T) {
	cases := map[string]string{
		"plain":                         "plain",
		"  two\tlines\r\nof text \n":    "two lines  of text",
		"\x1b[31mred\x1b[0m":            "[31mred[0m",
		"\x1b]0;title\a":                "]0;title",
		"a\x00b\x7fc\u009bd":            "abcd",
		"right\u202eto\u2066left\u200b": "righttoleft",
		"\ufeffmark":                    "mark",
		"not \xff utf-8 \xed\xa0\x80":   "not \ufffd utf-8 \ufffd",
		"漢字 é":                          "漢字 é",
	}
	for in, want := range cases {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	cases := []struct{ name, got, want string }{
		{"shorten: fits", Shorten("twelve chars", 12), "twelve chars"},
		{"shorten: cut", Shorten("twelve chars", 7), "twelve…"},
		{"shorten: by characters", Shorten("äöüß", 3), "äö…"},
		{"shorten: no room", Shorten("text", 1), "text"},
		{"clock: seconds", Clock(9 * time.Second), "0:09"},
		{"clock: minutes", Clock(75*time.Minute + 4*time.Second), "1:15:04"},
		{"clock: parts of a second", Clock(59*time.Second + 999*time.Millisecond), "0:59"},
		{"seconds: short", Seconds(ralph.Span(1540 * time.Millisecond)), "1.5s"},
		{"seconds: long", Seconds(ralph.Span(90 * time.Second)), "1m30s"},
		{"money", Money(1.005, false), "$1.005"},
		{"money, reckoned", Money(12, true), "~$12.00"},
		{"one", Count(1, "process"), "1 process"},
		{"none", Count(0, "iteration"), "0 iterations"},
		{"two ending in s", Count(2, "process"), "2 processes"},
		{"no colour", Style{}.Red("x"), "x"},
		{"colour", Style{Color: true}.Red("x"), "\x1b[31mx\x1b[0m"},
		{"colour of nothing", Style{Color: true}.Bold(""), ""},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1.0 KB", 86_016: "86.0 KB", 1_550_000: "1.6 MB", 3e12: "3.0 TB",
	} {
		if got := Size(bytes); got != want {
			t.Errorf("%d: got %s, want %s", bytes, got, want)
		}
	}
}

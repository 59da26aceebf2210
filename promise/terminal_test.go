package promise

import (
	"strings"
	"testing"
)

// textCollector is a sink that keeps all text.
type textCollector struct{ strings.Builder }

func (c *textCollector) text(p []byte) { c.Write(p) }
func (c *textCollector) endMessage()   { c.WriteByte('|') }

func cleaned(raw string) string {
	var out textCollector
	c := terminalCleaner{next: &out}
	c.text([]byte(raw))
	c.endMessage()
	return strings.TrimSuffix(out.String(), "|")
}

func TestTerminalSequences(t *testing.T) {
	long := strings.Repeat("x", maxStringSequence)
	for _, c := range []struct{ name, raw, want string }{
		{"raw CSI", "a\x9b1;31mb", "ab"},
		{"raw OSC ends at raw ST", "a\x9d0;t\x9cb", "ab"},
		{"raw DCS ends at ST", "a\x90q\x1b\\b", "ab"},
		{"raw SOS, PM and APC", "a\x98x\x07b\x9ex\x07c\x9fx\x07d", "abcd"},
		{"other raw C1 and a lone ST", "a\x85\x9cb", "ab"},
		{"raw CSI cut off", "a\x9b31", "a31"},
		{"raw OSC cut off", "a\x9d0;t", "a0;t"},
		{"C1 bytes as parts of characters", "“\u009b1m”", "“\u009b1m”"},
		{"ST as part of a character does not end a string", "a\x1b]0;“Ü”\x07b", "ab"},
		{"malformed bytes", "a\xffb\xc3(", "a\uFFFDb\uFFFD("},
		{"malformed bytes in an unfinished string", "\x1b]\xff\x85\xe2", "]\uFFFD\uFFFD"},
		{"a character cut off by the end", "a\xe2\x80", "a\uFFFD"},
		{"a character cut off by CR", "a\xe2\r\x80\x9cb", "a\uFFFDb"},
		{"CR inside sequences", "a\x1b\r[\r3\r1m\rb\x1b]\r0\x1b\r\\c", "abc"},
		{"ESC inside a string", "\x1b]a\x1bb\x1b\x1b\\c", "c"},
		{"ESC before a string's end", "\x1b]a\x1b\x07c", "c"},
		{"ESC before a string's line end", "\x1b]a\x1b\nc", "\nc"},
		{"ESC inside CSI", "\x1b[3\x1b[1mc", "[3c"},
		{"CSI broken by a character", "\x1b[3é", "[3é"},
		{"CSI broken by a malformed byte", "\x1b[3\xff", "[3\uFFFD"},
		{"CSI with intermediates", "\x1b[4 qa", "a"},
		{"CSI too long", "\x1b[" + strings.Repeat("1", maxShortSequence) + "ma",
			"[" + strings.Repeat("1", maxShortSequence) + "ma"},
		{"intermediates broken", "\x1b(\n", "(\n"},
		{"ESC before DEL", "\x1b\x7f", "\x7f"},
		{"ESC at the end", "a\x1b", "a"},
		{"ESC at the end of an unfinished string", "\x1b]a\x1b", "]a"},
		{"escapes inside an unfinished string", "\x1b]a\x1b7b\x1b(Bc\x9b1md\x90e", "]abcde"},
		{"a long string that ends", "\x1b]" + long + "é\x1b\\a", "a"},
		{"a long string that does not end", "a\x1b]" + long + long, "a"},
		{"a long string on a line", "\x1b]" + long + "\na", "\na"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := cleaned(c.raw); got != c.want {
				t.Errorf("cleaned(%q) = %q, want %q", c.raw, got, c.want)
			}
			var out textCollector
			bytewise := terminalCleaner{next: &out}
			for i := range len(c.raw) {
				bytewise.text([]byte{c.raw[i]})
			}
			bytewise.endMessage()
			if got := strings.TrimSuffix(out.String(), "|"); got != c.want {
				t.Errorf("byte by byte %q becomes %q, want %q", c.raw, got, c.want)
			}
		})
	}
}

package promise

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tokens are pieces that are special to one stage or another. Random sequences of them reach states
// that no hand-written case covers.
var tokens = []string{
	"<promise>", "</promise>", "<promise>", "</promise>", "COMPLETE", "BLOCKED:", "DECIDE", "T-1:DONE", "<", "</", "prom",
	"\n", "\n", "\n", " ", " ", "\t", "\r", "> ", "- ", "1. ", "`", "``", "```", "~~~", "````", "\"", "“", "’", "\\",
	"if", "not", "don't", "word", "_", "é", "世", ".", "?", ":", "all", "done", "no remaining work",
	"\x1b", "\x1b[", "\x1b]", "\x1bP", "1;2m", "\x07", "\x18", "\x1b\\", "\x9b", "\x9d", "\x9c", "\xe2", "\x80", "\xff",
	"\x00", "<think>", "</think>", "<thinking>", "</thinking>", "think>", "/th",
	blockBegins + "\n", blockEnds + "\n", "STATUS: COMPLETE\n", "EXIT_SIGNAL: true\n", validBlock,
	strings.Repeat(" ", maxLine/2), strings.Repeat("x", maxPending/2), strings.Repeat("y ", maxStringSequence/3),
	strings.Repeat("<promise>T-2:DONE</promise>", 400),
}

func TestRandomTokens(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	row := func(n int) string {
		var b strings.Builder
		for range n {
			// The long tokens at the end are rare because they take most of the time.
			b.WriteString(tokens[random.IntN(len(tokens)-4*min(random.IntN(5), 1))])
		}
		return b.String()
	}
	for range 1500 {
		text := row(1 + random.IntN(40))
		o := Options{}
		if random.IntN(3) == 0 {
			start := random.IntN(len(text))
			o.Prompt = text[start : start+random.IntN(len(text)-start+1)]
		}
		whole := readWhole(o, []string{text})
		checkBounds(t, whole)
		checkRoundTrip(t, whole)
		split := readPieces(o, []string{text}, func(left int) int { return 1 + random.IntN(min(left, 1+len(text)/20)) })
		if diff := cmp.Diff(whole, split); diff != "" {
			t.Fatalf("%q with prompt %q (-whole +split):\n%s", text, o.Prompt, diff)
		}
	}
}

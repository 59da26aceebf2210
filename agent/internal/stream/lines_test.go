package stream

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lineLog records what it is given.
type lineLog struct {
	got  []string
	deaf bool
}

func (l *lineLog) Wants([]byte) bool    { return !l.deaf }
func (l *lineLog) Line(text []byte)     { l.got = append(l.got, "line "+short(text)) }
func (l *lineLog) LongLine(head []byte) { l.got = append(l.got, "long "+short(head)) }
func (l *lineLog) LastLine(text []byte) { l.got = append(l.got, "last "+short(text)) }

func short(text []byte) string {
	if len(text) > 20 {
		return fmt.Sprintf("%s… %d", text[:3], len(text))
	}
	return string(text)
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	head := strings.Repeat("y", HeadSize)
	cases := []struct {
		name, text string
		deaf       bool
		want       []string
	}{
		{"whole lines", "a\nb\r\n\nc\n", false, []string{"line a", "line b\r", "line ", "line c"}},
		{"a last line without an end", "a\nb", false, []string{"line a", "last b"}},
		{"as long as allowed", long + "\nb\n", false, []string{"line xxx… 4194304", "line b"}},
		{"too long", long + "x\nb\n", false, []string{"long xxx… 4194304", "line b"}},
		{"much too long", long + long + long + "\nb\n", false, []string{"long xxx… 4194304", "line b"}},
		{"too long and unfinished", long + "x", false, []string{"long xxx… 4194304", "last "}},
		{"unwanted and unfinished", head, true, []string{"last "}},
	}
	for _, c := range cases {
		for _, piece := range []int{1 << 20, 32 << 10, 1 << 30} {
			t.Run(fmt.Sprintf("%s in pieces of %d", c.name, piece), func(t *testing.T) {
				log := &lineLog{deaf: c.deaf}
				l := &Lines{To: log}
				for rest := c.text; rest != ""; {
					n := min(piece, len(rest))
					_, _ = l.Write([]byte(rest[:n]))
					rest = rest[n:]
				}
				l.Close()
				want := append([]string(nil), c.want...)
				var got []string
				for _, line := range log.got { // an empty line may or may not be passed on
					if line != "line " {
						got = append(got, line)
					}
				}
				want = without(want, "line ")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		}
	}
}

func without(list []string, drop string) []string {
	var kept []string
	for _, s := range list {
		if s != drop {
			kept = append(kept, s)
		}
	}
	return kept
}

func TestUnwantedLinesAreNotKept(t *testing.T) {
	l := &Lines{To: &lineLog{deaf: true}}
	for range 1000 {
		_, _ = l.Write([]byte(strings.Repeat("z", HeadSize)))
	}
	if cap(l.held) > 4*HeadSize {
		t.Errorf("%d bytes are kept of a line that nobody wants", cap(l.held))
	}
}

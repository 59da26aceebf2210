//go:build linux

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// gap measures the time in which no agent works.
func (b *bench) gap() {
	ours, theirs := b.stamper("at work"), b.stamper("at work")
	loop := start(b.T, "loop", task{Dir: b.TempDir(), State: b.TempDir(), Agent: ours.command})
	bare := start(b.T, "bare loop", task{Dir: b.TempDir(), Agent: theirs.command})
	var values, floors []float64
	for range b.rounds {
		loop.play(b.T, b.iterations)
		bare.play(b.T, b.iterations)
		values, floors = append(values, ours.gaps(b.T)...), append(floors, theirs.gaps(b.T)...)
	}
	b.add(row{
		What: "gap between an agent's end and the next one's start (wall)", Unit: "ms", Value: median(values),
		Floor: median(floors),
		Of:    "bare Go loop, same sh -c", Note: "no sleep is in it; what the loop adds is mostly the wait for two fsync",
	})
}

// stamper is an agent that records when it ran.
type stamper struct {
	file    string
	command string
}

func (b *bench) stamper(says ...string) *stamper {
	file := filepath.Join(b.TempDir(), "stamps")
	return &stamper{file: file, command: strings.Join(append([]string{b.stamp, file}, says...), " ")}
}

// span is when an agent ran.
type span struct{ start, end time.Time }

// take returns the recorded times and clears them.
func (s *stamper) take(t *testing.T) []span {
	t.Helper()
	text, err := os.ReadFile(s.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(s.file); err != nil {
		t.Fatal(err)
	}
	var spans []span
	for line := range strings.Lines(string(text)) {
		var start, end int64
		if _, err := fmt.Sscan(line, &start, &end); err != nil {
			t.Fatalf("read stamp %q: %v", line, err)
		}
		spans = append(spans, span{time.Unix(0, start), time.Unix(0, end)})
	}
	return spans
}

// gaps returns the times between agents, in milliseconds.
func (s *stamper) gaps(t *testing.T) []float64 {
	t.Helper()
	var gaps []float64
	spans := s.take(t)
	for i := 1; i < len(spans); i++ {
		gaps = append(gaps, milliseconds(spans[i].start.Sub(spans[i-1].end)))
	}
	return gaps
}

package ralph

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Span is a length of time that is written to JSON as a number of seconds.
type Span time.Duration

// Duration gives the span as the standard library's type.
func (s Span) Duration() time.Duration { return time.Duration(s) }

// Seconds gives the span as a number of seconds.
func (s Span) Seconds() float64 { return time.Duration(s).Seconds() }

// String is the span as the standard library writes it, such as 1m30s.
func (s Span) String() string { return time.Duration(s).String() }

// Rounded is the span with the precision that the log keeps. What is decided by must be kept, or a replay would decide otherwise.
func (s Span) Rounded() Span { return Span(s.Duration().Round(time.Millisecond)) }

// Short is the span for people, with no more digits than they read: 1.2s, 3m, 1h5m.
func (s Span) Short() string {
	d := s.Duration()
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalJSON writes seconds with millisecond precision.
func (s Span) MarshalJSON() ([]byte, error) {
	ms := time.Duration(s).Round(time.Millisecond).Milliseconds()
	if ms%1000 == 0 {
		return fmt.Appendf(nil, "%d", ms/1000), nil
	}
	return json.Marshal(float64(ms) / 1000)
}

// UnmarshalJSON reads seconds.
func (s *Span) UnmarshalJSON(data []byte) error {
	seconds, err := strconv.ParseFloat(string(data), 64) // every event of a log has a span: no second decoder for each
	if err != nil {
		if err := json.Unmarshal(data, &seconds); err != nil {
			return fmt.Errorf("read span: %w", err)
		}
	}
	*s = Span(math.Round(seconds * float64(time.Second)))
	return nil
}

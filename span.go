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

// Duration returns the span as a time.Duration.
func (s Span) Duration() time.Duration { return time.Duration(s) }

// Seconds returns the span as a number of seconds.
func (s Span) Seconds() float64 { return time.Duration(s).Seconds() }

// String formats the span like time.Duration, such as 1m30s.
func (s Span) String() string { return time.Duration(s).String() }

// Rounded rounds the span to the precision of the log. Decisions must use recorded values, or a replay
// would decide differently.
func (s Span) Rounded() Span { return Span(s.Duration().Round(time.Millisecond)) }

// Short formats the span for people, with few digits: 1.2s, 3m, 1h5m.
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
	// Logs hold many spans, and ParseFloat is cheaper than a second JSON decoder for each.
	seconds, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		if err := json.Unmarshal(data, &seconds); err != nil {
			return fmt.Errorf("read span: %w", err)
		}
	}
	*s = Span(math.Round(seconds * float64(time.Second)))
	return nil
}

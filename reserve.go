package ralph

import (
	"fmt"
	"strconv"
)

// UsageWindow is one of the windows in which a subscription limits its use, as an agent reported it.
type UsageWindow struct {
	Name   string  `json:"name"`             // such as 5h or week
	Used   float64 `json:"used"`             // the part that is used up: 1 for all of it
	Resets Span    `json:"resets,omitempty"` // time until it resets, if known
}

// WindowName names a window of that many minutes.
func WindowName(minutes int64) string {
	const hour, day, week = 60, 24 * 60, 7 * 24 * 60
	switch {
	case minutes == week:
		return "week"
	case minutes > 0 && minutes%day == 0:
		return strconv.FormatInt(minutes/day, 10) + "d"
	case minutes > 0 && minutes%hour == 0:
		return strconv.FormatInt(minutes/hour, 10) + "h"
	}
	return strconv.FormatInt(minutes, 10) + "m"
}

// Reserve is the part of a window that a run leaves to the owner of the subscription.
type Reserve struct {
	Window string  `json:"window"`
	Part   float64 `json:"part"` // 0.2 for a fifth
}

// Reached returns the first window of which less than its reserve is left, and says so in words that
// complete "stopped at". ok is false if there is none.
func Reached(reserves []Reserve, windows []UsageWindow) (w UsageWindow, why string, ok bool) {
	for _, r := range reserves {
		for _, w := range windows {
			if w.Name == r.Window && w.Used > 0 && w.Used >= 1-r.Part {
				return w, fmt.Sprintf("the reserve of the subscription: %.0f%% of its %s window is used, and %.0f%% is reserved",
					100*w.Used, w.Name, 100*r.Part), true
			}
		}
	}
	return UsageWindow{}, "", false
}

package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// maxMessage bounds a fault's message, in letters.
const maxMessage = 500

// shortestSecret keeps stand-ins for keys, which local servers are content with, from garbling messages.
const shortestSecret = 4

// Clean makes one line of a text, bounds it, and hides what is secret.
func (l Line) Clean(text string) string {
	for _, secret := range l.Secrets {
		if len(secret) >= shortestSecret {
			text = strings.ReplaceAll(text, secret, "[key]")
		}
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }),
		" ")
	if letters := []rune(text); len(letters) > maxMessage {
		text = string(letters[:maxMessage]) + "…"
	}
	return text
}

// words finds what a provider says in the body of an error. "" if that is nothing for people.
func words(body []byte) string {
	body = bytes.TrimSpace(body)
	var value any
	if json.Unmarshal(body, &value) == nil {
		return said(value, 0)
	}
	if bytes.HasPrefix(body, []byte("<")) {
		return "" // a page
	}
	return string(body)
}

// deepest is how far errors are looked for within errors.
const deepest = 8

// said looks where providers put their words: most into error.message, some straight into message, detail or error.
func said(value any, depth int) string {
	if depth > deepest {
		return ""
	}
	switch v := value.(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			return said(v[0], depth+1)
		}
	case map[string]any:
		if within := behind(v, depth); within != "" {
			return within
		}
		for _, key := range []string{"error", "message", "detail", "msg"} {
			if text := said(v[key], depth+1); text != "" {
				return place(v["loc"]) + text
			}
		}
	}
	return ""
}

// place is where in the request something is wrong, as servers in Python tell it.
func place(loc any) string {
	var names []string
	steps, _ := loc.([]any)
	for _, step := range steps {
		if name, ok := step.(string); ok {
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return strings.Join(names, ".") + ": "
}

// behind is what the provider behind a router said: the router's own words say only that it did.
func behind(router map[string]any, depth int) string {
	meta, _ := router["metadata"].(map[string]any)
	raw, _ := meta["raw"].(string)
	if raw == "" {
		return ""
	}
	var value any
	if json.Unmarshal([]byte(raw), &value) != nil {
		return raw
	}
	return said(value, depth+1)
}

// longestWait bounds what a provider may ask for: beyond it, it is nonsense.
const longestWait = 366 * 24 * time.Hour

// gemini tells it in the body.
var retryDelay = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"retryDelay"\s*:\s*"([0-9.]+)s"`) })

// retryAfter is how long a provider wants to be left alone; 0 if it does not say.
func retryAfter(h http.Header, body []byte, now time.Time) time.Duration {
	if d := seconds(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	after := strings.TrimSpace(h.Get("Retry-After"))
	if d := seconds(after, time.Second); d > 0 {
		return d
	}
	if date, err := http.ParseTime(after); err == nil {
		return bound(date.Sub(now))
	}
	if reset, err := strconv.ParseInt(h.Get("Anthropic-Ratelimit-Unified-Reset"), 10,
		64); err == nil && reset > 0 && reset < math.MaxInt32*8 {
		return bound(time.Unix(reset, 0).Sub(now))
	}
	if m := retryDelay().FindSubmatch(body); m != nil {
		return seconds(string(m[1]), time.Second)
	}
	return 0
}

func seconds(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n <= 0 {
		return 0
	}
	if n >= float64(longestWait)/float64(unit) {
		return longestWait
	}
	return time.Duration(n * float64(unit))
}

func bound(d time.Duration) time.Duration { return max(0, min(d, longestWait)) }

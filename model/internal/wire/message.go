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

// maxMessage limits a fault's message, in characters.
const maxMessage = 500

// shortestSecret protects messages from being garbled by placeholder keys, which local servers
// accept.
const shortestSecret = 4

// Clean turns a text into one line, limits its length, and hides secrets.
func (ep Endpoint) Clean(text string) string {
	for _, secret := range ep.Secrets {
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

// words extracts the provider's message from the body of an error, or "" if the body has nothing
// readable.
func words(body []byte) string {
	body = bytes.TrimSpace(body)
	var value any
	if json.Unmarshal(body, &value) == nil {
		return findMessage(value, 0)
	}
	if bytes.HasPrefix(body, []byte("<")) {
		return "" // a web page
	}
	return string(body)
}

// deepest limits the search for errors within errors.
const deepest = 8

// findMessage looks where providers put their messages: most in error.message, some directly in
// message, detail or error.
func findMessage(value any, depth int) string {
	if depth > deepest {
		return ""
	}
	switch v := value.(type) {
	case string:
		return v
	case []any:
		if len(v) > 0 {
			return findMessage(v[0], depth+1)
		}
	case map[string]any:
		if within := upstreamMessage(v, depth); within != "" {
			return within
		}
		for _, key := range []string{"error", "message", "detail", "msg"} {
			if text := findMessage(v[key], depth+1); text != "" {
				return locationPrefix(v["loc"]) + text
			}
		}
	}
	return ""
}

// locationPrefix returns where in the request the error is, as Python servers report it.
func locationPrefix(loc any) string {
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

// upstreamMessage returns the message of the provider behind a router. The router's own message
// says only that there was an error.
func upstreamMessage(router map[string]any, depth int) string {
	meta, _ := router["metadata"].(map[string]any)
	raw, _ := meta["raw"].(string)
	if raw == "" {
		return ""
	}
	var value any
	if json.Unmarshal([]byte(raw), &value) != nil {
		return raw
	}
	return findMessage(value, depth+1)
}

// longestWait limits the wait that a provider may ask for. A longer one is wrong.
const longestWait = 366 * 24 * time.Hour

// Gemini sends the delay in the body.
var retryDelay = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"retryDelay"\s*:\s*"([0-9.]+)s"`) })

// retryAfter returns how long the provider asks to wait, or 0 if it does not say.
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

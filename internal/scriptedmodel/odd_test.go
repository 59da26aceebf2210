package scriptedmodel_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// comes returns everything that arrives in response to one request.
func (c *client) comes() (string, error) {
	c.t.Helper()
	response, err := c.post(nil, shells[c.name])
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		c.t.Fatalf("status %d: %s", response.StatusCode, text)
	}
	return string(text), err
}

// Half an answer may end as if it were complete, or continue with invalid JSON.
func TestAnswersThatGoWrong(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t,
			parse(t, `{"s": {"conversations": [[{"text": "It was a long answer.", "faults": [{"do": "end"}, {"do": `+
				`"garble"}]}]]}}`))
		c := newClient(t, f, server.URL()+"/s")
		c.streams = streams
		half, err := c.comes()
		if streams && err != nil || !streams && !errors.Is(err, io.ErrUnexpectedEOF) || half == "" {
			t.Errorf("%q ends with %v", half, err)
		}
		garbled, _ := c.comes()
		whole, err := c.comes()
		if err != nil || len(half) >= len(whole) || strings.Contains(half, "oops") ||
			strings.Contains(garbled, "oops") == strings.Contains(whole, "oops") {
			t.Errorf("%q, then %q, then %q, %v", half, garbled, whole, err)
		}
	})
}

// A connection may be kept alive without an answer. The client can end it.
func TestPings(t *testing.T) {
	want := map[string]string{"anthropic": "event: ping", "responses": ": ping", "chat": ": ping", "gemini": ": ping"}
	for _, f := range formats {
		server := start(t,
			parse(t, `{"s": {"conversations": [[{"text": "It was a long answer.", "faults": [{"do": "ping", "forever": `+
				`true}]}]]}}`))
		response, err := newClient(t, f, server.URL()+"/s").post(nil, shells[f.name])
		if err != nil {
			t.Fatal(err)
		}
		pings := 0
		for lines := bufio.NewScanner(response.Body); pings < 3 && lines.Scan(); {
			if lines.Text() == want[f.name] {
				pings++
			}
		}
		response.Body.Close()
		if pings != 3 {
			t.Errorf("%s: %d pings", f.name, pings)
		}
	}
}

// A tool's input need not be JSON: it arrives in pieces, unchanged from the script.
func TestRawInput(t *testing.T) {
	const raw = `{"path": "half`
	pieces := map[string]func(e event) string{
		"anthropic": func(e event) string { return text(e.Data, "delta", "partial_json") },
		"chat": func(e event) string {
			return text(e.Data, "choices", "0", "delta", "tool_calls", "0", "function", "arguments")
		},
		"responses": func(e event) string {
			if e.Name != "response.function_call_arguments.delta" {
				return ""
			}
			return text(e.Data, "delta")
		},
		"gemini": func(e event) string {
			return text(e.Data, "candidates", "0", "content", "parts", "0", "functionCall", "args")
		},
	}
	for _, f := range formats {
		server := start(t,
			parse(t, `{"s": {"conversations": [[{"tools": [{"name": "read", "raw": "{\"path\": \"half"}]}]]}}`))
		answer, err := newClient(t, f, server.URL()+"/s").comes()
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range readEvents(t, strings.NewReader(answer)) {
			got += pieces[f.name](e)
		}
		if got != raw {
			t.Errorf("%s: %q of %s", f.name, got, answer)
		}
	}
}

// Token counts may be wrong or missing.
func TestOddUsage(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t, parse(t, `{"silent": {"conversations": [[{"text": "a", "unmetered": true}]]},
			"mad": {"conversations": [[{"text": "a", "usage": {"input": -7, "output": 2}}]]}}`))
		c := newClient(t, f, server.URL()+"/silent")
		c.streams = streams
		got, err := c.comes()
		if err != nil || strings.Contains(got, "oken") {
			t.Errorf("tokens are told: %s %v", got, err)
		}
		c.base = server.URL() + "/mad"
		if diff := cmp.Diff(scriptedmodel.Usage{Input: -7, Output: 2}, c.hear(nil, shells[f.name]).Usage); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRetryDate(t *testing.T) {
	server := start(t,
		parse(t, `{"s": {"conversations": [[{"text": "a", "faults": [{"do": "status", "status": 429, "retry_date": `+
			`"90s"}]}]]}}`))
	before := time.Now()
	response, err := newClient(t, formats[0], server.URL()+"/s").post(nil, shells["anthropic"])
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	date, err := http.ParseTime(response.Header.Get("Retry-After"))
	if err != nil || date.Before(before.Add(90*time.Second).Truncate(time.Second)) ||
		date.After(time.Now().Add(91*time.Second)) {
		t.Errorf("%q is %s, %v", response.Header.Get("Retry-After"), date, err)
	}
}

package scriptedmodel_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/scriptedmodel"
)

// Every status must have the vendor's own error shape.
func TestErrorBodies(t *testing.T) {
	want := map[string]map[string]any{
		"anthropic": {
			"401": m{
				"type": "error", "request_id": "req_N", "error": m{"type": "authentication_error", "message": "invalid api key"},
			},
			"529": m{"type": "error", "request_id": "req_N", "error": m{"type": "overloaded_error", "message": "Overloaded"}},
		},
		"responses": {
			"401": m{
				"error": m{"type": "invalid_request_error", "code": "invalid_api_key", "message": "invalid api key", "param": nil},
			},
			"529": m{"error": m{"type": "server_error", "code": "server_is_overloaded", "message": "Overloaded", "param": nil}},
		},
		"gemini": {
			"401": m{"error": m{"code": 401.0, "status": "UNAUTHENTICATED", "message": "invalid api key"}},
			"529": m{"error": m{"code": 529.0, "status": "UNAVAILABLE", "message": "Overloaded"}},
		},
	}
	want["chat"] = want["responses"]
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t, scriptedmodel.Standard())
		for _, status := range []string{"401", "529"} {
			for _, tools := range [][]string{shells[f.name], nil} { // it applies to every request
				c := newClient(t, f, server.URL()+"/"+status)
				c.streams = streams
				response, err := c.post(nil, tools)
				if err != nil {
					t.Fatal(err)
				}
				var got any
				err = json.NewDecoder(response.Body).Decode(&got)
				response.Body.Close()
				if err != nil || strconv.Itoa(response.StatusCode) != status || response.Header.Get("Request-Id") == "" {
					t.Errorf("status %d, %v", response.StatusCode, err)
				}
				if body := got.(m); body["request_id"] != nil && body["request_id"] == response.Header.Get("Request-Id") {
					body["request_id"] = "req_N"
				}
				if diff := cmp.Diff(want[f.name][status], got); diff != "" {
					t.Error(diff)
				}
			}
		}
	})
}

func TestLimitsTellWhenTheyEnd(t *testing.T) {
	server := start(t, parse(t, `{
		"limit": {"conversations": [[{"faults": [
			{"do": "status", "status": 429, "reset_in": "90m", "forever": true, "headers": {"X-Own": "yes"}}
		]}]]},
		"busy": {"conversations": [[{"faults": [
			{"do": "status", "status": 429, "retry_after": "1.2s", "message": "slow down", "forever": true}
		]}]]}
	}`))
	before := time.Now()
	limit := func(f format, scenario string) (http.Header, any) {
		response, err := newClient(t, f, server.URL()+"/"+scenario).post(nil, shells[f.name])
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var body map[string]any
		if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		return response.Header, body["error"]
	}
	soon := func(unix string) bool {
		seconds, err := strconv.ParseInt(unix, 10, 64)
		reset := time.Unix(seconds, 0)
		return err == nil && !reset.Before(before.Add(90*time.Minute).Truncate(time.Second)) &&
			!reset.After(time.Now().Add(90*time.Minute))
	}
	header, said := limit(formats[0], "limit")
	if !soon(header.Get("anthropic-ratelimit-unified-reset")) ||
		header.Get("anthropic-ratelimit-unified-status") != "rejected" ||
		header.Get("retry-after") != "5400" || header.Get("x-own") != "yes" || text(said, "type") != "rate_limit_error" {
		t.Errorf("%v %v", header, said)
	}
	_, said = limit(formats[1], "limit")
	if text(said, "type") != "usage_limit_reached" || number(said, "resets_in_seconds") != 5400 ||
		!soon(strconv.FormatInt(number(said, "resets_at"), 10)) {
		t.Errorf("%v", said)
	}
	_, said = limit(formats[3], "limit")
	if diff := cmp.Diff(any(m{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "5400s"}),
		at(said, "details", "0")); diff != "" {
		t.Error(diff)
	}
	header, said = limit(formats[2], "busy")
	if header.Get("retry-after") != "2" || header.Get("anthropic-ratelimit-unified-status") != "" ||
		text(said, "message") != "slow down" {
		t.Errorf("%v %v", header, said)
	}
}

// Faults come before their turn, each as often as it says. Retries of a first request do not make a
// second agent.
func TestFaultsThenTheTurn(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format, streams bool) {
		server := start(t, parse(t, `{"s": {"conversations": [
			[{"text": "at last", "faults": [
				{"do": "status", "status": 500, "times": 2}, {"do": "cut"}, {"do": "drop"}, {"do": "status", "status": 429}
			]}],
			[{"text": "next"}]
		]}}`))
		c := newClient(t, f, server.URL()+"/s")
		c.streams = streams
		var got []any
		for range 5 {
			got = append(got, c.fails())
		}
		if diff := cmp.Diff([]any{500, 500, "cut", "drop", 429}, got); diff != "" {
			t.Error(diff)
		}
		if first, second := c.says(), c.says(); first != "at last" || second != "next" {
			t.Errorf("%q, then %q", first, second)
		}
	})
}

// fails returns how a request failed: a status, no answer, or half of one.
func (c *client) fails() any {
	c.t.Helper()
	response, err := c.post(nil, shells[c.name])
	if err != nil {
		return "drop"
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case response.StatusCode != http.StatusOK:
		return response.StatusCode
	case errors.Is(err, io.ErrUnexpectedEOF) && len(body) > 0:
		return "cut"
	}
	c.t.Fatalf("answered well: %s %v", body, err)
	return nil
}

func TestErrorWithinAStream(t *testing.T) {
	want := map[string]string{
		"anthropic": "overloaded_error", "responses": "server_is_overloaded", "chat": "server_error",
		"gemini": "UNAVAILABLE",
	}
	for _, f := range formats {
		server := start(t, scriptedmodel.Standard())
		c := newClient(t, f, server.URL()+"/error-event")
		got := c.hear(nil, shells[f.name])
		if got.Error != want[f.name] || got.Stop != "" {
			t.Errorf("%s: %+v", f.name, got)
		}
		c.streams = false
		if status := c.fails(); status != 529 || server.Requests()[1].Status != 529 {
			t.Errorf("%s: not in a stream it is %v", f.name, status)
		}
	}
}

// A hanging server releases its connections when it closes, and when the client disconnects.
func TestHangs(t *testing.T) {
	for _, scenario := range []string{"hang", "stall"} {
		t.Run(scenario, func(t *testing.T) {
			arrived := make(chan scriptedmodel.Request, 1)
			running, err := scriptedmodel.Listen("127.0.0.1:0",
				scriptedmodel.New(scriptedmodel.Standard(), scriptedmodel.Observe(func(r scriptedmodel.Request) { arrived <- r })))
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			begun := make(chan struct{})
			go func() {
				response, err := newClient(t, formats[0], running.URL()+"/"+scenario).post(nil, shells["anthropic"])
				if err == nil {
					defer response.Body.Close()
					_, err = io.ReadFull(response.Body, make([]byte, len("event: message_start")))
					close(begun)
					if err == nil {
						_, err = io.ReadAll(response.Body)
					}
				}
				ended <- err
			}()
			<-arrived
			if scenario == "stall" {
				<-begun
			}
			select {
			case err := <-ended:
				t.Fatalf("the request has ended: %v", err)
			default:
			}
			if err := running.Close(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err == nil {
				t.Error("the request ended well")
			}
		})
	}
}

func TestOnlyThisMachine(t *testing.T) {
	for _, addr := range []string{
		"0.0.0.0:0", ":0", "192.168.0.1:0", "example.com:0", "localhost:0", "127.0.0.1", "[::]:0", "x",
	} {
		if running, err := scriptedmodel.Listen(addr, scriptedmodel.New(scriptedmodel.Standard())); err == nil {
			t.Errorf("listens on %s", addr)
			running.Close()
		}
	}
}

// A client that sends only new messages would get the first turn again and again, so it gets an
// error.
func TestNothingIsKeptBetweenResponses(t *testing.T) {
	server := start(t, scriptedmodel.Standard())
	body := `{"model": "m", "previous_response_id": "resp_1", "input": [{"type": "function_call_output", "call_id": ` +
		`"call_n0t0i0", "output": "done"}], "tools": [{"type": "function", "name": "shell"}]}`
	response, err := http.Post(server.URL()+"/tool/v1/responses", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var got any
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil || response.StatusCode != 400 ||
		text(at(got, "error"), "type") != "invalid_request_error" {
		t.Errorf("%d %v %v", response.StatusCode, got, err)
	}
}

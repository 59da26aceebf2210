package model_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/model"
)

const (
	auth     = model.FaultAuth
	limit    = model.FaultLimit
	provider = model.FaultProvider
	overflow = model.FaultOverflow
	refused  = model.FaultRefused
	year     = 366 * 24 * time.Hour
)

// refusals are responses that providers send instead of a stream, in their own words as far as
// known.
var refusals = []struct {
	name   string
	status int
	header string // "Name: value"
	body   string
	kind   model.FaultKind
	words  string
	after  time.Duration
}{
	{"wrong key", 401, "", `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, auth,
		"invalid x-api-key", 0},
	{"wrong key at OpenAI", 401, "",
		`{"error":{"message":"Incorrect API key provided: ` + key +
			`.","type":"invalid_request_error","code":"invalid_api_key"}}`,
		auth, "Incorrect API key provided: [key].", 0},
	{"wrong key at Gemini", 400, "",
		`[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`,
		auth, "API key not valid. Please pass a valid API key.", 0},
	{"wrong key at xAI", 400, "", `{"code":"Client specified an invalid argument","error":"Incorrect API key provided"}`,
		auth, "Incorrect API key provided", 0},
	{"region", 403, "",
		`{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}`,
		auth, "Country, region, or territory not supported", 0},
	{"permission", 403, "", `{"type":"error","error":{"type":"permission_error","message":"no access to that model"}}`,
		auth, "no access to that model", 0},
	{"limit", 429, "Retry-After: 7", `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`, limit,
		"slow down", 7 * time.Second},
	{"limit, part of a second", 429, "Retry-After: 1.5", `{}`, limit, "Too Many Requests", 1500 * time.Millisecond},
	{"limit, milliseconds", 429, "Retry-After-Ms: 250", ``, limit, "Too Many Requests", 250 * time.Millisecond},
	{"limit, absurd", 429, "Retry-After: 1e9", ``, limit, "Too Many Requests", year},
	{"limit, absurd date", 429, "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", ``, limit, "Too Many Requests", year},
	{"limit, past date", 429, "Retry-After: Mon, 02 Jan 2006 15:04:05 GMT", ``, limit, "Too Many Requests", 0},
	{"limit, negative", 429, "Retry-After: -3", ``, limit, "Too Many Requests", 0},
	{"limit, no number", 429, "Retry-After: NaN", ``, limit, "Too Many Requests", 0},
	{"limit, a word", 429, "Retry-After: soon", ``, limit, "Too Many Requests", 0},
	{"limit, told in the body", 429, "",
		`[{"error":{"code":429,"message":"Resource exhausted",` +
			`"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]`,
		limit, "Resource exhausted", 34 * time.Second},
	{"quota", 429, "",
		`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
		limit, "You exceeded your current quota", 0},
	{"quota of a minute", 429, "",
		`[{"error":{"code":429,"message":"You exceeded your current quota","details":[{"retryDelay":"34s"}]}}]`, limit,
		"You exceeded your current quota", 34 * time.Second},
	{"credit", 400, "",
		`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access ` +
			`the API."}}`,
		limit, "Your credit balance is too low to access the API.", 0},
	{"credit at DeepSeek", 402, "",
		`{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`,
		limit, "Insufficient Balance", 0},
	{"broken", 500, "", `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, provider,
		"Internal server error", 0},
	{"bad gateway with a page", 502, "", "<html><head><title>502</title></head></html>", provider, "Bad Gateway", 0},
	{"unavailable", 503, "Retry-After: 3", "upstream\nconnect error", provider, "upstream connect error", 3 * time.Second},
	{"overloaded", 529, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider,
		"Overloaded", 0},
	{"overloaded without a word", 529, "", ``, provider, "the provider refused the request", 0},
	{"proxy", 407, "", ``, provider, "Proxy Authentication Required", 0},
	{"time-out", 408, "", ``, provider, "Request Timeout", 0},
	{"too long at Anthropic", 400, "",
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 ` +
			`maximum"}}`,
		overflow, "prompt is too long: 213462 tokens > 200000 maximum", 0},
	{"too long with output", 400, "",
		`{"error":{"message":"input length and ` + "`max_tokens`" + ` exceed context limit: 199000 + 32000 > 200000"}}`,
		overflow, "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000", 0},
	{"too large", 413, "",
		`{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, overflow,
		"Request exceeds the maximum size", 0},
	{"too long at OpenAI", 400, "",
		`{"error":{"message":"Please send less.","type":"invalid_request_error","param":"messages",` +
			`"code":"context_length_exceeded"}}`,
		overflow, "Please send less.", 0},
	{"too long at DeepSeek", 400, "",
		`{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70000 ` +
			`tokens","type":"invalid_request_error"}}`,
		overflow, "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens", 0},
	{"too long at vLLM", 400, "",
		`{"error":{"message":"You passed 1015 input tokens and requested 10 output tokens. However, the model's ` +
			`context length is only 1024 tokens.","type":"BadRequestError","param":"input_tokens","code":400}}`,
		overflow,
		"You passed 1015 input tokens and requested 10 output tokens. However, the model's context length is only 1024 " +
			"tokens.",
		0},
	{"too long at older vLLM", 400, "",
		`{"object":"error","message":"The decoder prompt (length 40000) is longer than the maximum model length of ` +
			`32768.","code":400}`,
		overflow, "The decoder prompt (length 40000) is longer than the maximum model length of 32768.", 0},
	{"too long at llama.cpp", 500, "",
		`{"error":{"code":500,"message":"the request exceeds the available context size, try increasing it",` +
			`"type":"exceed_context_size_error"}}`,
		overflow, "the request exceeds the available context size, try increasing it", 0},
	{"too long at Ollama", 400, "", `{"error":"the input length exceeds the context length"}`, overflow,
		"the input length exceeds the context length", 0},
	{"too long at LM Studio", 400, "",
		`{"error":"The number of tokens to keep from the initial prompt is greater than the context length."}`, overflow,
		"The number of tokens to keep from the initial prompt is greater than the context length.", 0},
	{"too long at Gemini", 400, "",
		`[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed ` +
			`(1048575).","status":"INVALID_ARGUMENT"}}]`,
		overflow, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", 0},
	{"too long behind OpenRouter", 400, "",
		`{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt ` +
			`is too long: 9 tokens > 8 maximum\"}}","provider_name":"X"}}}`,
		overflow, "prompt is too long: 9 tokens > 8 maximum", 0},
	{"too long at OpenRouter", 400, "",
		`{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about ` +
			`200000 tokens","code":400}}`,
		overflow, "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens", 0},
	{"words of the request are not the provider's", 422, "",
		`{"detail":[{"type":"x","loc":["body","messages",0],"msg":"Field required","input":"prompt is too long, ` +
			`insufficient_quota"}]}`,
		refused, "body.messages: Field required", 0},
	{"unknown model", 404, "", `{"error":{"message":"model 'x' not found","type":"not_found_error"}}`, refused,
		"model 'x' not found", 0},
	{"wrong parameter", 400, "",
		`{"type":"error","error":{"type":"invalid_request_error","message":"temperature: out of range"}}`, refused,
		"temperature: out of range", 0},
	{"no JSON", 400, "", "bad\x00\x1b[31m request \xff", refused, "bad [31m request \uFFFD", 0},
	{"a redirect", 307, "Location: https://elsewhere.invalid/?k=" + key, ``, refused,
		"the provider redirects to https://elsewhere.invalid/?k=[key]", 0},
	{"an error with a good status", 200, "Content-Type: application/json", `{"error":{"code":429,"message":"slowly"}}`,
		limit, "slowly", 0},
}

// usedUp are the refusals after which a short wait does not help.
var usedUp = []string{"quota", "credit", "credit at DeepSeek"}

func TestRefusals(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		for _, tc := range refusals {
			t.Run(tc.name, func(t *testing.T) {
				asked := 0
				base := serve(t, func(out http.ResponseWriter, _ *http.Request) {
					asked++
					if name, value, ok := strings.Cut(tc.header, ": "); ok {
						out.Header().Set(name, value)
					}
					out.WriteHeader(tc.status)
					_, _ = io.WriteString(out, tc.body)
				})
				_, err := w.connect(base, limits{}).Send(t.Context(), ask, nil)
				want := &model.Fault{
					Kind: tc.kind, Status: tc.status, Message: tc.words, RetryAfter: tc.after,
					Quota: slices.Contains(usedUp, tc.name),
				}
				if diff := cmp.Diff(want, err); diff != "" {
					t.Error(diff)
				}
				if asked != 1 {
					t.Errorf("asked %d times", asked)
				}
			})
		}
	})
}

func TestLimitUntilADate(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		for name, value := range map[string]func(time.Time) string{
			"Retry-After":                       func(at time.Time) string { return at.UTC().Format(http.TimeFormat) },
			"Anthropic-Ratelimit-Unified-Reset": func(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) },
		} {
			base := serve(t, func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set(name, value(time.Now().Add(time.Hour)))
				out.WriteHeader(http.StatusTooManyRequests)
			})
			_, err := w.connect(base, limits{}).Send(t.Context(), ask, nil)
			fault, ok := errors.AsType[*model.Fault](err)
			if !ok || fault.Kind != limit || fault.RetryAfter <= 0 || fault.RetryAfter > time.Hour {
				t.Errorf("%s: %+v", name, err)
			}
		}
	})
}

// A huge error is not read to its end, and its message is cut.
func TestHugeError(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		base := serve(t, func(out http.ResponseWriter, r *http.Request) {
			out.WriteHeader(http.StatusBadRequest)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(out, strings.Repeat("no ", 1000)); err != nil {
					return
				}
			}
		})
		_, err := w.connect(base, limits{}).Send(t.Context(), ask, nil)
		fault, ok := errors.AsType[*model.Fault](err)
		if !ok || fault.Kind != refused || len(fault.Message) > 600 || !strings.HasPrefix(fault.Message, "no no no") {
			t.Errorf("%v", err)
		}
	})
}

// An unreachable server is a provider fault.
func TestOutOfReach(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log failed handshakes
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	proxy := serve(t, func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusProxyAuthRequired) })
	proxyURL, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	through := &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyURL(proxyURL), TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		},
	}
	noNames := &http.Client{
		Transport: &http.Transport{
			DialContext: (&net.Dialer{
				Resolver: &net.Resolver{
					PreferGo: true,
					Dial:     func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no name server") },
				},
			}).DialContext,
		},
	}
	eachWire(t, func(t *testing.T, w wireFormat) {
		for _, tc := range []struct {
			name, base, words string
			http              *http.Client
		}{
			{"connection refused", "http://" + closed.Addr().String(), "refused", nil},
			{"unknown certificate", secure.URL, "certificate", nil},
			{"no TLS", "https" + strings.TrimPrefix(plain.URL, "http"), "HTTP response to HTTPS client", nil},
			{"no such name", "http://nowhere.invalid", "lookup nowhere.invalid", noNames},
			{"proxy wants a password", "https://somewhere.invalid", "Proxy Authentication Required", through},
		} {
			t.Run(tc.name, func(t *testing.T) {
				_, err := w.connect(tc.base, limits{http: tc.http}).Send(t.Context(), ask, nil)
				if diff := diffFault(&model.Fault{Kind: provider}, err); diff != "" {
					t.Error(diff)
				}
				if !strings.Contains(err.Error(), tc.words) {
					t.Errorf("%v", err)
				}
			})
		}
	})
}

// A server that closes the connection without a response is one as well.
func TestHungUp(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		base := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		_, err := w.connect(base, limits{}).Send(t.Context(), ask, nil)
		if diff := diffFault(&model.Fault{Kind: provider}, err); diff != "" {
			t.Error(diff)
		}
	})
}

// A key must not follow a redirect to another server.
func TestRedirectsAreNotFollowed(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		elsewhere := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("somebody else was asked") })
		base := serve(t, func(out http.ResponseWriter, r *http.Request) {
			http.Redirect(out, r, elsewhere, http.StatusTemporaryRedirect)
		})
		_, err := w.connect(base, limits{}).Send(t.Context(), ask, nil)
		if diff := diffFault(&model.Fault{Kind: refused, Status: http.StatusTemporaryRedirect}, err); diff != "" {
			t.Error(diff)
		}
	})
}

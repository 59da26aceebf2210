package wire

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/model"
)

func TestBoundedBody(t *testing.T) {
	for _, tc := range []struct {
		text  string
		bound int64
		want  string
		err   error
	}{
		{"", 5, "\n\n", nil}, {"abcd", 5, "abcd\n\n", nil}, {"abcdef", 5, "abcde", errTooLong},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"usual": func(r io.Reader) io.Reader { return r }, "one byte": iotest.OneByteReader,
			"end with data": iotest.DataErrReader,
		} {
			body := &bounded{from: io.NopCloser(wrap(strings.NewReader(tc.text))), left: tc.bound}
			got, err := io.ReadAll(iotest.OneByteReader(body))
			if string(got) != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("%q, %s: %q %v", tc.text, name, got, err)
			}
		}
	}
	cut := errors.New("cut")
	body := &bounded{from: io.NopCloser(io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(cut))), left: 9}
	if got, err := io.ReadAll(body); string(got) != "ab" || !errors.Is(err, cut) {
		t.Errorf("%q %v: a cut body must not look whole", got, err)
	}
}

func TestClean(t *testing.T) {
	l := Endpoint{Secrets: []string{"", "abc", "sk-secret"}}
	for text, want := range map[string]string{
		"plain": "plain", " two\r\n\tlines ": "two lines", "with sk-secret and sk-secret": "with [key] and [key]",
		"abc":             "abc",
		"\x1b[31mred\x00": "[31mred", "\xff": "\uFFFD", strings.Repeat("ä", 600): strings.Repeat("ä", 500) + "…",
		strings.Repeat("x", 495) + "sk-secret": strings.Repeat("x", 495) + "[key]",
	} {
		if got := l.Clean(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestConnectionRefused(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"the server": {refused,
			"reach 127.0.0.1:8000: connection refused (is the server at http://127.0.0.1:8000 running?)"},
		"a proxy": {&net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused},
			"reach 127.0.0.1:8000: proxyconnect tcp: dial tcp: connect: connection refused"},
		"something else": {io.ErrUnexpectedEOF, "reach 127.0.0.1:8000: unexpected EOF"},
		"no answer in time": {&net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded},
			"reach 127.0.0.1:8000: dial tcp: i/o timeout"},
	} {
		if got := sentence(&url.Error{
			Op: "Post", URL: "http://me:secret@127.0.0.1:8000/v1/chat", Err: c.err,
		}); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		header string
		body   string
		want   time.Duration
	}{
		{"", "", 0},
		{"Retry-After: 30", "", 30 * time.Second},
		{"Retry-After:  30 ", "", 30 * time.Second},
		{"Retry-After: 0", "", 0},
		{"Retry-After: 0x10", "", 0},
		{"Retry-After: +Inf", "", longestWait},
		{"Retry-After: Fri, 01 May 2026 12:05:00 GMT", "", 5 * time.Minute},
		{"Retry-After: Friday, 01-May-26 12:05:00 GMT", "", 5 * time.Minute},
		{"Retry-After: Fri, 01 May 2026 11:00:00 GMT", "", 0},
		{"Anthropic-Ratelimit-Unified-Reset: 1777640400", "", time.Hour},
		{"Anthropic-Ratelimit-Unified-Reset: 9223372036854775807", "", 0},
		{"", `{"retryDelay": "3.5s"}`, 3500 * time.Millisecond},
		{"", `{"retryDelay": "..s"}`, 0},
		{"Retry-After: 2", `{"retryDelay": "3.5s"}`, 2 * time.Second},
	} {
		h := http.Header{}
		if name, value, ok := strings.Cut(tc.header, ": "); ok {
			h.Set(name, value)
		}
		if got := retryAfter(h, []byte(tc.body), now); got != tc.want {
			t.Errorf("%s %s: %s", tc.header, tc.body, got)
		}
	}
}

func TestWhatMayBeSentBack(t *testing.T) {
	for input, want := range map[string]string{
		"": "{}", "  ": "{}", `{"a":1}`: `{"a":1}`, ` {"a":1} `: `{"a":1}`, `{"a":`: `{"malformed_input":"{\"a\":"}`,
		`[1]`: `{"malformed_input":"[1]"}`, `"x"`: `{"malformed_input":"\"x\""}`,
		"null": `{"malformed_input":"null"}`, "\xff": `{"malformed_input":"\ufffd"}`,
	} {
		if got := Object(json.RawMessage(input)); string(got) != want {
			t.Errorf("%q: %s", input, got)
		}
	}
	for name, want := range map[string]string{
		"": "_", "read_file-2": "read_file-2", "a b/c.d": "a_b_c_d", "näme": "n_me",
		strings.Repeat("x", 99): strings.Repeat("x", 64),
	} {
		if got := Name(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestPlausibleUsage(t *testing.T) {
	for _, u := range []model.Usage{{}, {Input: -1, Output: 5}, {Input: 5, CacheRead: -1}, {Output: 1 << 41}} {
		if got := PlausibleUsage(u); got != nil {
			t.Errorf("%+v is believed", u)
		}
	}
	u := model.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}
	if diff := cmp.Diff(&u, PlausibleUsage(u)); diff != "" {
		t.Error(diff)
	}
}

func TestClientFollowsTheCallersPolicy(t *testing.T) {
	stop := errors.New("mine")
	own := Endpoint{
		HTTP: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return stop }, Timeout: time.Second},
	}.Client()
	if err := own.CheckRedirect(nil, nil); !errors.Is(err, stop) || own.Timeout != time.Second {
		t.Errorf("%v", err)
	}
	given := &http.Client{}
	if (Endpoint{HTTP: given}).Client(); given.CheckRedirect != nil {
		t.Error("the caller's client was changed")
	}
}

// Any body becomes a fault with a short one-line message.
func FuzzRefusal(f *testing.F) {
	for _, body := range []string{
		`{"error":{"message":"x","code":"y","metadata":{"raw":"{}"}}}`, `[{"error":"x"}]`,
		`{"detail":[{"loc":["a",1],"msg":"x"}]}`, `<html>`, `"x"`, ``, `[[[[[[[[[[["deep"]]]]]]]]]]]`,
	} {
		f.Add(400, "3", body)
	}
	f.Fuzz(func(t *testing.T, status int, after, body string) {
		if status < 100 || status > 999 {
			return
		}
		l := Endpoint{Secrets: []string{"sk-secret"}}
		for _, fault := range []*model.Fault{
			l.refused(&Refusal{Status: status, Header: http.Header{"Retry-After": {after}}, Body: []byte(body)}),
			l.StreamFault([]byte(body)),
		} {
			if fault.Kind == "" || fault.Message == "" || utf8.RuneCountInString(fault.Message) > maxMessage+1 ||
				strings.ContainsAny(fault.Message, "\n\r\x00\x1b") || !utf8.ValidString(fault.Message) {
				t.Errorf("%+v", fault)
			}
			if strings.Contains(fault.Error(), "sk-secret") || fault.RetryAfter < 0 || fault.RetryAfter > longestWait {
				t.Errorf("%+v", fault)
			}
		}
	})
}

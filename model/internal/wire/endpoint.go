package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/ralphloop/ralph/model"
)

// Default limits of an exchange.
const (
	DefaultIdle     = 2 * time.Minute
	DefaultMaxReply = 32 << 20
)

// maxRefusal limits how much of an error's body is read.
const maxRefusal = 64 << 10

// Endpoint is a provider's address and the settings for talking to it. It is safe for concurrent
// use.
type Endpoint struct {
	Address  string
	Header   http.Header
	Secrets  []string      // must not appear in any message
	HTTP     *http.Client  // default: one that uses the usual proxies
	Idle     time.Duration // longest time without data; default: DefaultIdle
	MaxReply int64         // bytes of one reply; default: DefaultMaxReply
	Invalid  *model.Fault  // why no request is possible; nil if it is
}

// Client returns the HTTP client. It does not follow redirects, because that would send the key
// along.
func (ep Endpoint) Client() *http.Client {
	c := http.Client{}
	if ep.HTTP != nil {
		c = *ep.HTTP
	}
	if c.CheckRedirect == nil {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &c
}

// Refusal is a response that is not a reply: an error status, a redirect, a web page.
type Refusal struct {
	Status int
	Header http.Header
	Body   []byte // only the beginning
	From   string // host and path of the request, without the rest of its address
}

func refusalOf(response *http.Response, body []byte) *Refusal {
	return &Refusal{Status: response.StatusCode, Header: response.Header, Body: body, From: placeOf(response)}
}

// placeOf returns where a response came from, without parts of the address that may be secret.
func placeOf(response *http.Response) string {
	return response.Request.URL.Host + response.Request.URL.Path
}

func (r *Refusal) Error() string { return fmt.Sprintf("the provider returned status %d", r.Status) }

// Post sends a request and returns the response: a stream, or JSON. Anything else is a [*Refusal].
func (ep Endpoint) Post(ctx context.Context, ask any) (*http.Response, error) {
	text, err := json.Marshal(ask)
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, ep.Address, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	request.Header = ep.Header.Clone()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("User-Agent", "ralph")
	response, err := ep.Client().Do(request)
	if err != nil {
		return nil, err
	}
	response.Request = request // a custom transport may leave it out
	if response.StatusCode >= 300 || isPage(response.Header) {
		defer response.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // part of a body is better than none
		return nil, refusalOf(response, body)
	}
	response.Body = &bounded{from: response.Body, left: cmp.Or(max(ep.MaxReply, 0), DefaultMaxReply)}
	return response, nil
}

// kindOfBody returns the content type without its parameters.
func kindOfBody(h http.Header) string {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return cmp.Or(kind, "no content type")
}

// isJSON and isPage recognize responses that cannot be a stream. Some servers send their stream
// with no type or a wrong one, so everything else may be one.
func isJSON(h http.Header) bool {
	return slices.Contains([]string{"application/json", "application/problem+json"}, kindOfBody(h))
}

func isPage(h http.Header) bool { return kindOfBody(h) == "text/html" }

var errTooLong = errors.New("the reply is longer than allowed")

// bounded reads a limited number of bytes. At a regular end it adds a blank line, so that a last
// event without one is not lost.
type bounded struct {
	from  io.ReadCloser
	left  int64
	after []byte
	ended bool
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.ended {
		n := copy(p, b.after)
		b.after = b.after[n:]
		if n == 0 && len(p) > 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.from.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if errors.Is(err, io.EOF) {
		b.ended, b.after, err = true, []byte("\n\n"), nil
	}
	return n, err
}

func (b *bounded) Close() error { return b.from.Close() }

var errIdle = errors.New("no data received")

// Watch ends an exchange that makes no progress.
type Watch struct {
	idle  time.Duration
	timer *time.Timer
	stop  context.CancelCauseFunc
	given context.Context
	ctx   context.Context
}

// Watch starts watching an exchange, which must use the returned context. The caller must call End.
func (ep Endpoint) Watch(ctx context.Context) (context.Context, *Watch) {
	w := &Watch{idle: cmp.Or(max(ep.Idle, 0), DefaultIdle), given: ctx}
	w.ctx, w.stop = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(w.idle, func() { w.stop(errIdle) })
	return w.ctx, w
}

// Progress records that data arrived. Pings do not count: a server that only pings is as bad as a
// silent one.
func (w *Watch) Progress() { w.timer.Reset(w.idle) }

// End releases all resources.
func (w *Watch) End() {
	w.timer.Stop()
	w.stop(nil)
}

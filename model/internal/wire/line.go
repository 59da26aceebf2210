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

// Bounds of an exchange where nobody says otherwise.
const (
	DefaultIdle     = 2 * time.Minute
	DefaultMaxReply = 32 << 20
)

// maxRefusal bounds what is read of an error's body.
const maxRefusal = 64 << 10

// Line is one way to a provider. It may be used by several goroutines.
type Line struct {
	Address  string
	Header   http.Header
	Secrets  []string      // that no message may tell
	HTTP     *http.Client  // nil is one that knows the usual proxies
	Idle     time.Duration // without a piece of the reply; 0 is DefaultIdle
	MaxReply int64         // bytes of one reply; 0 is DefaultMaxReply
	Unfit    *model.Fault  // why nothing can be asked; nil if it can
}

// Client is the line's HTTP client. It follows no redirect: a key would go with it.
func (l Line) Client() *http.Client {
	c := http.Client{}
	if l.HTTP != nil {
		c = *l.HTTP
	}
	if c.CheckRedirect == nil {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return &c
}

// Refusal is a response that is no reply: an error status, a redirect, a page.
type Refusal struct {
	Status int
	Header http.Header
	Body   []byte // its beginning
	From   string // the host and the path that were asked, and nothing else of the address
}

func refusalOf(response *http.Response, body []byte) *Refusal {
	return &Refusal{Status: response.StatusCode, Header: response.Header, Body: body, From: placeOf(response)}
}

// placeOf is where a response came from, without what may be secret in an address.
func placeOf(response *http.Response) string {
	return response.Request.URL.Host + response.Request.URL.Path
}

func (r *Refusal) Error() string { return fmt.Sprintf("the provider answers with status %d", r.Status) }

// Post sends a request and gives the response that answers it: a stream, or JSON. What can be neither is a [*Refusal].
func (l Line) Post(ctx context.Context, ask any) (*http.Response, error) {
	text, err := json.Marshal(ask)
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Address, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	request.Header = l.Header.Clone()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("User-Agent", "ralph")
	response, err := l.Client().Do(request)
	if err != nil {
		return nil, err
	}
	response.Request = request // a transport of somebody's own may leave it out
	if response.StatusCode >= 300 || isPage(response.Header) {
		defer response.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // half of a body still says more than none
		return nil, refusalOf(response, body)
	}
	response.Body = &bounded{from: response.Body, left: cmp.Or(max(l.MaxReply, 0), DefaultMaxReply)}
	return response, nil
}

// kindOfBody is the type of a body, without its parameters.
func kindOfBody(h http.Header) string {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return cmp.Or(kind, "of no type")
}

// isJSON and isPage know what is certainly no stream. Some servers name no type for theirs, or a wrong one, so everything else may be one.
func isJSON(h http.Header) bool {
	return slices.Contains([]string{"application/json", "application/problem+json"}, kindOfBody(h))
}

func isPage(h http.Header) bool { return kindOfBody(h) == "text/html" }

var errTooLong = errors.New("the reply is longer than allowed")

// bounded reads so many bytes and no more. At a regular end it adds a blank line, so that a last event without one is not lost.
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

var errIdle = errors.New("nothing came")

// Watch ends an exchange in which nothing happens.
type Watch struct {
	idle  time.Duration
	timer *time.Timer
	stop  context.CancelCauseFunc
	given context.Context
	ctx   context.Context
}

// Watch begins to watch an exchange, which has to use the context that comes back. The caller ends it.
func (l Line) Watch(ctx context.Context) (context.Context, *Watch) {
	w := &Watch{idle: cmp.Or(max(l.Idle, 0), DefaultIdle), given: ctx}
	w.ctx, w.stop = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(w.idle, func() { w.stop(errIdle) })
	return w.ctx, w
}

// Progress says that something came. Pings are no progress: a server that only pings is as good as silent.
func (w *Watch) Progress() { w.timer.Reset(w.idle) }

// End lets go of everything.
func (w *Watch) End() {
	w.timer.Stop()
	w.stop(nil)
}

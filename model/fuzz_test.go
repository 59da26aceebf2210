package model_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ralphloop/ralph/model"
)

// answers returns the same bytes for every request, and counts how many of them are read.
type answers struct {
	kind  string
	body  string
	taken int
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	body := io.NopCloser(io.TeeReader(strings.NewReader(a.body), counter{&a.taken}))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {a.kind}}, Body: body}, nil
}

type counter struct{ n *int }

func (c counter) Write(p []byte) (int, error) {
	*c.n += len(p)
	return len(p), nil
}

func fuzzStream(f *testing.F, w wireFormat) {
	whole := strings.Join(w.frames, "")
	f.Add(whole)
	f.Add(whole + whole)
	f.Add(doubled(w))
	f.Add(strings.ReplaceAll(whole, "\n", "\r\n"))
	f.Add(w.failing)
	f.Add("data: {}\n\ndata: null\n\ndata: [DONE]\n\n")
	f.Add(`data: {"type":"content_block_delta","index":9}` + "\n\n" +
		`data: {"type":"content_block_start","content_block":7}` + "\n\n")
	f.Add(`data: {"choices":[{"delta":{"tool_calls":[{},{"index":-1}],"content":7,"reasoning_details":[null]}}],` +
		`"usage":{}}` + "\n\n")
	for n := range w.frames {
		f.Add(strings.Join(w.frames[:n], ""))
	}
	atOnce, err := json.Marshal(w.atOnce)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(atOnce))
	f.Fuzz(func(t *testing.T, body string) {
		for _, kind := range []string{"text/event-stream", "application/json"} {
			fuzzReply(t, w, &answers{kind: kind, body: body})
		}
	})
}

// fuzzReply sends a request that gets arbitrary bytes in response. The client must not read beyond
// the limit, and any reply must be fit to send back.
func fuzzReply(t *testing.T, w wireFormat, transport *answers) {
	const bound = 1 << 16
	client := w.connect("http://memory", limits{http: &http.Client{Transport: transport}, maxReply: bound})
	told := 0
	reply, err := client.Send(t.Context(), ask, func(d model.Delta) { told += len(d.Text) + len(d.Thought) })
	if transport.taken > bound {
		t.Errorf("%d bytes were taken", transport.taken)
	}
	if told > 3*bound { // an invalid byte becomes three
		t.Errorf("%d bytes were told", told)
	}
	if err != nil {
		if fault, ok := errors.AsType[*model.Fault](err); !ok || fault.Message == "" {
			t.Errorf("%v", err)
		}
		return
	}
	for _, call := range reply.Message.Calls {
		if call.ID == "" || len(call.Input) == 0 {
			t.Errorf("%+v", call)
		}
	}
	for _, thought := range reply.Message.Thought {
		if !json.Valid(thought) {
			t.Errorf("%q is thought", thought)
		}
	}
	if reply.End == "" ||
		reply.Usage != nil && min(reply.Usage.Input, reply.Usage.Output, reply.Usage.CacheRead, reply.Usage.CacheWrite) < 0 {
		t.Errorf("%+v", reply)
	}
	// The reply must be fit to send back.
	next := ask
	next.Messages = append(next.Messages[:1:1], reply.Message)
	if _, err := client.Send(t.Context(), next, nil); err != nil {
		t.Errorf("and again: %v", err)
	}
}

func FuzzAnthropicStream(f *testing.F) { fuzzStream(f, messages()) }

func FuzzOpenAIStream(f *testing.F) { fuzzStream(f, chat()) }

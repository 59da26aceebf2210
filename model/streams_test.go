package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph/model"
)

// A stream gives the same reply however it is cut into pieces, spelled or padded.
func TestStreamsThatAreAlike(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		whole := strings.Join(w.frames, "")
		for name, pieces := range map[string][]string{
			"at once":        {whole},
			"frame by frame": w.frames,
			"byte by byte":   strings.Split(whole, ""), // whole characters; the next case cuts some
			"odd bytes":      cut(whole, 7),
			"CRLF":           {strings.ReplaceAll(whole, "\n", "\r\n")},
			"comments":       {strings.Join(w.frames, ": still at it\n\n")},
			"pings":          {strings.Join(w.frames, "event: ping\ndata: {\"type\": \"ping\"}\n\n")},
			"no space":       {strings.ReplaceAll(whole, "data: ", "data:")},
			"no last line":   {strings.TrimRight(whole, "\n")},
			"ids and retry":  {"retry: 3000\n" + strings.ReplaceAll(whole, "data: ", "id: 7\ndata: ")},
			"twice":          {doubled(w)},
		} {
			t.Run(name, func(t *testing.T) {
				var heard model.Message
				tell := func(d model.Delta) { heard.Text += d.Text }
				got, err := w.connect(serve(t, stream(pieces...)), limits{}).Send(t.Context(), ask, tell)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(w.want, got); diff != "" {
					t.Error(diff)
				}
				if heard.Text != text {
					t.Errorf("told %q meanwhile", heard.Text)
				}
			})
		}
	})
}

// cut splits a text after every n bytes, even within characters.
func cut(text string, size int) []string {
	var pieces []string
	for len(text) > size {
		pieces, text = append(pieces, text[:size]), text[size:]
	}
	return append(pieces, text)
}

func doubled(w wireFormat) string {
	var all string
	for i, f := range w.frames {
		all += f
		for _, twice := range w.twice {
			if twice == i {
				all += f
			}
		}
	}
	return all
}

// A stream that ends too early is the provider's fault wherever it ends, and the usage until then
// is reported.
func TestStreamsThatEndEarly(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		for n := range w.whole {
			for name, end := range map[string]struct {
				piece  string
				abrupt bool
			}{
				"regular end": {}, "cut": {abrupt: true}, "half a frame": {piece: w.frames[n][:len(w.frames[n])/2], abrupt: true},
				"broken JSON": {piece: "data: {\"type\": nul\n\n"},
				"error told":  {piece: w.failing},
			} {
				t.Run(fmt.Sprintf("%s after %d", name, n), func(t *testing.T) {
					base := serve(t, func(out http.ResponseWriter, r *http.Request) {
						stream(append(append([]string{": hello\n\n"}, w.frames[:n]...), end.piece)...)(out, r)
						if end.abrupt {
							panic(http.ErrAbortHandler)
						}
					})
					_, err := w.connect(base, limits{}).Send(t.Context(), ask, nil)
					want := &model.Fault{Kind: model.FaultProvider, Status: http.StatusOK, Usage: w.usageAfter(n)}
					if diff := diffFault(want, err); diff != "" {
						t.Error(diff)
					}
				})
			}
		}
	})
}

// diffFault compares faults except for their messages, which must not be empty.
func diffFault(want *model.Fault, err error) string {
	got, ok := errors.AsType[*model.Fault](err)
	if !ok {
		return fmt.Sprintf("no fault but %v", err)
	}
	if got.Message == "" || strings.Contains(got.Error(), key) || strings.ContainsAny(got.Message, "\r\n") {
		return fmt.Sprintf("the message is %q", got.Message)
	}
	return cmp.Diff(want, got, cmpopts.IgnoreFields(model.Fault{}, "Message", "Err"))
}

func TestErrorsInTheMidstOfAStream(t *testing.T) {
	told := func(kind string, code any, message string) map[string]string {
		body := obj{"type": "error", "error": obj{"type": kind, "code": code, "message": message}}
		return map[string]string{"anthropic": frame("error", body), "openai": frame("", body)}
	}
	for _, tc := range []struct {
		frames map[string]string
		want   model.Fault
	}{
		{told("overloaded_error", nil, "Overloaded"), model.Fault{Kind: model.FaultProvider, Message: "Overloaded"}},
		{told("api_error", nil, "bad luck with "+key),
			model.Fault{Kind: model.FaultProvider, Message: "bad luck with [key]"}},
		{told("invalid_request_error", nil, "what?"), model.Fault{Kind: model.FaultProvider, Message: "what?"}},
		{told("rate_limit_error", nil, "slowly"), model.Fault{Kind: model.FaultLimit, Message: "slowly"}},
		{told("", 429, "slowly"), model.Fault{Kind: model.FaultLimit, Message: "slowly"}},
		{told("", 502, "upstream"), model.Fault{Kind: model.FaultProvider, Message: "upstream"}},
		{told("authentication_error", nil, "revoked"), model.Fault{Kind: model.FaultAuth, Message: "revoked"}},
		{told("invalid_request_error", "context_length_exceeded", "long"),
			model.Fault{Kind: model.FaultOverflow, Message: "long"}},
		{told("invalid_request_error", nil, "prompt is too long: 9 tokens > 8 maximum"),
			model.Fault{Kind: model.FaultOverflow, Message: "prompt is too long: 9 tokens > 8 maximum"}},
	} {
		eachWire(t, func(t *testing.T, w wireFormat) {
			_, err := w.connect(serve(t, stream(w.frames[0], tc.frames[w.name])), limits{}).Send(t.Context(), ask, nil)
			tc.want.Status, tc.want.Usage = http.StatusOK, w.usageAfter(1)
			if diff := cmp.Diff(&tc.want, err); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// silent servers do nothing useful until the client disconnects.
var silent = map[string]func(w wireFormat, out http.ResponseWriter, r *http.Request){
	"no byte": func(_ wireFormat, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"stalled": func(w wireFormat, out http.ResponseWriter, r *http.Request) {
		stream(w.frames[:4]...)(out, r)
		<-r.Context().Done()
	},
	"only pings": func(w wireFormat, out http.ResponseWriter, r *http.Request) {
		stream(w.frames[:4]...)(out, r)
		for r.Context().Err() == nil {
			stream("event: ping\ndata: {\"type\":\"ping\"}\n\n", ": and a comment\n\n")(out, r)
			select {
			case <-time.After(10 * time.Second): // on the bubble's clock
			case <-r.Context().Done():
			}
		}
	},
	"an error's body that does not end": func(_ wireFormat, out http.ResponseWriter, r *http.Request) {
		out.WriteHeader(http.StatusInternalServerError)
		_ = http.NewResponseController(out).Flush()
		<-r.Context().Done()
	},
}

// A silent server is abandoned after two minutes, and nothing is left over.
func TestSilence(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		for name, server := range silent {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client := w.connect("http://memory",
						limits{http: inMemory(t, func(out http.ResponseWriter, r *http.Request) { server(w, out, r) })})
					begun := time.Now()
					_, err := client.Send(t.Context(), ask, nil)
					fault, ok := errors.AsType[*model.Fault](err)
					if !ok || fault.Kind != model.FaultProvider || fault.Message != "the model sent nothing for 2m0s" {
						t.Errorf("%v", err)
					}
					if took := time.Since(begun); took != 2*time.Minute {
						t.Errorf("it took %s", took)
					}
				})
			})
		}
	})
}

// A slow reply is not a silent server.
func TestSlowness(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		synctest.Test(t, func(t *testing.T) {
			client := w.connect("http://memory",
				limits{idle: time.Minute, http: inMemory(t, func(out http.ResponseWriter, r *http.Request) {
					for _, f := range w.frames {
						time.Sleep(59 * time.Second) // on the bubble's clock
						stream(f)(out, r)
					}
				})})
			got, err := client.Send(t.Context(), ask, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w.want, got); diff != "" {
				t.Error(diff)
			}
		})
	})
}

// A canceled request ends at once with the context's error, wherever it is.
func TestCancelling(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		for name, server := range silent {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client := w.connect("http://memory",
						limits{http: inMemory(t, func(out http.ResponseWriter, r *http.Request) { server(w, out, r) })})
					ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
					defer cancel()
					if _, err := client.Send(ctx, ask, nil); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v", err)
					}
					if _, err := client.Send(ctx, ask, nil); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("and again: %v", err)
					}
				})
			})
		}
	})
}

// A server that never stops sending is cut off.
func TestEndlessReply(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		for name, piece := range map[string]string{
			"frames": w.frames[3], "one line": strings.Repeat("x", 4096), "comments": ": nothing\n\n",
		} {
			t.Run(name, func(t *testing.T) {
				base := serve(t, func(out http.ResponseWriter, r *http.Request) {
					stream(w.frames[0])(out, r)
					for r.Context().Err() == nil {
						if _, err := io.WriteString(out, piece); err != nil {
							return
						}
					}
				})
				_, err := w.connect(base, limits{maxReply: 128 << 10}).Send(t.Context(), ask, nil)
				if diff := diffFault(&model.Fault{Kind: model.FaultProvider, Status: http.StatusOK, Usage: w.usageAfter(1)},
					err); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}

// Token counts are accepted only if they are plausible.
func TestNonsenseUsage(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		for _, figure := range []string{"-33", `"many"`, "33.5", "9223372036854775807", "[]"} {
			said := strings.ReplaceAll(strings.Join(w.frames, ""), `_tokens":33`, `_tokens":`+figure)
			got, err := w.connect(serve(t, stream(said)), limits{}).Send(t.Context(), ask, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := w.want
			want.Usage = nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", figure, diff)
			}
		}
	})
}

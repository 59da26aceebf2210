package model_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/model"
)

// answer serves one body of one type.
func answer(t *testing.T, kind, body string) string {
	t.Helper()
	return serve(t, func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(out, body)
	})
}

// Clients understand a server that never streams.
func TestAReplyThatComesAtOnce(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		body, err := json.Marshal(w.atOnce)
		if err != nil {
			t.Fatal(err)
		}
		var told string
		got, err := w.connect(answer(t, "application/json; charset=utf-8", string(body)), limits{}).Send(t.Context(), ask,
			func(d model.Delta) { told += d.Text })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.want, got); diff != "" {
			t.Error(diff)
		}
		if told != text {
			t.Errorf("told %q", told)
		}
		_, err = w.connect(answer(t, "application/json", string(body)),
			limits{maxReply: int64(len(body) - 1)}).Send(t.Context(), ask, nil)
		if diff := diffFault(&model.Fault{Kind: provider, Status: http.StatusOK}, err); diff != "" {
			t.Errorf("too long: %s", diff)
		}
		_, err = w.connect(serve(t, func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", "application/json")
			_, _ = out.Write(body[:len(body)/2])
			_ = http.NewResponseController(out).Flush()
			panic(http.ErrAbortHandler)
		}), limits{}).Send(t.Context(), ask, nil)
		if diff := diffFault(&model.Fault{Kind: provider, Status: http.StatusOK}, err); diff != "" {
			t.Errorf("cut: %s", diff)
		}
	})
}

// A response that is not from a model is reported with what it is and where it came from, without
// the rest of the address, and is not retried.
func TestWhatIsNoAnswerOfAModel(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		for name, c := range map[string]struct{ kind, body, what string }{
			"a page": {"text/html; charset=utf-8", "<!doctype html><title>Log in</title>",
				"a web page (text/html)"},
			"a page in few words": {"text/html", "It works!", "a web page (text/html)"},
			"other JSON": {"application/json", `{"choices":[],"content":null}`,
				"JSON that is not a model reply (application/json)"},
			"a list":  {"application/json", `[]`, "JSON that is not a model reply (application/json)"},
			"no JSON": {"application/json", `<html>`, "JSON that is not a model reply (application/json)"},
		} {
			t.Run(name, func(t *testing.T) {
				server := answer(t, c.kind, c.body)
				_, err := w.connect(strings.Replace(server, "://", "://me:"+key+"@", 1)+"/"+key+"/v1?token=secret#",
					limits{}).Send(t.Context(), ask, nil)
				fault, ok := err.(*model.Fault) //nolint:errorlint // it is not wrapped
				if !ok {
					t.Fatal(err)
				}
				host := strings.TrimPrefix(server, "http://")
				want := fmt.Sprintf("%s/[key]/v1 returned %s; check the base URL", host, c.what)
				if diff := cmp.Diff(&model.Fault{Kind: refused, Status: http.StatusOK, Message: want}, fault); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}

// A body without a type and without any stream event may be a temporary problem.
func TestAStreamWithoutEvents(t *testing.T) {
	eachWire(t, func(t *testing.T, w wireFormat) {
		for kind, what := range map[string]string{
			"text/plain; charset=utf-8": "text/plain", "text/event-stream": "text/event-stream",
		} {
			base := answer(t, kind, "upstream is gone\n")
			_, err := w.connect(base, limits{}).Send(t.Context(), ask, nil)
			if diff := diffFault(&model.Fault{Kind: provider, Status: http.StatusOK}, err); diff != "" {
				t.Fatal(diff)
			}
			if got, part := err.Error(), strings.TrimPrefix(base, "http://")+
				"/v1/"; !strings.Contains(got, part) || !strings.Contains(got, "("+what+")") {
				t.Errorf("%s: %s", kind, got)
			}
		}
	})
}

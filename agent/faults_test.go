package agent

import (
	"testing"

	"github.com/ralphloop/ralph"
)

func TestErrorWords(t *testing.T) {
	cases := map[string]ralph.EndClass{
		"Authentication required": ralph.EndAuth, "status 403": ralph.EndAuth, "Access token expired": ralph.EndAuth,
		"429 Too Many Requests": ralph.EndLimit, "[resource_exhausted] Error": ralph.EndLimit, "You are out of credits": ralph.EndLimit,
		"503": ralph.EndProvider, "the model is overloaded": ralph.EndProvider, "request timed out": ralph.EndProvider, "stream closed": ralph.EndProvider,
		"no such model": ralph.EndFailed, "4290 files": ralph.EndFailed, "": ralph.EndFailed,
	}
	for words, class := range cases {
		want := fault{class: class, text: words}
		if words == "" {
			want.text = "the agent ended with an error"
		}
		if class == ralph.EndAuth {
			want.hint = "log in"
		}
		if got := *errorWords.fault(words, "log in"); got != want {
			t.Errorf("%q: %+v, want %+v", words, got, want)
		}
	}
}

func TestHTTPFault(t *testing.T) {
	cases := map[int64]*fault{
		0: nil, 400: nil, 404: nil,
		401: {class: ralph.EndAuth, text: "the login was refused (status 401)", hint: "log in"},
		403: {class: ralph.EndAuth, text: "the login was refused (status 403)", hint: "log in"},
		408: {class: ralph.EndProvider, text: "the model failed (status 408)"},
		429: {class: ralph.EndLimit, text: "the usage limit is reached (status 429)"},
		500: {class: ralph.EndProvider, text: "the model failed (status 500)"},
		503: {class: ralph.EndProvider, text: "the model is overloaded (status 503)"},
		529: {class: ralph.EndProvider, text: "the model is overloaded (status 529)"},
	}
	for status, want := range cases {
		got := httpFault(status, "log in")
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%d: %+v, want %+v", status, got, want)
		}
	}
}

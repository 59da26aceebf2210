package stream

import (
	"testing"

	"github.com/ralphloop/ralph"
)

func TestHTTPFault(t *testing.T) {
	cases := map[int64]*Fault{
		0: nil, 400: nil, 418: nil,
		401: {Class: ralph.EndAuth, Text: "the login was refused (status 401)", Hint: "log in"},
		403: {Class: ralph.EndAuth, Text: "the login was refused (status 403)", Hint: "log in"},
		402: {Class: ralph.EndLimit, Text: "the account's credit is used up (status 402)", Hint: CreditHint},
		404: {Class: ralph.EndModel, Text: "the model's server does not know the model (status 404)"},
		408: {Class: ralph.EndProvider, Text: "the model failed (status 408)"},
		429: {Class: ralph.EndLimit, Text: "the usage limit is reached (status 429)"},
		500: {Class: ralph.EndProvider, Text: "the model failed (status 500)"},
		503: {Class: ralph.EndProvider, Text: "the model is overloaded (status 503)"},
		529: {Class: ralph.EndProvider, Text: "the model is overloaded (status 529)"},
	}
	for status, want := range cases {
		got := HTTPFault(status, "log in")
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%d: %+v, want %+v", status, got, want)
		}
	}
}

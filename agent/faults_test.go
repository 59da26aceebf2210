package agent

import (
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
)

func TestErrorWords(t *testing.T) {
	cases := map[string]ralph.EndClass{
		"Authentication required": ralph.EndAuth, "status 403": ralph.EndAuth, "Access token expired": ralph.EndAuth,
		"429 Too Many Requests": ralph.EndLimit, "[resource_exhausted] Error": ralph.EndLimit,
		"You are out of credits": ralph.EndLimit,
		"503":                    ralph.EndProvider, "the model is overloaded": ralph.EndProvider,
		"request timed out": ralph.EndProvider, "stream closed": ralph.EndProvider,
		"no such model": ralph.EndFailed, "4290 files": ralph.EndFailed, "": ralph.EndFailed,
	}
	for words, class := range cases {
		want := stream.Fault{Class: class, Text: words}
		if words == "" {
			want.Text = "the agent ended with an error"
		}
		if class == ralph.EndAuth {
			want.Hint = "log in"
		}
		if got := *errorWords.fault(words, "log in"); got != want {
			t.Errorf("%q: %+v, want %+v", words, got, want)
		}
	}
}

package cli

import (
	"bytes"
	"testing"
)

func TestWrapLine(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want string
	}{
		"short": {"ralph: no such run", "ralph: no such run"},
		"at words": {
			"ralph: the next run would fail; see the list",
			"ralph: the next run would fail; see\n  the list",
		},
		"second column": {
			"ok       git: git version 2.39.5 at /usr/bin/git",
			"ok       git: git version 2.39.5 at\n         /usr/bin/git",
		},
		"indented": {
			"    a row that is indented and does not fit",
			"    a row that is indented and does not\n    fit",
		},
		"a long word": {
			"see https://example.com/a/very/long/address/that/fits/nowhere now",
			"see\n  https://example.com/a/very/long/address/that/fits/nowhere\n  now",
		},
		"wide letters":   {"ralph: 日本語の長い文章です 日本語の長い文章です", "ralph: 日本語の長い文章です\n  日本語の長い文章です"},
		"several spaces": {"", ""},
	} {
		var out bytes.Buffer
		if _, err := (wrapWriter{&out, 40}).Write([]byte(c.line + "\n")); err != nil || out.String() != c.want+"\n" {
			t.Errorf("%s: got %q, %v", name, out.String(), err)
		}
	}
}

//go:build linux && amd64

package faults

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// left is what a traced program left.
type left struct {
	Code  int
	Files map[string]string
}

// The tracer does to a program what the fault says, and nothing else.
func TestTrace(t *testing.T) {
	const script = `echo one >a; echo two >b || exit 3; (echo three >c)`
	whole := map[string]string{"a": "one\n", "b": "two\n", "c": "three\n"}
	for _, c := range []struct {
		fault fault
		at    string
		hit   bool
		want  left
	}{
		{killBefore, "ralph write a #2", false, left{Files: whole}},
		{killBefore, "others write c #1", false, left{Files: whole}},
		{killBefore, "ralph create b #1", true, left{Code: -1, Files: map[string]string{"a": "one\n"}}},
		{killBefore, "ralph write b #1", true, left{Code: -1, Files: map[string]string{"a": "one\n", "b": ""}}},
		{killAfter, "ralph write b #1", true, left{Code: -1, Files: map[string]string{"a": "one\n", "b": "two\n"}}},
		{torn, "ralph write b #1", true, left{Code: -1, Files: map[string]string{"a": "one\n", "b": "tw"}}},
		{ioError, "ralph write b #1", true, left{Code: 3, Files: map[string]string{"a": "one\n", "b": ""}}},
		{noSpace, "ralph write b #1", true, left{Code: 3, Files: map[string]string{"a": "one\n", "b": "tw"}}},
		{noAccess, "ralph create b #1", true, left{Code: 3, Files: map[string]string{"a": "one\n"}}},
		{noMore, "ralph write a #1", true, left{Code: 3, Files: map[string]string{"a": ""}}},
	} {
		t.Run(string(c.fault)+" "+c.at, func(t *testing.T) {
			dir := t.TempDir()
			null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			run, err := trace(order{
				Argv: []string{"/bin/sh", "-c", script, "sh"}, Dir: dir, World: dir, Fault: c.fault, At: c.at, Limit: patience,
				out: null, error: null,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := left{Code: run.Code, Files: map[string]string{}}
			for name := range whole {
				if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
					got.Files[name] = string(text)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if c.hit != (run.Hit == c.at) {
				t.Errorf("hit %q, calls %+v", run.Hit, run.Calls)
			}
		})
	}
}

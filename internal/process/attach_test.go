package process

import (
	"strings"
	"testing"
)

func TestAttachPassesEverythingThrough(t *testing.T) {
	var out, errs strings.Builder
	status, err := Attach(t.Context(), Attached{
		Argv:   Shell(`read answer; echo "got $answer in $(pwd), $GREETING"; echo trouble >&2; exit 3`),
		Dir:    "/",
		Env:    []string{"GREETING=hello", "PATH=/usr/bin:/bin"},
		Stdin:  strings.NewReader("yes\n"),
		Stdout: &out,
		Stderr: &errs,
	})
	if err != nil || status != 3 || out.String() != "got yes in /, hello\n" || errs.String() != "trouble\n" {
		t.Errorf("status %d, error %v, %q, %q", status, err, out.String(), errs.String())
	}
}

func TestAttachToNothing(t *testing.T) {
	if status, err := Attach(t.Context(), Attached{Argv: []string{"/nowhere/login"}}); err == nil || status != -1 {
		t.Errorf("status %d, error %v", status, err)
	}
}

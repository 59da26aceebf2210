package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
)

var (
	isGreen  = ralph.CheckResult{Passed: true}
	isRed    = ralph.CheckResult{ExitCode: 1, Output: "FAIL"}
	isBroken = ralph.CheckResult{Broken: true, ExitCode: 127, Output: "not found"}
)

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

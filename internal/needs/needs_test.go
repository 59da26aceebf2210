package needs_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/needs"
)

// record is a test that notes how it ended.
type record []string

func (r *record) Skip(why ...any)  { *r = append(*r, "skip: "+fmt.Sprint(why...)) }
func (r *record) Fatal(why ...any) { *r = append(*r, "fail: "+fmt.Sprint(why...)) }

func TestAMissingProgram(t *testing.T) {
	for ci, want := range map[string]record{
		"":     {"skip: no-such-program is not installed"},
		"true": {"fail: no-such-program is not installed, and nothing is skipped in CI"},
	} {
		t.Setenv("CI", ci)
		var got record
		here, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		if path := needs.Program(&got, here); path != here {
			t.Errorf("%q, want %q", path, here)
		}
		if path := needs.Program(&got, "no-such-program"); path != "" {
			t.Errorf("%q, want none", path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("CI=%s (-want +got):\n%s", ci, diff)
		}
	}
}

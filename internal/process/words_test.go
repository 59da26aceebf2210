//go:build unix

package process

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAShellReadsWordsBackUnchanged(t *testing.T) {
	args := []string{"plain/path.go:3", "", "two words", "it's", `"$HOME" \ *`, "-x", "a\nb", "ü"}
	var out strings.Builder
	ended, err := runEither(t.Context(), Spec{Argv: Shell(`printf '%s\001' ` + Words(args)), Stdout: Sink{Tap: &out}})
	if err != nil || ended.ExitCode != 0 {
		t.Fatalf("%+v, %v", ended, err)
	}
	if diff := cmp.Diff(args, strings.Split(strings.TrimSuffix(out.String(), "\001"), "\001")); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if got := Words(args[:1]); got != "plain/path.go:3" {
		t.Errorf("%s is quoted for nothing", got)
	}
}

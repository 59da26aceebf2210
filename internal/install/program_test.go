//go:build !windows

package install

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Paths of programs may have any character. The shell of a CLI must call exactly that program, do nothing once it is
// gone, and an uninstall must recognize the hook.
func TestHooksCallAProgramWithAnyPath(t *testing.T) {
	for _, folder := range []string{
		"plain", "a b", "it's", `"quoted"`, "$HOME", "`id`", "a;b&c|d", `back\slash`, "new\nline", "*",
		"(x)", "~", "# hook stop",
	} {
		t.Run(folder, func(t *testing.T) {
			p := newPlace(t, "claude")
			p.Program = filepath.Join(t.TempDir(), folder, "ralph-2.0")
			write(t, p.Program, "#!/bin/sh\nprintf '%s' \"$0 $*\"\n")
			if err := os.Chmod(p.Program, 0o755); err != nil {
				t.Fatal(err)
			}
			settings, _, err := withHooks(nil, p.program())
			if err != nil {
				t.Fatal(err)
			}
			var read struct{ Hooks map[string][]hookGroup }
			if err := json.Unmarshal(settings, &read); err != nil {
				t.Fatal(err)
			}
			got, want := map[string]string{}, map[string]string{}
			runAll := func(when string) {
				for _, h := range eventHooks {
					command := read.Hooks[h.event][0].Hooks[0].Command
					out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
					got[when+h.event] = fmt.Sprintf("%s, error: %v", out, err)
				}
			}
			runAll("")
			if err := os.Remove(p.Program); err != nil {
				t.Fatal(err)
			}
			runAll("without the program: ")
			for _, h := range eventHooks {
				want[h.event] = p.Program + " " + h.call + ", error: <nil>"
				want["without the program: "+h.event] = ", error: <nil>"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if rest, _, err := withoutHooks(settings, nil); err != nil || string(rest) != "{}\n" {
				t.Errorf("%v, left: %s", err, rest)
			}
		})
	}
}

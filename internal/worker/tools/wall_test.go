package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// TestASandboxThatFailsIsNotTheModelsMatter: a command that cannot be started differs from one that failed.
func TestASandboxThatFailsIsNotTheModelsMatter(t *testing.T) {
	const complaint = "bwrap: Can't find source path /gone: No such file or directory"
	folder := t.TempDir()
	wall := filepath.Join(folder, "wall") // works as long as there is no file beside it that says otherwise
	script := "#!/bin/sh\nif [ -e " + folder + "/broken ]; then echo \"" + complaint + "\" >&2; exit 1; fi\nexec \"$@\"\n"
	if err := os.WriteFile(wall, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	behind := func(program string) func(*process.Spec) {
		return func(s *process.Spec) { s.Argv = append([]string{program}, s.Argv...) }
	}
	missing := filepath.Join(folder, "missing")
	notFound := "start " + missing + ": program not found"
	const lost = "the command was not run: the sandbox failed: "
	for name, c := range map[string]struct {
		program string
		tier    sandbox.Tier
		command string
		want    Output
	}{
		"it works": {wall, sandbox.Bwrap, "echo yes", Output{Text: "yes\n[exit code 0]\n"}},
		"the command says the same": {wall, sandbox.Bwrap, "echo 'bwrap: no'; exit 1",
			Output{Text: "bwrap: no\n[exit code 1]\n", Failed: true}},
		"it fails": {wall, sandbox.Bwrap, "echo yes; # broken",
			Output{Text: lost + complaint, Failed: true, NoSandbox: complaint}},
		"no sandbox": {wall, sandbox.None, "echo yes; # broken",
			Output{Text: complaint + "\n[exit code 1]\n", Failed: true}},
		"it does not start": {missing, sandbox.Bwrap, "echo yes",
			Output{Text: lost + notFound, Failed: true, NoSandbox: notFound}},
		"something else does not start": {missing, "", "echo yes",
			Output{Text: "the command could not be started: " + notFound, Failed: true}},
	} {
		t.Run(name, func(t *testing.T) {
			broken := filepath.Join(folder, "broken")
			if strings.HasSuffix(c.command, "# broken") {
				if err := os.WriteFile(broken, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				defer os.Remove(broken)
			}
			p := placeIn(t, t.TempDir(), nil, Options{Enter: behind(c.program), Sandbox: c.tier})
			if diff := cmp.Diff(c.want, p.call("bash", bashInput{Command: c.command})); diff != "" {
				t.Errorf("bash (-want +got):\n%s", diff)
			}
		})
	}
}

package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/term"
	"github.com/ralphloop/ralph/internal/text"
)

func TestEveryExitCodeIsExplained(t *testing.T) {
	for _, kind := range ralph.Outcomes() {
		if exitMeanings[kind.Code] == "" {
			t.Errorf("ralph help exit-codes does not explain %d", kind.Code)
		}
	}
	if len(exitMeanings) != len(ralph.Outcomes()) {
		t.Errorf("%d exit codes are explained, and there are %d", len(exitMeanings), len(ralph.Outcomes()))
	}
}

func TestHelpFitsEightyColumns(t *testing.T) {
	for _, page := range [][]string{{"--help"}, {"help", "exit-codes"}, {"help", "environment"}} {
		checkWidth(t, strings.Join(page, " "), helpOf(t, page...))
	}
	for _, cmd := range Commands() {
		checkWidth(t, cmd, helpOf(t, append(strings.Fields(cmd), "--help")...))
	}
}

func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	streams := Streams{Args: args, In: strings.NewReader(""), Out: &out, Err: &out, Dir: t.TempDir()}
	if code := Main(t.Context(), streams); code != 0 {
		t.Fatalf("ralph %v exits with %d\n%s", args, code, &out)
	}
	return out.String()
}

func checkWidth(t *testing.T, about, page string) {
	t.Helper()
	for line := range strings.Lines(page) {
		if line = strings.TrimSuffix(line, "\n"); text.Width(line) > helpWidth {
			t.Errorf("the help of %s has a line of %d columns: %s", about, text.Width(line), line)
		}
	}
}

func TestStatOfAPatch(t *testing.T) {
	patch := strings.Join([]string{
		"M\ta.txt",
		"A\tsome name.bin",
		"",
		"diff --git a/a.txt b/a.txt",
		"index 1..2 100644",
		"--- a/a.txt",
		"+++ b/a.txt",
		"@@ -1,2 +1,3 @@",
		" same",
		"-old",
		"+new",
		"+--- more",
		"diff --git a/some name.bin b/some name.bin",
		"new file mode 100644",
		"Binary files /dev/null and b/some name.bin differ",
		"",
	}, "\n")
	want := " a.txt         | +2 -1\n some name.bin | binary\n 2 files changed, 2 lines added, 1 line deleted\n"
	if got := diffStat(patch, term.Style{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := diffStat("", term.Style{}); got != "" {
		t.Errorf("got %q for no patch", got)
	}
	if got := colorPatch(patch, term.Style{}); got != patch {
		t.Errorf("without colors the patch changed:\n%s", got)
	}
	painted := colorPatch(patch, term.Style{Color: true})
	for _, line := range []string{"\x1b[32m+new\x1b[0m", "\x1b[31m-old\x1b[0m", "\x1b[36m@@ -1,2 +1,3 @@\x1b[0m"} {
		if !strings.Contains(painted, line) {
			t.Errorf("%q is not in\n%s", line, painted)
		}
	}
}

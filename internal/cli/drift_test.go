package cli_test

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/cli"
	"github.com/ralphloop/ralph/internal/contract"
)

// internal/contract compares the commands and the flags of run, with the list of what is still to
// come. This file compares the rest of the names, which are complete.

func contractPage(t *testing.T) contract.Page {
	t.Helper()
	text, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	return contract.Parse(string(text))
}

var helpFlag = regexp.MustCompile(`(?m)^ +(?:-\w, |    )--([a-z-]+)`)

// helpFlags lists the flags that a command's help text shows.
func helpFlags(t *testing.T, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	if code := cli.Main(context.Background(), cli.Streams{Args: append(args, "--help"), Out: &out, Err: &out}); code != 0 {
		t.Fatalf("help of %q: exit status %d: %s", args, code, &out)
	}
	var names []string
	for _, match := range helpFlag.FindAllStringSubmatch(out.String(), -1) {
		names = append(names, match[1])
	}
	slices.Sort(names)
	return names
}

func TestGlobalFlagsAreThePages(t *testing.T) {
	// The page names -C and -h by their letters alone. It does not mention that --version is the
	// command version.
	want := slices.Sorted(slices.Values(append(contractPage(t).GlobalFlags(), "dir", "help", "version")))
	if diff := cmp.Diff(want, helpFlags(t)); diff != "" {
		t.Errorf("global flags (-page +code):\n%s", diff)
	}
}

func TestEveryCommandTakesTheGlobalFlags(t *testing.T) {
	global := helpFlags(t)
	for _, command := range cli.Commands() {
		args := regexp.MustCompile(` `).Split(command, -1)
		flags := helpFlags(t, args...)
		for _, name := range global {
			if name != "version" && !slices.Contains(flags, name) {
				t.Errorf("ralph %s has no --%s", command, name)
			}
		}
	}
}

func TestResumeFlagsAreThePages(t *testing.T) {
	var want []string
	for _, row := range contractPage(t).Table("command").Rows {
		if match := regexp.MustCompile("^`ralph resume (.*)`$").FindStringSubmatch(row[0]); match != nil {
			for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(match[1], -1) {
				want = append(want, flag[1])
			}
		}
	}
	slices.Sort(want)
	global := helpFlags(t)
	got := slices.DeleteFunc(helpFlags(t, "resume"), func(name string) bool { return slices.Contains(global, name) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags of resume (-page +code):\n%s", diff)
	}
}

package gitrepo_test

import (
	"strings"
	"testing"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/gittest"
	"github.com/ralphloop/ralph/internal/process"
)

func TestMessage(t *testing.T) {
	run := gitrepo.Trailer{Key: gitrepo.TrailerRun, Value: "r1"}
	cases := map[string]struct{ subject, body, want string }{
		"plain":              {"add x", "", "add x\n\nRalph-Run: r1\n"},
		"with a body":        {"add x", "because\n\n- of y  \r\n", "add x\n\nbecause\n\n- of y\n\nRalph-Run: r1\n"},
		"nothing to say":     {" \n", "\n\n", "work in progress\n\nRalph-Run: r1\n"},
		"several lines":      {"add x\nRalph-Run: forged\x1b[31m", "", "add x Ralph-Run: forged [31m\n\nRalph-Run: r1\n"},
		"control characters": {"a\x00b\tc", "d\x07e\tf\x1b", "a b c\n\nde\tf\n\nRalph-Run: r1\n"},
		"72 are fine":        {strings.Repeat("x", 72), "", strings.Repeat("x", 72) + "\n\nRalph-Run: r1\n"},
		"cut at a word": {
			strings.Repeat("word ", 20),
			"",
			strings.TrimSpace(strings.Repeat("word ", 14)) + "…\n\nRalph-Run: r1\n",
		},
		"cut after a word": {
			strings.Repeat("x", 60) + " " + strings.Repeat("y", 10) + " z",
			"",
			strings.Repeat("x", 60) + " " + strings.Repeat("y", 10) + "…\n\nRalph-Run: r1\n",
		},
		"one long word":       {strings.Repeat("é", 100), "", strings.Repeat("é", 71) + "…\n\nRalph-Run: r1\n"},
		"invalid text":        {"a\xff", "b\xff", "a\ufffd\n\nb\ufffd\n\nRalph-Run: r1\n"},
		"looks like a patch":  {"a", "b\n---\n c\n--- a/x\n----", "a\n\nb\n ---\n c\n --- a/x\n----\n\nRalph-Run: r1\n"},
		"a comment to an eye": {"#1 is done", "# title", "#1 is done\n\n# title\n\nRalph-Run: r1\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := gitrepo.Message(c.subject, c.body, run); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMessageHasTrailersThatGitReads(t *testing.T) {
	for _, body := range []string{"", "text", "Signed-off-by: somebody", "x\n---\ny: z",
		"Ralph-Run: forged\n\nRalph-Task: forged", "diff --git a b\n\n# x"} {
		t.Run(body, func(t *testing.T) {
			w := gittest.NewFolder(t)
			w.Write("message", gitrepo.Message(
				"subject: x",
				body,
				gitrepo.Trailer{
					Key:   gitrepo.TrailerRun,
					Value: "r1\nx",
				},
				gitrepo.Trailer{Key: gitrepo.TrailerIteration, Value: "3"},
				gitrepo.Trailer{Key: gitrepo.TrailerTask, Value: " "},
				gitrepo.Trailer{Key: "Odd key: é", Value: "v"},
			))
			want := "Ralph-Run: r1 x\nRalph-Iteration: 3\nOddkey: v"
			if got := w.Git("interpret-trailers", "--parse", "message"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func FuzzMessage(f *testing.F) {
	f.Add("subject", "body\n---\n", "value")
	f.Fuzz(func(t *testing.T, subject, body, value string) {
		got := gitrepo.Message(subject, body, gitrepo.Trailer{Key: "A", Value: "1"}, gitrepo.Trailer{Key: "B", Value: value})
		first, rest, _ := strings.Cut(got, "\n")
		if first == "" || len([]rune(first)) > 72 || !strings.HasPrefix(rest, "\n") {
			t.Errorf("subject %q, then %.20q", first, rest)
		}
		last := got[strings.LastIndex(got, "\n\n")+2:]
		if lines := strings.Split(last, "\n"); lines[0] != "A: 1" || len(lines) > 3 {
			t.Errorf("trailers are %q", last)
		}
	})
}

// run runs any program in the workspace and returns how it ended.
func runProgram(w gittest.Workspace, argv ...string) process.Result {
	w.Helper()
	ended, err := process.Run(w.Context(), process.Spec{Argv: argv, Dir: w.Dir, Env: gittest.Environment()})
	if err != nil {
		w.Fatal(err)
	}
	return ended
}

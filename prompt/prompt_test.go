package prompt

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/promise"
)

var update = flag.Bool("update", false, "write the golden files anew")

var defaultTags = []string{"COMPLETE", "DONE"}

// plain is the first iteration of a run with a goal and a check.
func plain() Input {
	return Input{Ordinal: 1, Of: 10, Goal: "Make `add` handle negative numbers.", Tags: defaultTags, Checks: []string{"go test ./..."}}
}

func later(change func(in *Input)) Input {
	in := plain()
	in.Ordinal = 2
	change(&in)
	return in
}

// situations are the prompts that are kept as golden files.
func situations() map[string]Input {
	red := []Failure{{Name: "go test ./...", How: "exit 1", Output: "--- FAIL: TestAdd\n# heading of the output\n    add_test.go:9: got 3, want -3\n"}}
	return map[string]Input{
		"first":        plain(),
		"failed_check": later(func(in *Input) { in.Failed = red }),
		"refused_claim": later(func(in *Input) {
			in.Failed = red
			in.Refusals = []Refusal{{"check_failed", "go test ./... (exit 1) failed"}, {"unfinished", "added lines look unfinished: add.go: TODO"}}
		}),
		"green_without_claim": later(func(in *Input) { in.GreenNoClaim = true }),
		"status_required": later(func(in *Input) {
			in.StatusRequired, in.StatusProblem, in.Recommendation = true, "the field RECOMMENDATION is missing", "write the parser first"
			in.Mismatches = []string{"FILES_MODIFIED says 0, and files changed"}
		}),
		"diagnose":    later(func(in *Input) { in.Diagnose, in.Failed = "3 iterations in a row without progress", red }),
		"spec":        later(func(in *Input) { in.SpecFile, in.Goal = "docs/spec.md", "# Spec\n\nIt adds.\n" }),
		"template":    later(func(in *Input) { in.Template, in.Goal, in.Checks = "You are careful.\n\nRead AGENTS.md.\n", "", nil }),
		"unlimited":   later(func(in *Input) { in.Ordinal, in.Of, in.Tags = 37, 0, []string{"SHIPPED"} }),
		"last_failed": later(func(in *Input) { in.LastError, in.Mentions = "timed out after 2h", []string{"a tag in a sentence"} }),
	}
}

func TestGoldenPrompts(t *testing.T) {
	for name, in := range situations() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "golden", name+".md")
			got := Join(Build(in))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("prompt (-want +got), rewrite with -update:\n%s", diff)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.md"))
	if err != nil || len(files) != len(situations()) {
		t.Errorf("%d golden files for %d situations: %v", len(files), len(situations()), err)
	}
}

// An agent that repeats the prompt, or one line of it, has claimed nothing.
func TestNoPromptClaimsAnything(t *testing.T) {
	for name, in := range situations() {
		for _, tags := range [][]string{defaultTags, {"SHIPPED"}, {"TYPE"}, {"text"}} {
			in.Tags = tags
			text := Join(Build(in))
			t.Run(fmt.Sprint(name, tags), func(t *testing.T) {
				words := promise.Options{CompletionTags: tags}
				mustClaimNothing(t, text, promise.Parse(text, words))
				mustClaimNothing(t, "quoted whole", promise.Parse("```\n"+text+"\n```", words))
				lines := strings.Split(text, "\n")
				for i, line := range lines {
					mustClaimNothing(t, line, promise.Parse(line, words))
					mustClaimNothing(t, line, promise.Parse(strings.TrimLeft(line, " -#"), words))
					if i > 0 {
						pair := lines[i-1] + "\n" + line
						mustClaimNothing(t, pair, promise.Parse(pair, words))
					}
				}
				words.Prompt = text
				mustClaimNothing(t, "an echo", promise.Parse(text, words))
			})
		}
	}
}

func mustClaimNothing(t *testing.T, text string, said promise.Report) {
	t.Helper()
	if said.Complete || said.Blocked != nil || said.Decide != nil || said.Status != nil || len(said.TasksDone) > 0 {
		t.Errorf("%q makes a report: %+v", text, said)
	}
}

func TestEveryPartHasACapAndAMark(t *testing.T) {
	long := strings.Repeat("äöü ", 50_000)
	in := Input{
		Ordinal: 1, Template: long, Goal: long, Tags: []string{long}, Checks: []string{long}, Diagnose: long, Refusals: []Refusal{{"check_failed", long}}, Recommendation: long,
		Failed: []Failure{{Name: "a", How: "exit 1", Output: long}, {Name: "b", How: "timed out", Output: long}},
	}
	caps := map[string]int{
		"prompt_file": goalCap, "goal": goalCap, "signals": adviceCap, "checks": adviceCap, "diagnose": adviceCap, "refusals": adviceCap,
		"recommendation": adviceCap, "failed_checks": 2 * (checkCap + 200), "iteration": adviceCap,
	}
	mark := regexp.MustCompile(`\n\[… (\d+) characters cut …\]\n`)
	var names []string
	for _, part := range Build(in) {
		names = append(names, part.Name)
		bare := mark.ReplaceAllString(part.Text, "")
		if n := utf8.RuneCountInString(bare); n > caps[part.Name] || !utf8.ValidString(part.Text) {
			t.Errorf("%s has %d characters, more than its cap of %d", part.Name, n, caps[part.Name])
		}
		marked := strings.Contains(part.Text, "characters cut …]")
		if wantCut := part.Name != "iteration"; marked != wantCut || part.Truncated != wantCut && part.Name != "failed_checks" {
			t.Errorf("%s: marked %v, truncated %v", part.Name, marked, part.Truncated)
		}
	}
	want := []string{"prompt_file", "goal", "iteration", "signals", "checks", "diagnose", "failed_checks", "refusals", "recommendation"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
		cut   bool
	}{
		{"", 0, "", false},
		{"short", 5, "short", false},
		{"äöüß", 4, "äöüß", false},
		{"0123456789abcdefghij", 10, "012\n[… 10 characters cut …]\ndefghij", true},
		{"äöüäöüäöüäöüäöüäöüäöü", 10, "äöü\n[… 11 characters cut …]\nüäöüäöü", true},
	} {
		got, cut := Cut(tt.text, tt.limit)
		if got != tt.want || cut != tt.cut {
			t.Errorf("Cut(%q, %d) = %q, %v; want %q, %v", tt.text, tt.limit, got, cut, tt.want, tt.cut)
		}
	}
	text := strings.Repeat("x", 12_345)
	got, _ := Cut(text, 1000)
	number := regexp.MustCompile(`\d+`).FindString(got)
	if n, err := strconv.Atoi(number); err != nil || n+strings.Count(got, "x") != len(text) {
		t.Errorf("the mark tells %s characters, and %d of %d are left: %v", number, strings.Count(got, "x"), len(text), err)
	}
}

func TestPartsAreKnownByTheirHash(t *testing.T) {
	parts := Build(plain())
	hashes := map[string]bool{}
	for _, p := range parts {
		hashes[p.Hash()] = true
		if p.Hash() != Hash(p.Text) || len(p.Hash()) != 16 {
			t.Errorf("hash %q", p.Hash())
		}
	}
	if len(hashes) != len(parts) {
		t.Errorf("%d hashes for %d parts", len(hashes), len(parts))
	}
	if !slices.EqualFunc(parts, Build(plain()), func(a, b Part) bool { return a == b }) {
		t.Error("the same facts give another prompt")
	}
}

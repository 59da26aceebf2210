package evaluate

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestPrompts(t *testing.T) {
	everything := ralph.EvaluationInput{
		Task: "T-7", Title: "Parse dates", Goal: "Parse ISO dates.\nReject others.",
		Criteria: []string{"1 is parsed", " two\nlines ", ""},
		Diff:     "--- a/date.go\n+++ b/date.go\n+// accept this\n+\u202e\x1b[1m```\n", DiffCut: true,
		Checks: []ralph.CheckResult{
			{
				Name: "go test ./...", Passed: true, Output: "ok  date 0.1s\nok  other\n",
				Duration: ralph.Span(1500 * time.Millisecond), Isolation: "overlay", Attribution: ralph.CheckFixed,
				Proof: &ralph.Proof{Canary: ralph.CanaryRed, Tests: 12},
			},
			{
				Name: "make lint", Passed: true, Isolation: "inplace", NeedsAccess: ralph.AccessInPlace, Flaked: true,
				Attempts: 3, Proof: &ralph.Proof{Canary: ralph.CanaryMute, Lost: 2, Missing: []string{"TestA", "TestB"}},
			},
			{
				Name: "secret test", Passed: true, Hidden: true, Output: "secret", Isolation: "copy",
				Proof: &ralph.Proof{Canary: ralph.CanaryGreen, Lost: 1, Missing: []string{"TestSecret"}},
			},
		},
		TestChanges: &ralph.BaseTestsRun{Files: []string{"date_test.go"}, Old: []ralph.CheckResult{
			{Name: "go test ./...", ExitCode: 1, TimedOut: true, Output: "FAIL TestDate\n"},
		}},
		Undone: []ralph.UndoneTask{{Task: "T1", Check: "go test ./...", Tests: []string{"TestDay"}}},
		Case:   "See date.go:3.",
		Ledger: []ralph.Evaluation{
			{Category: ralph.RejectedGap, Concern: "the oldest of six", NextStep: "x", End: ralph.EndOK},
			{
				Category: ralph.RejectedGap, Concern: "no rejection of\nothers",
				Evidence: []string{"date.go:3", "date.go:9"}, NextStep: "reject them", End: ralph.EndOK,
			},
			{End: ralph.EndLimit, Error: "a limit"},
			{Category: ralph.RejectedInvalid, Concern: "not JSON", End: ralph.EndOK},
			{
				Category: ralph.RejectedInvalid, Concern: "a no in another form", NextStep: "fix it", Malformed: true,
				End: ralph.EndOK,
			},
			{Category: ralph.RejectedScope, Concern: "three", NextStep: "y", End: ralph.EndOK},
			{Accepted: true, Evidence: []string{"date.go:4"}, End: ralph.EndOK},
			{Category: ralph.RejectedScope, Concern: "five", NextStep: "z"},
		},
		Recurring: map[ralph.Rejection]int{
			ralph.RejectedScope: 2, ralph.RejectedGap: 3, ralph.RejectedInvalid: 5, ralph.RejectedHalf: 1,
		},
	}
	s := secret{boundary: strings.Repeat("b", 32), nonce: strings.Repeat("c", 32)}
	for name, got := range map[string]string{
		"everything": buildPrompt(everything, s, priorAnswers{
			problems:  []string{`the category "ugly" is not in the list`},
			rejection: &rejection{verdict: verdict{Concern: "it is ugly"}},
		}),
		"little": buildPrompt(ralph.EvaluationInput{Goal: "Do it."}, s, priorAnswers{}),
		"tests-pass": buildPrompt(
			ralph.EvaluationInput{Title: "A title", Goal: "Do it.", Diff: "+x", TestChanges: &ralph.BaseTestsRun{
				Files: []string{"a"}, OldPassed: true,
			}},
			s, priorAnswers{},
		),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".md")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if strings.Contains(got, "{{") {
				t.Error("a placeholder was left")
			}
		})
	}
}

func TestEveryCategoryHasAMeaning(t *testing.T) {
	for _, r := range ralph.Rejections() {
		if meanings[r] == "" {
			t.Errorf("%s has none", r)
		}
	}
	if len(meanings) != len(ralph.Rejections()) {
		t.Errorf("%d meanings for %d categories", len(meanings), len(ralph.Rejections()))
	}
}

// TestPromptsAreBounded: the question stays readable, regardless of how large the work is.
func TestPromptsAreBounded(t *testing.T) {
	huge := strings.Repeat("wörds and\n", 20_000)
	many := make([]string, 1000)
	results := make([]ralph.CheckResult, 1000)
	for i := range many {
		many[i] = huge[:5000]
	}
	for i := range results {
		results[i] = ralph.CheckResult{Name: huge[:5000], Passed: true, Output: huge[:5000]}
	}
	ledger := make([]ralph.Evaluation, 100)
	for i := range ledger {
		ledger[i] = ralph.Evaluation{Category: ralph.RejectedGap, Concern: huge, NextStep: huge, Evidence: many}
	}
	got := buildPrompt(ralph.EvaluationInput{
		Title: huge, Goal: huge, Criteria: many, Diff: huge, Checks: results,
		TestChanges: &ralph.BaseTestsRun{Files: many, Old: results}, Case: huge, Ledger: ledger,
	}, secret{"b", "n"}, priorAnswers{})
	if size := utf8.RuneCountInString(got); size > 300_000 || size < 100_000 {
		t.Errorf("%d characters", size)
	}
	for _, mark := range []string{"characters cut", "The middle of it was cut out", "950 more checks", "900 more files"} {
		if !strings.Contains(got, mark) {
			t.Errorf("%q is not told", mark)
		}
	}
}

package prompt

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// longest is what no prompt exceeds, in characters. Most of it is a goal and a prompt file of the greatest length, and output that is nothing but line breaks.
const longest = 400_000

func TestEveryPartHasACapAndAMark(t *testing.T) {
	long := strings.Repeat("äöü ", 50_000)
	in := Input{
		Ordinal: 1, Template: long, ProjectRoot: "/home/ada", Goal: long, Steering: []string{long}, Answers: slicesOf(3, Answer{long, long}), OpenQuestion: long,
		Task: &Task{ID: "T-1", Title: "x", Description: long, Acceptance: []string{long}, Checks: []string{long}}, ListFile: "PLAN.md",
		Plan: slicesOf(1000, PlanLine{ID: "T-1", Title: "a task with a title of some words", Status: "pending"}), Checks: []string{long}, Diff: long, Progress: long, Learnings: long,
		Refusals: []Refusal{{"check_failed", long}}, Recommendation: long, Diagnose: "no progress",
		Failed: []Failure{{Name: "a", How: "exit 1", Output: long}, {Name: "b", How: "timed out", Output: long}},
	}
	const ownWords = 1_500
	caps := map[string]int{
		"steering": steeringCap, "prompt_file": goalCap, "goal": goalCap, "task": descriptionCap + acceptanceCap, "iteration": 0, "commits": 0, "signals": 0,
		"checks": 2 * adviceCap, "plan": planCap, "diff": diffCap, "diagnose": 0, "failed_checks": 2 * checkCap, "refusals": adviceCap, "recommendation": adviceCap,
		"progress": progressCap, "learnings": learningsCap, "answers": answersCap + checkCap,
	}
	mark := regexp.MustCompile(`\[… \d+ (characters cut|more|done) …\]`)
	var names []string
	for _, part := range Build(in) {
		names = append(names, part.Name)
		if n := utf8.RuneCountInString(part.Text); n > caps[part.Name]+ownWords || n < caps[part.Name]*3/4 || !utf8.ValidString(part.Text) {
			t.Errorf("%s has %d characters, and its cap is %d", part.Name, n, caps[part.Name])
		}
		if bounded := caps[part.Name] > 0; mark.MatchString(part.Text) != bounded || part.Truncated != bounded {
			t.Errorf("%s: marked %v, truncated %v", part.Name, !bounded, part.Truncated)
		}
	}
	want := []string{
		"steering", "prompt_file", "goal", "task", "iteration", "commits", "signals", "checks", "plan", "diff", "diagnose", "failed_checks", "refusals",
		"recommendation", "progress", "learnings", "answers",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func slicesOf[T any](n int, one T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = one
	}
	return all
}

func TestOutputIsCutWithItsEndKept(t *testing.T) {
	in := plain()
	in.Failed = []Failure{{"make", "exit 2", strings.Repeat("a", 700) + strings.Repeat("b", 900) + strings.Repeat("c", 1300)}}
	want := "# Checks that failed last time\n\n## `make` (exit 2)\n\n> " + strings.Repeat("a", 700) + "\n> [… 900 characters cut …]\n> " + strings.Repeat("c", 1300)
	if diff := cmp.Diff(Part{Name: "failed_checks", Text: want, Truncated: true}, failures(in), cmp.AllowUnexported(Part{})); diff != "" {
		t.Errorf("failed checks (-want +got):\n%s", diff)
	}
	in.Failed = slicesOf(failedShown+3, Failure{"make", "exit 2", ""})
	got := failures(in)
	if n := strings.Count(got.Text, "## `make`"); n != failedShown || !got.Truncated || !strings.HasSuffix(got.Text, "So did 3 more checks.") {
		t.Errorf("%d checks are told of %d: %q", n, len(in.Failed), got.Text)
	}
}

// Whatever grows in a run, its prompts do not.
func TestPromptsAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	units := []string{"x", "\n", "ä ", "word word\n", "<promise>DONE</promise>\n", "`", "{{diff}}", "{{project_root}}", "\xff", "\r"}
	for range 40 {
		text := func() string {
			return strings.Repeat(units[random.IntN(len(units))], random.IntN(1<<(4+random.IntN(12))))
		}
		in := hostile(text())
		in.Ordinal, in.Of, in.Goal, in.Template = random.Int(), random.Int(), text(), text()
		in.Diff, in.Progress, in.ProjectRoot = text(), text(), text()
		many := 1 + random.IntN(20)
		in.Steering, in.Checks, in.Tags = slicesOf(many, text()), slicesOf(many, text()), slicesOf(many, text())
		in.Plan, in.Failed = slicesOf(many*20, PlanLine{ID: text(), Title: text(), Own: many%2 == 0}), slicesOf(many, Failure{text(), text(), text()})
		in.Answers, in.Mismatches = slicesOf(many, Answer{text(), text()}), slicesOf(many, text())
		in.Task.Description, in.Task.Acceptance = text(), slicesOf(many, text())
		in.Tampered, in.Unseen, in.Rejections = slicesOf(many, text()), slicesOf(many, text()), slicesOf(many, Rejection{Concern: text(), Evidence: []string{text()}})
		if n := utf8.RuneCountInString(Join(Build(in))); n > longest {
			t.Errorf("a prompt of %d characters", n)
		}
	}
}

// The thousandth prompt is as long as the tenth, the digits of its numbers aside.
func TestPromptsDoNotGrowWithTheRun(t *testing.T) {
	at := func(ordinal int) string {
		in := laterTask(func(in *Input) {
			in.Ordinal, in.Of, in.Task.Try = ordinal, 1000, ordinal
			in.Diff = strings.Repeat("+ a line that was added\n", 100*ordinal)
			in.Learnings = strings.Repeat("- what was learned\n", 100*ordinal)
			in.Steering = slicesOf(ordinal*100, "one more thing")
			in.Answers = slicesOf(ordinal*100, Answer{"Which?", "That."})
			for i := range ordinal {
				in.Progress += fmt.Sprintf("## Iteration %04d\n\n%s\n", i, strings.Repeat("It went on. ", 50))
			}
			for i := range 2000 {
				line := PlanLine{ID: fmt.Sprintf("T-%04d", i), Title: "a task of the list", Status: "pending", Own: i == ordinal}
				if i < ordinal {
					line.Status = "done"
				}
				in.Plan = append(in.Plan, line)
			}
		})
		return regexp.MustCompile(`\d+`).ReplaceAllString(Join(Build(in)), "N")
	}
	if early, late := utf8.RuneCountInString(at(10)), utf8.RuneCountInString(at(1000)); late > early+100 || early < 20_000 {
		t.Errorf("iteration 10 has %d characters, iteration 1000 has %d", early, late)
	}
}

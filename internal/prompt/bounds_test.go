package prompt

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
)

// longest is the maximum length of a prompt in characters. Most of it is a goal and a prompt file
// of maximum length, and output that consists only of line breaks.
const longest = 400_000

func TestEveryPartHasACapAndAMark(t *testing.T) {
	long := strings.Repeat("äöü ", 50_000)
	task := ralph.TaskState{ID: "T-1", Title: "a task with a title of some words", Status: ralph.TaskPending}
	in := ralph.PromptInput{
		Ordinal: 1, Template: long, Dir: "/home/ada", Goal: long, Steering: steeringOf("", long),
		Answers: slicesOf(3, ralph.AnswerGiven{Question: long, Answer: long}), OpenQuestion: long,
		Task:     &ralph.Task{ID: "T-1", Title: "x", Description: long, Acceptance: []string{long}, Checks: []string{long}},
		ListFile: "PLAN.md",
		Tasks:    slicesOf(1000, task), Checks: []string{long}, Diff: long, Progress: long, Learnings: long,
		Diagnose: "no progress",
		Last: ralph.Feedback{
			Refusals: []ralph.Refusal{{Code: "check_failed", Detail: long}}, Recommendation: long,
			Failed: []ralph.CheckResult{{Name: "a", ExitCode: 1, Output: long}, {Name: "b", TimedOut: true, Output: long}},
		},
	}
	const ownWords = 1_500
	caps := map[string]int{
		"steering": steeringCap, "prompt_file": goalCap, "goal": goalCap, "task": descriptionCap + acceptanceCap,
		"iteration": 0, "commits": 0, "signals": 0,
		"checks": 2 * adviceCap, "plan": planCap, "diff": diffCap, "diagnose": 0, "failed_checks": 2 * checkCap,
		lastTime: adviceCap, "recommendation": adviceCap,
		"progress": progressCap, "learnings": learningsCap, "answers": answersCap + checkCap,
	}
	mark := regexp.MustCompile(`\[… \d+ (characters cut|more|done) …\]`)
	var names []string
	for _, p := range arrange(in) {
		names = append(names, p.name)
		if n := utf8.RuneCountInString(p.text); n > caps[p.name]+ownWords || n < caps[p.name]*3/4 ||
			!utf8.ValidString(p.text) {
			t.Errorf("%s has %d characters, and its cap is %d", p.name, n, caps[p.name])
		}
		if bounded := caps[p.name] > 0; mark.MatchString(p.text) != bounded || p.truncated != bounded {
			t.Errorf("%s: marked %v, truncated %v", p.name, !bounded, p.truncated)
		}
	}
	want := []string{
		"steering", "prompt_file", "goal", "task", "iteration", "commits", "signals", "checks", "plan", "diff", "diagnose",
		"failed_checks", lastTime,
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
	in.Last.Number, in.Last.Failed = 1, []ralph.CheckResult{
		{Name: "make", ExitCode: 2, Output: strings.Repeat("a", 700) + strings.Repeat("b", 900) + strings.Repeat("c", 1300)},
	}
	want := "# Checks that failed last time\n\n## `make` (exit 2)\n\n> " + strings.Repeat("a", 700) +
		"\n> [… 900 characters cut …]\n> " + strings.Repeat("c", 1300)
	got, truncated := failures(in)
	if diff := cmp.Diff(want, got); diff != "" || !truncated {
		t.Errorf("failed checks, truncated: %v (-want +got):\n%s", truncated, diff)
	}
	in.Last.Failed = slicesOf(failedShown+3, ralph.CheckResult{Name: "make", ExitCode: 2})
	got, truncated = failures(in)
	if n := strings.Count(got, "## `make`"); n != failedShown || !truncated ||
		!strings.HasSuffix(got, "So did 3 more checks.") {
		t.Errorf("%d checks are told of %d: %q", n, len(in.Last.Failed), got)
	}
}

// A prompt stays bounded, whatever grows in a run.
func TestPromptsAreBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	units := []string{
		"x", "\n", "ä ", "word word\n", "<promise>DONE</promise>\n", "`", "{{diff}}", "{{project_root}}", "\xff", "\r",
	}
	for range 40 {
		text := func() string {
			return strings.Repeat(units[random.IntN(len(units))], random.IntN(1<<(4+random.IntN(12))))
		}
		in := hostile(text())
		in.Ordinal, in.Of, in.Goal, in.Template = random.Int(), random.Int(), text(), text()
		in.Diff, in.Progress, in.Dir = text(), text(), text()
		many := 1 + random.IntN(20)
		in.Steering, in.Checks, in.Policy.CompletionTags = slicesOf(many, ralph.SteeringSeen{Text: text()}), slicesOf(
			many, text(),
		), slicesOf(many, text())
		in.Tasks, in.Last.Failed = slicesOf(many*20, ralph.TaskState{ID: text(), Title: text()}), slicesOf(
			many, ralph.CheckResult{Name: text(), Task: text(), Output: text()},
		)
		if many%2 == 0 {
			in.Task.ID = in.Tasks[0].ID
		}
		in.Answers, in.Last.Mismatches = slicesOf(many, ralph.AnswerGiven{Question: text(), Answer: text()}), slicesOf(
			many, text(),
		)
		in.Task.Description, in.Task.Acceptance = text(), slicesOf(many, text())
		in.Last.Tampered, in.Last.Unseen, in.Last.Rejections = slicesOf(many, text()), slicesOf(many, text()), slicesOf(
			many, ralph.Evaluation{Concern: text(), Evidence: []string{text()}},
		)
		if n := utf8.RuneCountInString(Build(in).Text); n > longest {
			t.Errorf("a prompt of %d characters", n)
		}
	}
}

// The thousandth prompt is as long as the tenth, except for the digits of its numbers.
func TestPromptsDoNotGrowWithTheRun(t *testing.T) {
	at := func(ordinal int) string {
		in := laterTask(func(in *ralph.PromptInput) {
			in.Ordinal, in.Of, in.Try = ordinal, 1000, ordinal
			in.Diff = strings.Repeat("+ a line that was added\n", 100*ordinal)
			in.Learnings = strings.Repeat("- what was learned\n", 100*ordinal)
			in.Steering = slicesOf(ordinal*100, ralph.SteeringSeen{Text: "one more thing"})
			in.Answers = slicesOf(ordinal*100, ralph.AnswerGiven{Question: "Which?", Answer: "That."})
			for i := range ordinal {
				in.Progress += fmt.Sprintf("## Iteration %04d\n\n%s\n", i, strings.Repeat("It went on. ", 50))
			}
			for i := range 2000 {
				task := ralph.TaskState{ID: fmt.Sprintf("T-%04d", i), Title: "a task of the list", Status: ralph.TaskPending}
				if i < ordinal {
					task.Status = ralph.TaskDone
				}
				if i == ordinal {
					in.Task.ID = task.ID
				}
				in.Tasks = append(in.Tasks, task)
			}
		})
		return regexp.MustCompile(`\d+`).ReplaceAllString(Build(in).Text, "N")
	}
	early, late := utf8.RuneCountInString(at(10)), utf8.RuneCountInString(at(1000))
	if late > early+100 || early < 20_000 {
		t.Errorf("iteration 10 has %d characters, iteration 1000 has %d", early, late)
	}
}

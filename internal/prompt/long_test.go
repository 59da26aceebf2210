package prompt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralphloop/ralph"
)

// A goal that is too long for a prompt keeps whole lines of its head, an outline of the rest with
// true line numbers, and the file that has all of it.
func TestALongGoalNamesItsFile(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "Requirement %d of the whole goal.\n", i+1)
		if i == 3999 {
			b.WriteString("## Late `chapter`\n```\n# no heading\n```\n### Inside it\n#hashtag\n")
		}
	}
	built := Build(ralph.PromptInput{Goal: b.String(), GoalFile: ".ralph/goal.md"})
	for _, want := range []string{
		"it has 5007 lines", "All of it is in `.ralph/goal.md`", "\nRequirement 1 of the whole goal.\n",
		"\n  - line 4001: Late `chapter`\n    - line 4005: Inside it\n",
	} {
		if !strings.Contains(built.Text, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	for _, wrong := range []string{"no heading", "hashtag", "characters cut"} {
		if strings.Contains(built.Text, wrong) {
			t.Errorf("the prompt has %q", wrong)
		}
	}
	head, _, found := strings.Cut(built.Text, "[… continued in .ralph/goal.md, line ")
	if !found || !strings.HasSuffix(head, " of the whole goal.\n\n") && !strings.HasSuffix(head, " of the whole goal.\n") {
		t.Errorf("the head does not end with a whole line: %q", head[max(0, len(head)-60):])
	}
	if part := built.Parts[0]; !part.Truncated || part.Bytes > goalCap {
		t.Errorf("the part is %+v", part)
	}
}

// An outline of very many headings is bounded, and a long text in one line is cut.
func TestALongGoalIsBounded(t *testing.T) {
	for _, goal := range []string{
		strings.Repeat("# Heading\n", 50_000), strings.Repeat("x", 200_000), strings.Repeat("語", 70_000),
		"Title\n" + strings.Repeat("x", 200_000),
	} {
		short, truncated := shorten(goal, "spec.md")
		if n := len([]rune(short)); !truncated || n > goalCap || n < headCap {
			t.Errorf("%.10s…: %d characters, %v", goal, n, truncated)
		}
	}
}

func TestALongTemplateAndALongTaskNameTheirFiles(t *testing.T) {
	long := strings.Repeat("word ", 20_000)
	for name, in := range map[string]ralph.PromptInput{
		"plain":        {Template: long, TemplateFile: ".agent/PROMPT.md"},
		"placeholders": {Template: "{{i}} " + long, TemplateFile: ".agent/PROMPT.md"},
		"task":         {Task: &ralph.Task{ID: "1", Title: "t", Description: long}, ListFile: ".agent/PROMPT.md"},
	} {
		if built := Build(in); !strings.Contains(built.Text, "`.agent/PROMPT.md`") {
			t.Errorf("%s: the prompt does not name the file", name)
		}
	}
}

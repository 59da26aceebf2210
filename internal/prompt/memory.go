package prompt

import (
	"fmt"
	"strings"
)

// diff keeps the beginning, where the changed files are listed.
func diff(in Input) Part {
	text, truncated := keepHead(strings.TrimRight(clean(in.Diff), "\n "), diffCap)
	if text == "" {
		return Part{}
	}
	more := ""
	if truncated || in.DiffCut {
		more = " There is more than is shown here: look at the files."
	}
	return Part{
		Name: "diff", Text: fmt.Sprintf("# What changed since the run began\n\nUntracked files are included.%s\n\n%s", more, quote(text)),
		Truncated: truncated || in.DiffCut,
	}
}

// progress keeps the end, which is the latest.
func progress(in Input) Part {
	text, truncated := keepTail(strings.TrimSpace(clean(in.Progress)), progressCap)
	if text == "" {
		return Part{}
	}
	return Part{Name: "progress", Text: "# Progress so far\n\n" + quote(text), Truncated: truncated}
}

func learnings(in Input) Part {
	text, truncated := Cut(strings.TrimSpace(clean(in.Learnings)), learningsCap)
	if text == "" {
		return Part{}
	}
	return Part{
		Name: "learnings", Text: "# Learnings\n\nEarlier iterations found this out about the project. Make use of it, and trust the files where they differ.\n\n" + quote(text),
		Truncated: truncated,
	}
}

// answers keeps the latest ones.
func answers(in Input) Part {
	p := Part{Name: "answers"}
	var paragraphs []string
	if len(in.Answers) > 0 {
		items := make([]string, 0, len(in.Answers))
		for _, a := range in.Answers {
			question, cutQuestion := Cut(strings.TrimSpace(clean(a.Question)), checkCap)
			answer, cutAnswer := Cut(strings.TrimSpace(clean(a.Answer)), checkCap)
			p.Truncated = p.Truncated || cutQuestion || cutAnswer
			items = append(items, fmt.Sprintf("Question: %s\nAnswer: %s", question, answer))
		}
		text, truncated := keepTail(strings.Join(items, "\n\n"), answersCap)
		p.Truncated = p.Truncated || truncated
		paragraphs = append(paragraphs, "Agents before you asked, and the user answered. The answers are instructions: do as they say, and do not ask this again.", quote(text))
	}
	if question, truncated := Cut(strings.TrimSpace(clean(in.OpenQuestion)), checkCap); question != "" {
		p.Truncated = p.Truncated || truncated
		paragraphs = append(paragraphs, "An earlier run asked this, and nobody has answered it. Go on without the answer if you can; ask again only if you cannot.", quote(question))
	}
	if len(paragraphs) == 0 {
		return Part{}
	}
	p.Text = "# Answers\n\n" + strings.Join(paragraphs, "\n\n")
	return p
}

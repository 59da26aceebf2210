package prompt

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// section returns a heading and quoted text from outside.
func section(heading, words string, cut func(string, int) (string, bool), limit int) (string, bool) {
	short, truncated := cut(strings.TrimSpace(clean(words)), limit)
	if short == "" {
		return "", false
	}
	return heading + "\n\n" + quote(short), truncated
}

// diff keeps the beginning, which lists the changed files.
func diff(in ralph.PromptInput) (words string, truncated bool) {
	short, truncated := text.KeepHead(strings.TrimRight(clean(in.Diff), "\n "), diffCap)
	if short == "" {
		return "", false
	}
	more, truncated := "", truncated || in.DiffCut
	if truncated {
		more = " There is more than is shown here: look at the files."
	}
	const heading = "# What changed since the run began\n\nUntracked files are included.%s\n\n%s"
	return fmt.Sprintf(heading, more, quote(short)), truncated
}

// progress keeps the end, which is the latest.
func progress(in ralph.PromptInput) (words string, truncated bool) {
	return section("# Progress so far", in.Progress, text.KeepTail, progressCap)
}

func learnings(in ralph.PromptInput) (words string, truncated bool) {
	return section(
		"# Learnings\n\nEarlier iterations learned this about the project. Use it, but trust the files where they differ.",
		in.Learnings,
		text.Cut,
		learningsCap,
	)
}

// answers keeps the latest answers.
func answers(in ralph.PromptInput) (words string, truncated bool) {
	var told account
	short := func(words string) string {
		words, cut := text.Cut(strings.TrimSpace(clean(words)), checkCap)
		told.truncated = told.truncated || cut
		return words
	}
	var items []string
	for _, a := range in.Answers {
		items = append(items, fmt.Sprintf("Question: %s\nAnswer: %s", short(a.Question), short(a.Answer)))
	}
	if len(items) > 0 {
		latest, cut := text.KeepTail(strings.Join(items, "\n\n"), answersCap)
		told.truncated = told.truncated || cut
		told.say("Earlier agents asked, and the user answered. The answers are instructions: follow them, and do not ask "+
			"again.\n\n%s", quote(latest))
	}
	if question := short(in.OpenQuestion); question != "" {
		told.say("An earlier run asked this and got no answer. Continue without the answer if you can; ask again only if "+
			"you cannot.\n\n%s", quote(question))
	}
	return told.under("# Answers")
}

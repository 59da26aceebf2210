package prompt

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// section is a heading and, below it, the words of others.
func section(heading, words string, cut func(string, int) (string, bool), limit int) (string, bool) {
	short, truncated := cut(strings.TrimSpace(clean(words)), limit)
	if short == "" {
		return "", false
	}
	return heading + "\n\n" + quote(short), truncated
}

// diff keeps the beginning, where the changed files are listed.
func diff(in ralph.PromptInput) (words string, truncated bool) {
	short, truncated := text.KeepHead(strings.TrimRight(clean(in.Diff), "\n "), diffCap)
	if short == "" {
		return "", false
	}
	more, truncated := "", truncated || in.DiffCut
	if truncated {
		more = " There is more than is shown here: look at the files."
	}
	return fmt.Sprintf("# What changed since the run began\n\nUntracked files are included.%s\n\n%s", more,
		quote(short)), truncated
}

// progress keeps the end, which is the latest.
func progress(in ralph.PromptInput) (words string, truncated bool) {
	return section("# Progress so far", in.Progress, text.KeepTail, progressCap)
}

func learnings(in ralph.PromptInput) (words string, truncated bool) {
	return section("# Learnings\n\nEarlier iterations found this out about the project. Make use of it, and trust the "+
		"files where they differ.", in.Learnings, text.Cut, learningsCap)
}

// answers keeps the latest ones.
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
		told.say("Agents before you asked, and the user answered. The answers are instructions: "+
			"do as they say, and do not ask this again.\n\n%s", quote(latest))
	}
	if question := short(in.OpenQuestion); question != "" {
		told.say("An earlier run asked this, and nobody has answered it. Go on without the answer if you can; "+
			"ask again only if you cannot.\n\n%s", quote(question))
	}
	return told.under("# Answers")
}

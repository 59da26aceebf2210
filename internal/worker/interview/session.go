package interview

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
)

// askedBefore returns the answer to a question that was asked in the same words.
func (s *session) askedBefore(q Question) (answer string, ok bool) {
	for _, a := range s.out.Asked {
		if strings.EqualFold(plainLine(a.Text), plainLine(q.Text)) {
			return a.Answer, true
		}
	}
	return "", false
}

// tooManyQuestions returns why no further question is asked, or "".
func (s *session) tooManyQuestions() string {
	if len(s.out.Asked) < MaxQuestions {
		return ""
	}
	return fmt.Sprintf(
		"not asked: the limit of %d questions is reached; decide yourself, note it in open_questions, and %s",
		MaxQuestions, s.words.finish,
	)
}

// askPerson asks a person a question. Without an answer the interview is over.
func (s *session) askPerson(ctx context.Context, q Question) (answer string, err error) {
	q.Number = len(s.out.Asked) + 1
	ok := false
	if s.options.Ask != nil {
		answer, ok, err = s.options.Ask(ctx, q)
	}
	switch {
	case s.interrupt(ctx):
		return "", nil
	case err != nil:
		s.end(Failed, ralph.EndFailed, "the question could not be asked: %s", err)
		return "", fmt.Errorf("ask user: %w", err)
	case !ok:
		s.out.Question = &q
		s.end(NeedsAnswers, ralph.EndOK, "no answer to the question: %s", q.Text)
		return "", nil
	}
	answer = q.resolveAnswer(answer)
	s.out.Asked = append(s.out.Asked, Asked{Question: q, Answer: answer})
	return answer, nil
}

func answered(text string) string {
	if text == "" {
		return "The person lets you decide: do so, and note your assumptions in scope_notes."
	}
	return "The person answers: " + text
}

// submit accepts a plan, which ends the interview, or returns what is wrong with it.
func (s *session) submit(input json.RawMessage) (problem string) {
	p, err := decodePlan(input)
	if err != nil {
		return fmt.Sprintf("not accepted: %s", err)
	}
	text, faults, doubts := s.options.Lint(p.Tasks)
	switch {
	case len(faults) > 0:
		return fmt.Sprintf("not accepted:\n%s\nFix this, and submit the whole plan again.", listing(faults))
	case len(doubts) > 0 && !s.doubted:
		s.doubted = true
		return fmt.Sprintf("not accepted yet:\n%s\nFix what you can, and submit the whole plan again. What you leave "+
			"unchanged will be accepted then.", listing(doubts))
	}
	s.out.Plan, s.out.Text = p, text
	for _, doubt := range doubts {
		s.out.Warnings = append(s.out.Warnings, plainLine(doubt))
	}
	s.over, s.out.Status, s.out.End = true, Written, ralph.EndOK
	return ""
}

// showProblem shows why a plan was not accepted: the user waits for it.
func (s *session) showProblem(problem string) {
	s.options.Live(ralph.Activity{Kind: "plan", Detail: brief(problem)})
}

// listing returns a list of sentences for the model.
func listing(sentences []string) string {
	const enough = 20
	var b strings.Builder
	for i, s := range sentences {
		if i == enough {
			fmt.Fprintf(&b, "- and %d more\n", len(sentences)-enough)
			break
		}
		fmt.Fprintf(&b, "- %s\n", plainLine(s))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

package interview

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/worker/tools"
)

//go:embed ask_user.md
var askUserPage string

const (
	questionLimit = 2_000 // characters
	optionsLimit  = 10
	optionLimit   = 300
	answerLimit   = 20_000
)

type askInput struct {
	Question string   `json:"question" doc:"The question, with the context needed to answer it."`
	Options  []string `json:"options,omitempty" doc:"Answers to choose from, at most 10."`
}

// decodeQuestion reads the input of ask_user. The error is for the model.
func decodeQuestion(input json.RawMessage) (Question, error) {
	var in askInput
	if err := tools.Decode(input, &in); err != nil {
		return Question{}, err
	}
	q := Question{Text: plainText(in.Question)}
	switch {
	case q.Text == "":
		return Question{}, fmt.Errorf("field question is empty")
	case utf8.RuneCountInString(q.Text) > questionLimit:
		return Question{}, fmt.Errorf("field question has more than %d characters; ask for less at once", questionLimit)
	case len(in.Options) > optionsLimit:
		return Question{}, fmt.Errorf("field options has %d items; the limit is %d", len(in.Options), optionsLimit)
	}
	for i, option := range in.Options {
		option = plainLine(option)
		if option == "" || utf8.RuneCountInString(option) > optionLimit {
			return Question{}, fmt.Errorf("field options[%d] must have 1 to %d characters", i, optionLimit)
		}
		q.Options = append(q.Options, option)
	}
	return q, nil
}

// resolveAnswer returns what an answer means: the number of an option means that option, unless an
// option is that number.
func (q Question) resolveAnswer(answer string) string {
	answer = tools.Clip(plainText(answer), answerLimit)
	if option, ok := q.optionNamed(answer); ok {
		return option
	}
	if n, ok := numberOf(answer); ok && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1]
	}
	return answer
}

// Misses reports whether an answer looks like the number of an option that does not exist.
func (q Question) Misses(answer string) bool {
	_, named := q.optionNamed(plainText(answer))
	n, number := numberOf(answer)
	return len(q.Options) > 0 && number && !named && (n < 1 || n > len(q.Options))
}

// optionNamed returns the option with the words of an answer.
func (q Question) optionNamed(answer string) (string, bool) {
	for _, option := range q.Options {
		if strings.EqualFold(option, answer) {
			return option, true
		}
	}
	return "", false
}

func numberOf(answer string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(answer), "."))
	return n, err == nil
}

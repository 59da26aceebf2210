package worker

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

const (
	learningTimeout   = time.Minute // limit for a proposal
	maxLearningChars  = 300         // characters
	maxRejectionBytes = 2000        // bytes quoted from each rejection
)

//go:embed learn.md
var learnPage string

// proposal is the model's answer to the question about learnings.
type proposal struct {
	Propose  bool   `json:"propose"`
	Learning string `json:"learning"`
}

// proposeLearning asks once what the task, and the rejections of this conversation, teach; "" means
// nothing. It costs no turn, and any failure also returns "".
func (t *conversation) proposeLearning(ctx context.Context, rejections []string) string {
	ctx, cancel := context.WithTimeout(ctx, learningTimeout)
	defer cancel()
	var question strings.Builder
	question.WriteString(strings.TrimSpace(learnPage))
	if len(rejections) > 0 {
		question.WriteString("\n\nThe rejections:\n")
	}
	for _, r := range rejections {
		question.WriteString("\n" + truncate(r, maxRejectionBytes) + "\n")
	}
	t.add(model.Message{Role: model.User, Text: question.String()}, entry{})
	reply, end := t.ask(ctx, "")
	if end != nil {
		return ""
	}
	t.record.message(reply.Message, entry{Model: t.chat.Answers(), End: reply.End})
	if len(reply.Message.Calls) > 0 {
		return ""
	}
	return parseProposal(reply.Message.Text)
}

// parseProposal reads a proposal strictly: the requested object, or one LEARNING: line, which every
// prompt mentions. It ignores any other form.
func parseProposal(answer string) string {
	var p proposal
	if tools.Decode(json.RawMessage(answer), &p) != nil {
		p = proposal{}
		if lines := promise.Parse(answer, promise.Options{}).Learnings; len(lines) == 1 {
			p = proposal{Propose: true, Learning: lines[0]}
		}
	}
	text := strings.TrimSpace(p.Learning)
	if !p.Propose || strings.ContainsAny(text, "\r\n") || utf8.RuneCountInString(text) > maxLearningChars {
		return ""
	}
	return promise.OneLine(text, maxLearningChars)
}

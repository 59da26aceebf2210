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
	learningTime = time.Minute // nobody waits longer for a proposal
	learningCap  = 300         // characters
	rejectionCap = 2000        // bytes of each rejection that is called to mind
)

//go:embed learn.md
var learnPage string

// proposal is what the model may answer when it is asked what is to be learned.
type proposal struct {
	Propose  bool   `json:"propose"`
	Learning string `json:"learning"`
}

// learn asks once what the rejections of this conversation teach; "" is nothing. It is no turn, and whatever goes wrong is nothing, too.
func (t *talk) learn(ctx context.Context, rejections []string) string {
	ctx, cancel := context.WithTimeout(ctx, learningTime)
	defer cancel()
	var question strings.Builder
	question.WriteString(strings.TrimSpace(learnPage) + "\n\nThe rejections:\n")
	for _, r := range rejections {
		question.WriteString("\n" + shortened(r, rejectionCap) + "\n")
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
	return proposed(reply.Message.Text)
}

// proposed reads a proposal strictly: the object that was asked for, or one LEARNING: line, of which every prompt tells. An answer in any other form is none.
func proposed(answer string) string {
	var p proposal
	if tools.Decode(json.RawMessage(answer), &p) != nil {
		p = proposal{}
		if lines := promise.Parse(answer, promise.Options{}).Learnings; len(lines) == 1 {
			p = proposal{Propose: true, Learning: lines[0]}
		}
	}
	text := strings.TrimSpace(p.Learning)
	if !p.Propose || strings.ContainsAny(text, "\r\n") || utf8.RuneCountInString(text) > learningCap {
		return ""
	}
	return promise.OneLine(text, learningCap)
}

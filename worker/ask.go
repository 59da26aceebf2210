package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/chat"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

// ending describes how a conversation ended.
type ending struct {
	class           ralph.EndClass
	text, hint      string
	wait            time.Duration
	task            ralph.StopReason // why the task is abandoned
	cut             bool             // replies were cut at the model's length limit
	caseProblem     string           // what was wrong with the last malformed case
	blocked, decide *string          // the worker needs a person
	answer          string           // a reviewer's answer
	accepted        bool
	learning        string
}

// timeIsUp returns the ending if there is no time for anything more, or nil.
func (t *conversation) timeIsUp(ctx context.Context) *ending {
	switch {
	case ctx.Err() != nil:
		return &ending{class: ralph.EndInterrupted, text: "interrupted"}
	case !t.deadline.IsZero() && !time.Now().Before(t.deadline):
		end := &ending{class: ralph.EndTimeout, text: fmt.Sprintf("timed out after %s", t.in.Timeout)}
		if why := t.chat.Waiting(); why != "" {
			end.text += " while retrying: " + why
		}
		return end
	}
	return nil
}

// withDeadline returns a context that also ends with the iteration's time.
func (t *conversation) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, t.deadline)
}

// pause waits for d, or until there is no time left.
func (t *conversation) pause(ctx context.Context, d time.Duration) {
	ctx, cancel := t.withDeadline(ctx)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, d)
	defer stop()
	<-ctx.Done()
}

// ask gets one reply to the conversation within the iteration's time. must names a tool that has to
// be called; "" means none.
func (t *conversation) ask(ctx context.Context, must string) (chat.Reply, *ending) {
	within, cancel := t.withDeadline(ctx)
	defer cancel()
	reply, err := t.chat.Ask(within, must)
	if err != nil {
		return chat.Reply{}, t.failed(ctx, err)
	}
	return reply, nil
}

// failed classifies the failure of a model call.
func (t *conversation) failed(ctx context.Context, err error) *ending {
	if end := t.timeIsUp(ctx); end != nil {
		return end
	}
	end := &ending{class: ralph.EndFailed, text: promise.OneLine(err.Error(), sentenceSize)}
	fault, ok := errors.AsType[*model.Fault](err)
	if !ok {
		return end
	}
	switch fault.Kind {
	case model.FaultAuth:
		end.class, end.hint = ralph.EndAuth, "set a valid key for this model's provider"
		if t.o.KeyEnv != "" {
			end.hint = "set " + t.o.KeyEnv + " to a valid key"
		}
	case model.FaultLimit:
		end.class, end.wait = ralph.EndLimit, fault.RetryAfter
	case model.FaultProvider:
		end.class = ralph.EndProvider
	case model.FaultOverflow:
		end.text = "the conversation does not fit in the model's context window" + quoted(end.text)
	case model.FaultRefused:
		end.text = "the provider refused the request" + quoted(end.text)
		if t.turns == 0 { // the conversation cannot be the reason
			end.hint = ralph.HintSettings
		}
	}
	return end
}

func quoted(text string) string {
	if text = promise.OneLine(text, sentenceSize); text != "" {
		return ": " + text
	}
	return ""
}

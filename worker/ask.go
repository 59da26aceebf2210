package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

// ending says how a conversation ended.
type ending struct {
	class           ralph.EndClass
	text, hint      string
	wait            time.Duration
	task            ralph.StopReason // why the task is given up
	blocked, decide *string          // that it needs a person
	answer          string           // of a reviewer
	accepted        bool
	learning        string
}

// over is the ending if there is no time for anything more.
func (t *talk) over(ctx context.Context) *ending {
	switch {
	case ctx.Err() != nil:
		return &ending{class: ralph.EndInterrupted, text: "interrupted"}
	case !t.deadline.IsZero() && !time.Now().Before(t.deadline):
		end := &ending{class: ralph.EndTimeout, text: fmt.Sprintf("timed out after %s", t.in.Timeout)}
		if t.retrying != "" {
			end.text += " while it tried again: " + t.retrying
		}
		return end
	}
	return nil
}

// within is a context that also ends with the iteration's time.
func (t *talk) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, t.deadline)
}

// pause waits, or until there is no time left.
func (t *talk) pause(ctx context.Context, d time.Duration) {
	ctx, cancel := t.within(ctx)
	defer cancel()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ask gets one reply to the conversation as it stands. A conversation that is too long is shortened once and sent again. must names a tool that has to
// be called; where an endpoint does not know how, it is left to the model.
func (t *talk) ask(ctx context.Context, must string) (model.Reply, *ending) {
	t.history.fit()
	for shortened := false; ; {
		reply, err := t.send(ctx, must)
		if err == nil {
			return reply, nil
		}
		fault, _ := errors.AsType[*model.Fault](err)
		switch {
		case fault == nil || t.over(ctx) != nil:
			return model.Reply{}, t.failed(ctx, err)
		case fault.Kind == model.FaultOverflow && !shortened && t.history.overflowed():
			shortened = true
			t.in.Live(ralph.Activity{Kind: "retry", Detail: "the conversation is too long: old tool output is dropped"})
		case fault.Kind == model.FaultRefused && must != "":
			must = ""
		default:
			return model.Reply{}, t.failed(ctx, err)
		}
	}
}

// send makes one model call.
func (t *talk) send(ctx context.Context, must string) (model.Reply, error) {
	ctx, cancel := t.within(ctx)
	defer cancel()
	live := &chatter{live: t.in.Live}
	reply, err := t.client.Send(ctx, model.Request{
		Model: t.model, System: t.lead.system(), Messages: t.history.messages, Tools: t.specs, MaxOutput: t.o.MaxOutput, MustCall: must,
	}, live.hear)
	if err != nil {
		t.lost(err)
		t.record.write(entry{Role: model.Assistant, Error: oneLine(err.Error(), sentenceSize)})
		return model.Reply{}, err
	}
	t.spent.add(reply.Lost, t.model)
	t.unpaid = nil
	live.end(reply.Message)
	t.retrying = ""
	if reply.Usage != nil && !plausible(*reply.Usage) {
		reply.Usage = nil
	}
	t.history.counted(reply.Usage)
	if reply.Model != "" {
		t.answers = oneLine(reply.Model, shownSize)
	}
	return reply, nil
}

// patient is the client with patience: what it waits for is shown.
func (t *talk) patient() model.Client {
	p := model.Patient{Client: t.o.Client}
	if own, ok := t.o.Client.(*model.Patient); ok {
		p = *own // twice as patient would be endless
	}
	told := p.Told
	p.Told = func(pause model.Pause) {
		if told != nil {
			told(pause)
		}
		t.retrying = oneLine(pause.Fault.Error(), sentenceSize)
		if pause.Fault.Usage != nil {
			t.unpaid = append(t.unpaid, *pause.Fault.Usage)
		}
		t.in.Live(ralph.Activity{Kind: "retry", Detail: fmt.Sprintf("%s; again in %s", oneLine(t.retrying, shownSize), pause.Wait.Round(time.Second))})
	}
	return &p
}

// lost counts what was paid for no reply: a fault has the sum of it, and where there is none each attempt told it.
func (t *talk) lost(err error) {
	if fault, ok := errors.AsType[*model.Fault](err); ok {
		t.spent.add(fault.Usage, t.model)
	} else {
		for _, u := range t.unpaid {
			t.spent.add(&u, t.model)
		}
	}
	t.unpaid = nil
}

// failed says what it means that there is no reply.
func (t *talk) failed(ctx context.Context, err error) *ending {
	if end := t.over(ctx); end != nil {
		return end
	}
	end := &ending{class: ralph.EndFailed, text: oneLine(err.Error(), sentenceSize)}
	fault, ok := errors.AsType[*model.Fault](err)
	if !ok {
		return end
	}
	switch fault.Kind {
	case model.FaultAuth:
		end.class, end.hint = ralph.EndAuth, "set a key that is valid for this model's provider"
		if t.o.KeyEnv != "" {
			end.hint = "set " + t.o.KeyEnv + " to a key that is valid"
		}
	case model.FaultLimit:
		end.class, end.wait = ralph.EndLimit, fault.RetryAfter
	case model.FaultProvider:
		end.class = ralph.EndProvider
	case model.FaultOverflow:
		end.text = "the conversation does not fit into the model's window" + quoted(end.text)
	case model.FaultRefused:
		end.text = "the provider refuses the request" + quoted(end.text)
		if t.turns == 0 { // nothing of the conversation can be the reason
			end.hint = ralph.HintSettings
		}
	}
	return end
}

func quoted(text string) string {
	if text = oneLine(text, sentenceSize); text != "" {
		return ": " + text
	}
	return ""
}

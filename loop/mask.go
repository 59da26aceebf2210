package loop

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/secrets"
)

// mask returns a text without secrets.
func (j *journal) mask(text string) string {
	if j.cfg.Mask == nil {
		return text
	}
	return j.cfg.Mask(text)
}

// prompt returns the prompt of an iteration, without secrets.
func (j *journal) prompt(ctx context.Context, by ralph.Prompter, in ralph.PromptInput) (ralph.Prompt, error) {
	built, err := by.Prompt(ctx, in)
	built.Text = j.mask(built.Text)
	return built, err
}

// masked returns the data of an event without secrets.
func (j *journal) masked(kind ralph.EventType, data any) any {
	if j.cfg.Mask == nil {
		return data
	}
	text, err := json.Marshal(data)
	if err != nil || j.cfg.Mask(string(text)) == string(text) {
		return data
	}
	if text, err = secrets.MapJSON(text, j.cfg.Mask); err == nil {
		data, err = ralph.DecodePayload(kind, text)
	}
	if err != nil {
		panic(fmt.Errorf("mask %s: %w", kind, err)) // it was encoded a moment ago
	}
	return data
}

// show passes on what an agent is doing.
func (j *journal) show(a ralph.Activity) {
	a.Name, a.Detail = j.mask(a.Name), j.mask(a.Detail)
	callSafely(func() { j.live(a) })
}

package scriptedmodel

// chat is OpenAI's Chat Completions API, which many other providers offer as well.
type chat struct{}

func (chat) name() string { return "chat" }

func (chat) read(_ string, body []byte) (ask, error) {
	var in struct {
		Model   string `json:"model"`
		Stream  bool   `json:"stream"`
		Options struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Role  string `json:"role"`
			Calls []struct {
				ID string `json:"id"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string `json:"name"`
				Parameters schema `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := readAsk("chat", body, &in); err != nil {
		return ask{}, err
	}
	a := ask{model: in.Model, streaming: in.Stream, wantUsage: in.Options.IncludeUsage}
	for _, t := range in.Tools {
		a.tools = append(a.tools, offer{name: t.Function.Name, schema: t.Function.Parameters})
	}
	for _, m := range in.Messages {
		a.addMessage(m.Role == "assistant")
		for _, c := range m.Calls {
			a.callID = c.ID
		}
	}
	return a, nil
}

func (w chat) stream(a answer) []frame {
	var frames []frame
	chunk := func(delta object, finish any) {
		c := w.completion(a, "chat.completion.chunk")
		c["choices"] = []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}}
		frames = append(frames, frame{data: mustJSON(c)})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(a.turn.Thinking) {
		chunk(object{"reasoning_content": piece}, nil)
	}
	for _, piece := range pieces(a.turn.Text) {
		chunk(object{"content": piece}, nil)
	}
	for i, c := range a.calls {
		chunk(object{
			"tool_calls": []object{
				{"index": i, "id": c.id, "type": "function", "function": object{"name": c.name, "arguments": ""}},
			},
		}, nil)
		for _, piece := range pieces(c.arguments()) {
			chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	chunk(object{}, w.finishReason(a))
	if a.wantUsage && !a.turn.Unmetered {
		c := w.completion(a, "chat.completion.chunk")
		c["choices"], c["usage"] = []any{}, chatUsage(a.usage)
		frames = append(frames, frame{data: mustJSON(c)})
	}
	return append(frames, frame{data: "[DONE]"})
}

func (w chat) whole(a answer) any {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	if a.turn.Text != "" {
		message["content"] = a.turn.Text
	}
	if a.turn.Thinking != "" {
		message["reasoning_content"] = a.turn.Thinking
	}
	var calls []object
	for _, c := range a.calls {
		calls = append(calls, object{
			"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.arguments()},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	c := w.completion(a, "chat.completion")
	c["choices"] = []object{{"index": 0, "message": message, "logprobs": nil, "finish_reason": w.finishReason(a)}}
	if !a.turn.Unmetered {
		c["usage"] = chatUsage(a.usage)
	}
	return c
}

func (chat) completion(a answer, kind string) object {
	return object{
		"id": "chatcmpl-" + a.id, "object": kind, "created": a.now.Unix(), "model": a.model,
		"system_fingerprint": "fp_scripted",
	}
}

func (chat) finishReason(a answer) string {
	return a.stopReason("length", "content_filter", "tool_calls", "stop")
}

func chatUsage(u Usage) object {
	return object{
		"prompt_tokens": u.prompt(), "completion_tokens": u.Output, "total_tokens": u.prompt() + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning, "audio_tokens": 0},
	}
}

func (chat) failure(t trouble) any { return object{"error": openaiError(t)} }

func (w chat) failureFrames(t trouble, _ int) []frame { return []frame{{data: mustJSON(w.failure(t))}} }

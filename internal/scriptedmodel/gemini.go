package scriptedmodel

import (
	"encoding/base64"
	"fmt"
	"path"
	"strings"
	"time"
)

// gemini is Google's Generative Language API.
type gemini struct{}

func (gemini) name() string { return "gemini" }

func (gemini) read(urlPath string, body []byte) (ask, error) {
	type function struct {
		Name       string `json:"name"`
		Parameters schema `json:"parameters"`
		JSONSchema schema `json:"parametersJsonSchema"`
	}
	var in struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Call *struct {
					ID string `json:"id"`
				} `json:"functionCall"`
				Signature string `json:"thoughtSignature"`
			} `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []function `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := readAsk("generate", body, &in); err != nil {
		return ask{}, err
	}
	name, method, _ := strings.Cut(path.Base(urlPath), ":")
	a := ask{model: name, streaming: method == "streamGenerateContent"}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			if f.Parameters.Properties == nil {
				f.Parameters = f.JSONSchema
			}
			a.tools = append(a.tools, offer{name: f.Name, schema: f.Parameters})
		}
	}
	for _, c := range in.Contents {
		a.addMessage(c.Role == "model")
		for _, p := range c.Parts {
			if p.Call == nil {
				continue
			}
			a.callID = p.Call.ID
			if signed, err := base64.StdEncoding.DecodeString(p.Signature); err == nil && len(signed) > 0 {
				a.callID = string(signed) // clients that make up their own IDs keep this one
			}
		}
	}
	return a, nil
}

func (w gemini) stream(a answer) []frame {
	var frames []frame
	chunk := func(finish string, parts ...object) {
		frames = append(frames, frame{data: mustJSON(w.response(a, parts, finish))})
	}
	for _, piece := range pieces(a.turn.Thinking) {
		chunk("", object{"text": piece, "thought": true})
	}
	for _, piece := range pieces(a.turn.Text) {
		chunk("", object{"text": piece})
	}
	for _, c := range a.calls {
		chunk("", geminiCall(c))
	}
	chunk(w.finishReason(a), object{"text": ""})
	if a.turn.Empty {
		frames = []frame{{data: mustJSON(w.response(a, nil, w.finishReason(a)))}}
	}
	return frames
}

func (w gemini) whole(a answer) any {
	var parts []object
	if a.turn.Thinking != "" {
		parts = append(parts, object{"text": a.turn.Thinking, "thought": true})
	}
	if a.turn.Text != "" {
		parts = append(parts, object{"text": a.turn.Text})
	}
	for _, c := range a.calls {
		parts = append(parts, geminiCall(c))
	}
	return w.response(a, parts, w.finishReason(a))
}

func geminiCall(c call) object {
	return object{
		"functionCall":     object{"id": c.id, "name": c.name, "args": c.value()},
		"thoughtSignature": base64.StdEncoding.EncodeToString([]byte(c.id)),
	}
}

func (gemini) response(a answer, parts []object, finish string) object {
	content := object{"role": "model"}
	if len(parts) > 0 {
		content["parts"] = parts
	}
	candidate := object{"content": content, "index": 0}
	if finish != "" {
		candidate["finishReason"] = finish
	}
	u := a.usage
	r := object{"candidates": []object{candidate}, "modelVersion": a.model, "responseId": a.id}
	if !a.turn.Unmetered {
		r["usageMetadata"] = object{
			"promptTokenCount": u.prompt(), "cachedContentTokenCount": u.CacheRead,
			"candidatesTokenCount": u.Output - u.Reasoning,
			"thoughtsTokenCount":   u.Reasoning, "totalTokenCount": u.prompt() + u.Output,
		}
	}
	return r
}

func (gemini) finishReason(a answer) string {
	return a.stopReason("MAX_TOKENS", "SAFETY", "STOP", "STOP")
}

var geminiKinds = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
	500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE",
}

func (gemini) failure(t trouble) any {
	e := object{"code": t.Status, "message": t.message(), "status": t.kind(geminiKinds, "UNKNOWN")}
	if wait := max(t.RetryAfter, t.ResetIn); wait > 0 {
		e["details"] = []object{
			{
				"@type":      "type.googleapis.com/google.rpc.RetryInfo",
				"retryDelay": fmt.Sprintf("%.0fs", time.Duration(wait).Seconds()),
			},
		}
	}
	return object{"error": e}
}

func (w gemini) failureFrames(t trouble, _ int) []frame {
	return []frame{{data: mustJSON(w.failure(t))}}
}

package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"
)

// Play runs one iteration of the scripted agent. It reads the prompt and slugify.sh in the current
// folder, works, and reports in Claude Code's stream format. pause is how long it seems to think
// before each step.
func Play(s Scenario, prompt io.Reader, out io.Writer, pause time.Duration) error {
	text, err := io.ReadAll(prompt)
	if err != nil {
		return fmt.Errorf("read prompt: %w", err)
	}
	script, err := os.ReadFile("slugify.sh")
	if err != nil {
		return fmt.Errorf("read project: %w", err)
	}
	t := s.turns(project{script: string(script), prompt: string(text)})
	p := player{out: json.NewEncoder(out), pause: pause}
	p.out.SetEscapeHTML(false)
	p.emit(object{"type": "system", "subtype": "init", "session_id": session, "model": "scripted"})
	p.say("msg_1", object{"type": "text", "text": t.thinks})
	p.tool("Read", object{"file_path": "slugify.sh"})
	if t.edits != "" {
		p.tool("Edit", object{"file_path": "slugify.sh"})
		if err := os.WriteFile("slugify.sh", []byte(t.edits), 0o644); err != nil {
			return fmt.Errorf("write project: %w", err)
		}
	}
	p.say("msg_2", object{"type": "text", "text": t.says})
	p.emit(object{
		"type":               "result",
		"subtype":            "success",
		"is_error":           false,
		"session_id":         session,
		"num_turns":          p.steps,
		"result":             t.says,
		"total_cost_usd":     t.cost,
		"usage":              object{"input_tokens": 900, "output_tokens": 120},
		"terminal_reason":    "completed",
		"permission_denials": []any{},
	})
	return p.err
}

const session = "demo"

type object map[string]any

// player writes one line per event and keeps the first error.
type player struct {
	out   *json.Encoder
	pause time.Duration
	steps int
	err   error
}

func (p *player) tool(name string, input object) {
	p.say("msg_tool", object{"type": "tool_use", "id": fmt.Sprintf("tool_%d", p.steps), "name": name, "input": input})
	time.Sleep(p.pause)
}

func (p *player) say(id string, block object) {
	p.steps++
	time.Sleep(p.pause)
	p.emit(object{
		"type": "assistant", "session_id": session, "parent_tool_use_id": nil,
		"message": object{"id": id, "role": "assistant", "model": "scripted", "content": []object{block}},
	})
}

func (p *player) emit(event object) {
	if p.err == nil {
		p.err = p.out.Encode(event)
	}
}

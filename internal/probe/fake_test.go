package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary act as a CLI: a link to it whose name begins with "fake-" is Claude
// Code with the defect that the name describes.
func TestMain(m *testing.M) {
	if defect, ok := strings.CutPrefix(filepath.Base(os.Args[0]), "fake-"); ok {
		f := &fake{
			defect: defect, model: os.Getenv("ANTHROPIC_BASE_URL"), home: os.Getenv("CLAUDE_CONFIG_DIR"),
			args: os.Args[1:],
		}
		os.Exit(f.main())
	}
	os.Exit(m.Run())
}

const fakeVersion = "2.1.7"

// fake is a small Claude Code: it asks the model, follows its answer, and prints what it did.
type fake struct {
	defect, model, home string
	args                []string

	session  string
	messages []map[string]any
	words    []string
	denials  []map[string]any
}

func (f *fake) is(defect string) bool { return f.defect == defect }

func (f *fake) main() int {
	switch {
	case f.is("shim"):
		fmt.Fprintln(os.Stderr, "no version of claude is chosen in this home folder")
		return 126
	case slices.Contains(f.args, "--version"):
		fmt.Println(fakeVersion, "(Claude Code)")
		return 0
	}
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	switch f.defect {
	case "nonsense":
		fmt.Println("I speak another language now.")
		return 0
	case "unknown-flag":
		fmt.Fprintln(os.Stderr, "error: unknown option '--verbose'")
		return 1
	case "login":
		f.tell("result", map[string]any{
			"subtype": "success", "is_error": true, "terminal_reason": "api_error",
			"result": "Not logged in · Please run /login",
		})
		return 1
	case "hanging":
		time.Sleep(time.Hour)
	}
	f.session = fmt.Sprintf("session-%d", os.Getpid())
	if f.is("one-session") {
		f.session = "session-1"
	}
	f.tell("system", map[string]any{"subtype": "init"})
	f.startUsersOwn()
	if f.is("absent-minded") {
		f.say(claimed)
	} else {
		f.work(f.remembering(string(prompt)))
	}
	if f.is("unfinished") {
		return 0
	}
	result := map[string]any{
		"subtype": "success", "is_error": false, "num_turns": len(f.words), "result": "",
		"permission_denials": f.denials,
	}
	if f.is("silent-denials") {
		delete(result, "permission_denials")
	}
	if !f.is("unmetered") {
		result["usage"] = map[string]any{"input_tokens": 10, "output_tokens": 5}
	}
	f.tell("result", result)
	if f.is("bad-status") {
		return 3
	}
	return 0
}

func (f *fake) tell(kind string, event map[string]any) {
	event["type"], event["session_id"] = kind, f.session
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

// startUsersOwn runs the hook and the MCP server of the user's settings, unless it was told to
// leave them out.
func (f *fake) startUsersOwn() {
	isolated := slices.Contains(f.args, "--strict-mcp-config") && !f.is("leaky")
	if isolated || f.is("without-plants") {
		return
	}
	var settings struct {
		Hooks struct {
			SessionStart []struct {
				Hooks []struct{ Command string }
			}
		}
	}
	var global struct {
		McpServers map[string]struct {
			Command string
			Args    []string
		}
	}
	f.read("settings.json", &settings)
	f.read(".claude.json", &global)
	for _, event := range settings.Hooks.SessionStart {
		for _, hook := range event.Hooks {
			_ = exec.Command("sh", "-c", hook.Command).Run()
		}
	}
	for _, server := range global.McpServers {
		_ = exec.Command(server.Command, server.Args...).Run()
	}
}

func (f *fake) read(name string, into any) {
	data, err := os.ReadFile(filepath.Join(f.home, name))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(err)
	}
}

// remembering adds what the run before was told, if that is the defect.
func (f *fake) remembering(prompt string) string {
	kept := filepath.Join(f.home, "memory")
	before, _ := os.ReadFile(kept)
	if err := os.WriteFile(kept, []byte(prompt), 0o600); err != nil {
		panic(err)
	}
	if f.is("remembering") {
		return string(before) + prompt
	}
	return prompt
}

type block struct {
	Type  string         `json:"type"`
	Text  string         `json:"text,omitempty"`
	ID    string         `json:"id,omitempty"`
	Name  string         `json:"name,omitempty"`
	Input map[string]any `json:"input,omitempty"`
}

func (f *fake) work(prompt string) {
	f.messages = []map[string]any{{"role": "user", "content": prompt}}
	for {
		said := f.ask()
		f.messages = append(f.messages, map[string]any{"role": "assistant", "content": said})
		var results []map[string]any
		for _, b := range said {
			if b.Type == "text" {
				f.say(b.Text)
				continue
			}
			output := f.use(b)
			if f.is("parrot") {
				f.say(output)
			}
			results = append(results, map[string]any{"type": "tool_result", "tool_use_id": b.ID, "content": output})
		}
		if len(results) == 0 || f.is("easily-hurt") && len(f.denials) > 0 {
			return
		}
		f.messages = append(f.messages, map[string]any{"role": "user", "content": results})
		f.tell("user", map[string]any{"message": map[string]any{"content": results}})
	}
}

func (f *fake) say(text string) {
	if f.is("tagless") {
		text = strings.ReplaceAll(text, "<promise>", "")
	}
	f.words = append(f.words, text)
	message := map[string]any{"id": fmt.Sprintf("m%d", len(f.words)), "model": "fake", "content": []block{
		{Type: "text", Text: text},
	}}
	f.tell("assistant", map[string]any{"message": message, "parent_tool_use_id": nil})
}

func (f *fake) ask() []block {
	tool := func(name string, arguments ...string) map[string]any {
		properties := map[string]any{}
		for _, a := range arguments {
			properties[a] = map[string]any{"type": "string"}
		}
		return map[string]any{"name": name, "input_schema": map[string]any{
			"type": "object", "properties": properties, "required": arguments,
		}}
	}
	shell := "Bash"
	if f.is("renamed-tools") || f.is("shell-less-edits") && !slices.Contains(f.args, "--dangerously-skip-permissions") {
		shell = "Perform"
	}
	body, err := json.Marshal(map[string]any{
		"model": "fake", "max_tokens": 100, "messages": f.messages,
		"tools": []any{tool(shell, "command"), tool("Write", "file_path", "content")},
	})
	if err != nil {
		panic(err)
	}
	response, err := http.Post(f.model+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	var answer struct{ Content []block }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		panic(err)
	}
	return answer.Content
}

// use runs a tool, if it is allowed.
func (f *fake) use(b block) string {
	if !f.may(b) {
		f.denials = append(f.denials, map[string]any{"tool_name": b.Name, "tool_input": b.Input})
		return "denied"
	}
	if b.Name == "Write" {
		if err := os.WriteFile(b.Input["file_path"].(string), []byte(b.Input["content"].(string)), 0o600); err != nil {
			return err.Error()
		}
		return "written"
	}
	output, _ := exec.Command("sh", "-c", b.Input["command"].(string)).CombinedOutput()
	return string(output)
}

func (f *fake) may(b block) bool {
	bypass := slices.Contains(f.args, "--dangerously-skip-permissions")
	switch {
	case bypass:
		return !f.is("never-bypassing")
	case f.is("permissive"):
		return true
	case b.Name == "Write":
		return !f.is("never-editing")
	}
	return slices.Contains(f.args, fmt.Sprintf("Bash(%s)", b.Input["command"])) && !f.is("never-checking")
}

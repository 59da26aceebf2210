package scriptedmodel

import (
	"encoding/base64"
	"path"
	"slices"
	"strings"
)

// Names that clients give to tools and their arguments, the most likely ones first.
var (
	shellTools = []string{
		"bash", "exec_command", "shell_command", "shell", "run_shell_command", "execute_command", "run_command",
		"run_in_terminal", "run_terminal_cmd", "terminal", "local_shell",
	}
	commandNames = []string{"command", "cmd", "script"}
	writeTools   = []string{"write", "write_file", "create_file", "create", "edit_file"}
	pathNames    = []string{"file_path", "filePath", "path", "absolute_path", "filename"}
	textNames    = []string{"content", "contents", "file_text", "text", "new_str"}
)

// resolve turns the script's call into one that the client understands. It fails if the client
// offers no matching tool.
func (c ToolCall) resolve(a ask) (call, bool) {
	switch {
	case c.Name != "":
		at := slices.IndexFunc(a.tools, func(o offer) bool { return o.name == c.Name })
		input := c.Input
		if input == nil {
			input = map[string]any{}
		}
		made := call{name: c.Name, input: input, raw: c.Raw}
		if at >= 0 {
			made.freeform, made.namespace = a.tools[at].freeform, a.tools[at].namespace
		}
		return made, true
	case c.Write != nil:
		if made, ok := writeCall(*c.Write, a); ok {
			return made, true
		}
		return shellCall(writeCommand(*c.Write), a)
	}
	return shellCall(c.Shell, a)
}

func shellCall(command string, a ask) (call, bool) {
	o, ok := find(shellTools, a.tools)
	if !ok {
		return call{}, false
	}
	argument, ok := o.argument(commandNames)
	if !ok {
		return call{}, false
	}
	input := map[string]any{argument: command}
	if o.schema.Properties[argument].Type == "array" {
		input[argument] = []string{"bash", "-lc", command}
	}
	o.fillIn(input)
	return call{name: o.name, input: input}, true
}

// writeCall makes the path absolute if the client's folder is known: some tools refuse relative
// ones.
func writeCall(w FileWrite, a ask) (call, bool) {
	o, ok := find(writeTools, a.tools)
	if !ok {
		return call{}, false
	}
	where, hasPath := o.argument(pathNames)
	what, hasText := o.argument(textNames)
	if !hasPath || !hasText {
		return call{}, false
	}
	if a.folder != "" && !path.IsAbs(w.Path) {
		w.Path = path.Join(a.folder, w.Path)
	}
	input := map[string]any{where: w.Path, what: w.Text}
	o.fillIn(input)
	return call{name: o.name, input: input}, true
}

// writeCommand returns a shell command that writes any file, whatever its content.
func writeCommand(w FileWrite) string {
	quoted := "'" + strings.ReplaceAll(w.Path, "'", `'\''`) + "'"
	folder := "'" + strings.ReplaceAll(path.Dir(w.Path), "'", `'\''`) + "'"
	return "mkdir -p " + folder + " && echo " + base64.StdEncoding.EncodeToString([]byte(w.Text)) + " | base64 -d > " +
		quoted
}

func find(names []string, offers []offer) (offer, bool) {
	for _, name := range names {
		for _, o := range offers {
			if strings.EqualFold(o.name, name) && !o.freeform {
				return o, true
			}
		}
	}
	return offer{}, false
}

func (o offer) argument(names []string) (string, bool) {
	for _, name := range names {
		if _, ok := o.schema.Properties[name]; ok {
			return name, true
		}
	}
	return "", false
}

// fillIn adds a value of the right type for every missing required argument.
func (o offer) fillIn(input map[string]any) {
	for _, name := range o.schema.Required {
		if _, given := input[name]; given {
			continue
		}
		property := o.schema.Properties[name]
		switch {
		case len(property.Enum) > 0:
			input[name] = property.Enum[0]
		case property.Type == "boolean":
			input[name] = false
		case property.Type == "number", property.Type == "integer":
			input[name] = 10_000
		case property.Type == "array":
			input[name] = []any{}
		case property.Type == "object":
			input[name] = map[string]any{}
		default:
			input[name] = "as the script says"
		}
	}
}

// calls returns the tool calls of a turn for the client, and a message about those that it does not
// support.
func (s step) calls(prefix string, a ask) (calls []call, missing string) {
	for i, wanted := range s.turn.Tools {
		made, ok := wanted.resolve(a)
		if !ok {
			var names []string
			for _, o := range a.tools {
				names = append(names, o.name)
			}
			missing = "The script needs a tool that is not offered; offered tools: " + strings.Join(names, ", ")
			continue
		}
		made.id = newCallID(prefix, s, i)
		calls = append(calls, made)
	}
	return calls, missing
}

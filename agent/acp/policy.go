package acp

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/internal/stream"
	"github.com/ralphloop/ralph/internal/shell"
)

const (
	maxCommand = 16 << 10 // maximum bytes of a command or title
	maxPath    = 2 << 10
	maxPaths   = 16
)

// toolCall is what is known about a tool call: what it would do, and to which files.
type toolCall struct {
	id, kind, title, command string
	run                      shell.Call
	paths                    []string
	cut                      bool // there was more than is kept
	result                   callResult
}

// callResult is what agents put beside the result of a command. The protocol has no field for its exit code.
type callResult struct {
	Output   string `json:"output"`
	Exit     *int   `json:"exitCode"`
	ExitCode *int   `json:"exit_code"`
	Metadata struct {
		Exit *int `json:"exit"`
	} `json:"metadata"`
}

// UnmarshalJSON reads a tool call or an update of one.
func (c *toolCall) UnmarshalJSON(text []byte) error {
	var told struct {
		ID        string          `json:"toolCallId"`
		Kind      string          `json:"kind"`
		Title     string          `json:"title"`
		Locations files           `json:"locations"`
		Content   files           `json:"content"`
		Input     json.RawMessage `json:"rawInput"`
		Output    callResult      `json:"rawOutput"`
	}
	stream.Decode(text, &told)
	c.result = told.Output
	c.result.Output = strings.Clone(c.result.Output[max(len(c.result.Output)-maxCommand, 0):])
	c.id, c.kind = c.short(told.ID, stream.MaxSession), c.short(told.Kind, stream.DetailSize)
	c.readInput(told.Input)
	c.title = c.short(told.Title, maxCommand)
	for _, f := range append(told.Locations, told.Content...) {
		if f.Path != "" && len(c.paths) < maxPaths {
			c.paths = append(c.paths, c.short(f.Path, maxPath))
		} else if f.Path != "" {
			c.cut = true
		}
	}
	return nil
}

// readInput reads the command of a call. The keys come from the model, so their case matters.
func (c *toolCall) readInput(input json.RawMessage) {
	var fields map[string]json.RawMessage
	stream.Decode(input, &fields)
	c.command, c.run = c.short(commandLine(fields["command"]), maxCommand), shell.ReadCall(input)
	c.run.Line, c.run.Dir = c.short(c.run.Line, maxCommand), c.short(c.run.Dir, maxPath)
	c.run.Unclear = c.run.Unclear || c.cut
}

// files are the locations of a call, or what it would change; both have the same form.
type files []struct {
	Path string `json:"path"`
}

// policy answers the agent's permission requests.
type policy struct {
	all      bool     // allow everything
	readOnly bool     // allow only reading
	commands []string // commands allowed in addition
	tools    bool     // the run's tools are offered
	dir      string   // the workspace
}

// allows reports whether a call may proceed. Edit mode allows looking around, changing files of the
// workspace, and running a check. Read-only agents may only look around.
func (p policy) allows(c toolCall) bool {
	if p.all {
		return true
	}
	switch sdk.ToolKind(c.kind) {
	case sdk.ToolKindRead, sdk.ToolKindSearch, sdk.ToolKindThink:
		return true
	case sdk.ToolKindEdit, sdk.ToolKindDelete, sdk.ToolKindMove:
		return !p.readOnly && p.inWorkspace(c)
	case sdk.ToolKindExecute:
		return !p.readOnly && p.isCheck(c)
	case sdk.ToolKindOther:
		return p.tools && c.isOurs()
	}
	return false
}

// isOurs reports whether a call is of one of the run's tools, as gemini names them. Other agents do not
// ask, because these tools change no file.
func (c toolCall) isOurs() bool {
	name, ok := strings.CutSuffix(c.title, " ("+ToolServer+" MCP Server)")
	return ok && slices.Contains(ralph.ToolNames(), ralph.ToolName(name))
}

// wouldAllow returns the flag with which nothing would be rejected, or "" if it is already set.
func (p policy) wouldAllow() string {
	if p.all {
		return ""
	}
	return "--yolo"
}

// inWorkspace reports whether every file of a call is known and is in the workspace, with links
// resolved.
func (p policy) inWorkspace(c toolCall) bool {
	if len(c.paths) == 0 || c.cut || p.dir == "" {
		return false
	}
	dir := resolveLinks(p.dir)
	for _, path := range c.paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.dir, path)
		}
		relative, err := filepath.Rel(dir, resolveLinks(path))
		if err != nil || !filepath.IsLocal(relative) {
			return false
		}
	}
	return true
}

// resolveLinks resolves the links of a path as far as it exists.
func resolveLinks(path string) string {
	path = filepath.Clean(path)
	for rest := ""; ; {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return filepath.Join(path, rest)
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = parent
	}
}

// shellSyntax are the characters that can turn what looks like arguments into further commands.
const shellSyntax = ";&|<>$`(){}\\\n\r"

// isCheck reports whether a call runs one of the allowed commands, possibly with further arguments.
func (p policy) isCheck(c toolCall) bool {
	command := strings.TrimSpace(c.line())
	if command == "" || c.cut || c.run.Unclear {
		return false
	}
	return slices.ContainsFunc(p.commands, func(allowed string) bool {
		allowed = strings.TrimSpace(allowed)
		rest, ok := strings.CutPrefix(command, allowed)
		return ok && allowed != "" && (rest == "" || rest[0] == ' ' && !strings.ContainsAny(rest, shellSyntax))
	})
}

// line returns the command of a call. If only the title names it, it may be in backticks.
func (c toolCall) line() string {
	return cmp.Or(c.command, strings.Trim(strings.TrimSpace(c.title), "`"))
}

// about describes a call in a few words.
func (c toolCall) about() string {
	switch {
	case c.command != "":
		return c.command
	case len(c.paths) > 0 && !strings.Contains(c.title, filepath.Base(c.paths[0])):
		return strings.TrimSpace(c.title + " " + c.paths[0])
	}
	return c.title
}

// name is what calls of this kind are counted under, because titles include the arguments.
func (c toolCall) name() string { return cmp.Or(c.kind, string(sdk.ToolKindOther)) }

// merge adds what a later message says about the same call.
func (c *toolCall) merge(later toolCall) {
	c.kind, c.title, c.command = cmp.Or(later.kind, c.kind), cmp.Or(later.title, c.title), cmp.Or(later.command, c.command)
	if len(later.paths) > 0 {
		c.paths = later.paths
	}
	c.run = cmp.Or(later.run, c.run)
	c.cut = c.cut || later.cut
}

func (c *toolCall) short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	c.cut = true
	return strings.Clone(strings.ToValidUTF8(s[:limit], ""))
}

// shells may wrap a command: by their bare names, or at the system's paths. Any other program of
// that name could come from the model.
var shells = []string{
	"sh", "bash", "zsh", "dash", "/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/sh", "/usr/bin/bash",
	"/usr/bin/zsh",
}

// commandLine returns a command line, which may be given as words. It removes a shell that merely
// wraps the real command.
func commandLine(text json.RawMessage) (line string) {
	if json.Unmarshal(text, &line) == nil {
		return line
	}
	var words []string
	stream.Decode(text, &words)
	if len(words) == 3 && slices.Contains(shells, words[0]) && (words[1] == "-c" || words[1] == "-lc") {
		return words[2]
	}
	return strings.Join(words, " ")
}

// choice is an answer that the agent offers to a permission request.
type choice struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// choose picks the first option of the given kinds, which prefer a one-time answer; "" if none is
// offered.
func choose(options []choice, kinds ...sdk.PermissionOptionKind) string {
	for _, kind := range kinds {
		for _, o := range options {
			if o.Kind == string(kind) {
				return o.ID
			}
		}
	}
	return ""
}

var (
	allowKinds  = []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce, sdk.PermissionOptionKindAllowAlways}
	rejectKinds = []sdk.PermissionOptionKind{sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways}
)

package acp

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/ralphloop/ralph/agent/internal/stream"
)

const (
	maxCommand = 16 << 10 // bytes of a command or title that are kept
	maxPath    = 2 << 10
	maxPaths   = 16
)

// toolCall is what is known of a tool call: what it would do, and to which files.
type toolCall struct {
	id, kind, title, command string
	paths                    []string
	cut                      bool // there was more than is kept
}

// UnmarshalJSON reads a tool call or an update of one. The keys of the input are the model's, so that their case counts.
func (c *toolCall) UnmarshalJSON(text []byte) error {
	var told struct {
		ID        string                     `json:"toolCallId"`
		Kind      string                     `json:"kind"`
		Title     string                     `json:"title"`
		Locations files                      `json:"locations"`
		Content   files                      `json:"content"`
		Input     map[string]json.RawMessage `json:"rawInput"`
	}
	stream.Decode(text, &told)
	c.id, c.kind = c.short(told.ID, stream.MaxSession), c.short(told.Kind, stream.DetailSize)
	c.title, c.command = c.short(told.Title, maxCommand), c.short(commandLine(told.Input["command"]), maxCommand)
	for _, f := range append(told.Locations, told.Content...) {
		if f.Path != "" && len(c.paths) < maxPaths {
			c.paths = append(c.paths, c.short(f.Path, maxPath))
		} else if f.Path != "" {
			c.cut = true
		}
	}
	return nil
}

// files are where a call works, or what it would change; both name them in the same way.
type files []struct {
	Path string `json:"path"`
}

// policy answers the agent's requests for permission.
type policy struct {
	all      bool     // everything is allowed
	readOnly bool     // only reading is
	commands []string // that are allowed as well
	dir      string   // the workspace
}

// allows says whether a call may go on. In edit mode that is looking around, changing files of the workspace, and running a check; an agent that may
// only read is left the first.
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
	}
	return false
}

// wouldAllow is what a user could write so that nothing is rejected; "" if it is written already.
func (p policy) wouldAllow() string {
	if p.all {
		return ""
	}
	return "--yolo"
}

// inWorkspace says that every file of a call is known and is in the workspace, also where links lead out of it.
func (p policy) inWorkspace(c toolCall) bool {
	if len(c.paths) == 0 || c.cut || p.dir == "" {
		return false
	}
	dir := resolved(p.dir)
	for _, path := range c.paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.dir, path)
		}
		relative, err := filepath.Rel(dir, resolved(path))
		if err != nil || !filepath.IsLocal(relative) {
			return false
		}
	}
	return true
}

// resolved follows the links of a path as far as it exists.
func resolved(path string) string {
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

// shellSyntax are the characters by which more than one command could come of what looks like arguments.
const shellSyntax = ";&|<>$`(){}\\\n\r"

// isCheck says that a call runs one of the allowed commands, perhaps with further arguments.
func (p policy) isCheck(c toolCall) bool {
	command := strings.TrimSpace(c.line())
	if command == "" || c.cut {
		return false
	}
	return slices.ContainsFunc(p.commands, func(allowed string) bool {
		allowed = strings.TrimSpace(allowed)
		rest, ok := strings.CutPrefix(command, allowed)
		return ok && allowed != "" && (rest == "" || rest[0] == ' ' && !strings.ContainsAny(rest, shellSyntax))
	})
}

// line is the command of a call. Where only the title tells it, it may stand in backticks.
func (c toolCall) line() string {
	return cmp.Or(c.command, strings.Trim(strings.TrimSpace(c.title), "`"))
}

// about says in a few words what a call is about.
func (c toolCall) about() string {
	switch {
	case c.command != "":
		return c.command
	case len(c.paths) > 0 && !strings.Contains(c.title, filepath.Base(c.paths[0])):
		return strings.TrimSpace(c.title + " " + c.paths[0])
	}
	return c.title
}

// name is what calls of this kind are counted under: titles tell the arguments, too.
func (c toolCall) name() string { return cmp.Or(c.kind, string(sdk.ToolKindOther)) }

// merge adds what a later message tells of the same call.
func (c *toolCall) merge(later toolCall) {
	c.kind, c.title, c.command = cmp.Or(later.kind, c.kind), cmp.Or(later.title, c.title), cmp.Or(later.command, c.command)
	if len(later.paths) > 0 {
		c.paths = later.paths
	}
	c.cut = c.cut || later.cut
}

func (c *toolCall) short(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	c.cut = true
	return strings.Clone(strings.ToValidUTF8(s[:limit], ""))
}

// shells are the shells that may carry a command: by their bare names, or where the system has them. Any other program of that name could be the model's.
var shells = []string{"sh", "bash", "zsh", "dash", "/bin/sh", "/bin/bash", "/bin/zsh", "/usr/bin/sh", "/usr/bin/bash", "/usr/bin/zsh"}

// commandLine is a command line, or the words of one. A shell that only carries the real one is taken away.
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

// choice is an answer that the agent offers to a request for permission.
type choice struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// choose picks the option that says it, and says it only this once if that is offered; "" if none does.
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

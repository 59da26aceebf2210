package shell

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Call is what the arguments of a tool call say about a command.
type Call struct {
	Line       string // "" if the tool has no command
	Dir        string // where it runs; "" is the tool's usual folder
	Background bool   // the tool's result says nothing about the command's
	Unclear    bool   // programs would read the arguments differently
}

// Names of arguments of shell tools.
var (
	lineNames       = []string{"command", "cmd", "script"}
	dirNames        = []string{"workdir", "cwd", "working_directory", "workingDirectory", "directory", "dir_path", "dir"}
	backgroundNames = []string{
		"run_in_background", "is_background", "background", "isBackground", "async", "detach", "detached",
	}
)

// harmless are the arguments that agents and tools have beside these, and that cannot change what runs, with a test
// of their value. A name that is not here may do anything: add words, set PATH, choose a machine.
var harmless = map[string]func(value any) bool{
	"description": isText, "explanation": isText, "justification": isText, "reason": isText, "goal": isText,
	"summary": isText,

	"timeout": isNumber, "timeout_ms": isNumber, "timeoutMs": isNumber, "timeout_seconds": isNumber,
	"timeout_secs": isNumber, "timeout_sec": isNumber, "timeoutSeconds": isNumber, "yield_time_ms": isNumber,
	"initial_wait": isNumber, "max_output_tokens": isNumber, "max_output_length": isNumber, "max_output_chars": isNumber,

	"with_escalated_permissions": isFlag, "dangerouslyDisableSandbox": isFlag, "require_user_approval": isFlag,
	"requires_approval": isFlag, "wait_for_previous": isFlag, "tty": isFlag, "login": isFlag,
	"sandbox_permissions": isText, "prefix_rule": isAnything, "additional_permissions": isAnything,

	"shell": func(value any) bool { s, ok := value.(string); return ok && isPlainShell(s) },
	"mode":  func(value any) bool { return value == "sync" },
}

func isAnything(any) bool { return true }

func isText(value any) bool { _, ok := value.(string); return ok }

func isFlag(value any) bool { _, ok := value.(bool); return ok }

// isNumber accepts a number in quotes too, because models write them.
func isNumber(value any) bool {
	if s, ok := value.(string); ok {
		_, err := strconv.ParseFloat(s, 64)
		return err == nil
	}
	_, ok := value.(float64)
	return ok
}

// isHarmless reports whether an argument cannot change what a command runs. One without a value is not set.
func isHarmless(name string, value json.RawMessage) bool {
	var decoded any
	if json.Unmarshal(value, &decoded) != nil {
		return false // such as a number that is too large
	}
	switch decoded := decoded.(type) {
	case nil:
		return true
	case string:
		if decoded == "" {
			return true
		}
	case []any:
		if len(decoded) == 0 {
			return true
		}
	case map[string]any:
		if len(decoded) == 0 {
			return true
		}
	}
	test, known := harmless[name]
	return known && test(decoded)
}

// ReadCall reads the arguments of a tool call. They come from a model, and which of them the tool obeys is unknown: if
// two name the same thing, one has its name in another case, or one could change what the command runs, the call is
// unclear.
func ReadCall(arguments []byte) (c Call) {
	if !bytes.HasPrefix(bytes.TrimSpace(arguments), []byte("{")) {
		return Call{} // free text
	}
	if !json.Valid(arguments) {
		return Call{Unclear: true}
	}
	var lines, dirs, flags int
	others := map[string][]json.RawMessage{} // which may change what a command runs
	for name, value := range members(arguments) {
		readable, isNull := true, string(value) == "null"
		switch {
		case c.names(lineNames, name, &lines):
			c.Line, readable = commandLine(value)
		case c.names(dirNames, name, &dirs):
			readable = json.Unmarshal(value, &c.Dir) == nil
		case c.names(backgroundNames, name, &flags):
			c.Background = string(value) != "false" && !isNull
		default:
			others[name] = append(others[name], value)
		}
		c.Unclear = c.Unclear || !readable && !isNull
	}
	c.Unclear = c.Unclear || c.Line != "" && !areHarmless(others)
	return c
}

// areHarmless reports whether arguments cannot change what a command runs. Of two with the same name, in any case, one
// may.
func areHarmless(arguments map[string][]json.RawMessage) bool {
	seen := map[string]bool{}
	for name, values := range arguments {
		folded := strings.ToLower(name)
		if len(values) > 1 || seen[folded] || !isHarmless(name, values[0]) {
			return false
		}
		seen[folded] = true
	}
	return true
}

// names reports whether an argument has one of the names. Only the first one that does is clear.
func (c *Call) names(names []string, argument string, times *int) bool {
	if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, argument) }) {
		return false
	}
	*times++
	c.Unclear = c.Unclear || *times > 1 || !slices.Contains(names, argument)
	return true
}

// ShowsResultIn reports whether the tool's result is that of the command, run in a folder.
func (c Call) ShowsResultIn(dir string) bool {
	return (c.Dir == "" || isFolder(c.Dir, dir)) && !c.Background && !c.Unclear
}

// isFolder reports whether a path names the current folder or dir. It does not follow links, because they may change.
// The system follows a link before "..", so a path with ".." is another one than it seems.
func isFolder(path, dir string) bool {
	isUp := func(part string) bool { return part == ".." }
	switch {
	case path == ".", path == dir && dir != "":
		return true
	case dir == "" || slices.ContainsFunc(strings.FieldsFunc(path, isSeparator), isUp):
		return false
	}
	return filepath.Clean(path) == filepath.Clean(dir)
}

func isSeparator(c rune) bool { return c == '/' || c == filepath.Separator }

// commandLine returns the line of an argument: a text, or the words of a command.
func commandLine(argument json.RawMessage) (line string, ok bool) {
	var words []string
	if json.Unmarshal(argument, &line) == nil {
		return line, true
	}
	if json.Unmarshal(argument, &words) != nil {
		return "", false
	}
	for i, word := range words {
		if word == "" || strings.Trim(word, unquoted) != "" {
			words[i] = Quote(word)
		}
	}
	return strings.Join(words, " "), true
}

// unquoted are the characters of words that need no quotes.
const unquoted = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=-"

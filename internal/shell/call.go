package shell

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
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
	backgroundNames = []string{"run_in_background", "is_background", "background", "isBackground"}
)

// ReadCall reads the arguments of a tool call. They come from a model, and which of them the tool obeys is unknown: if
// two name the same thing, or one has its name in another case, the call is unclear.
func ReadCall(arguments []byte) (c Call) {
	if !bytes.HasPrefix(bytes.TrimSpace(arguments), []byte("{")) {
		return Call{} // free text
	}
	if !json.Valid(arguments) {
		return Call{Unclear: true}
	}
	var lines, dirs, flags int
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	_, _ = decoder.Token() // the opening brace of valid JSON
	for decoder.More() {
		key, _ := decoder.Token()
		name, _ := key.(string)
		var value json.RawMessage
		_ = decoder.Decode(&value)
		readable, isNull := true, string(value) == "null"
		switch {
		case c.names(lineNames, name, &lines):
			c.Line, readable = commandLine(value)
		case c.names(dirNames, name, &dirs):
			readable = json.Unmarshal(value, &c.Dir) == nil
		case c.names(backgroundNames, name, &flags):
			c.Background = string(value) != "false" && !isNull
		}
		c.Unclear = c.Unclear || !readable && !isNull
	}
	return c
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
	here := c.Dir == "" || c.Dir == "." || dir != "" && filepath.Clean(c.Dir) == filepath.Clean(dir)
	return here && !c.Background && !c.Unclear
}

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

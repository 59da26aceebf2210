package goal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// checkTool is the ToolName of evidence that the Checker produced.
const checkTool = "check"

// tree returns the name of the workspace's current state, "" without Config.Tree.
func (m *Middleware) tree(ctx context.Context) (string, error) {
	if m.Tree == nil {
		return "", nil
	}
	state, err := m.Tree.Fingerprint(ctx, ralph.TreeInput{})
	if err == nil && !state.Known {
		err = errors.New("its state is unknown")
	}
	if err != nil {
		return "", fmt.Errorf("fingerprint workspace: %w", err)
	}
	return state.ID(), nil
}

// observe turns the results of the pending calls into evidence. It looks at each batch of calls once.
func (m *Middleware) observe(ctx context.Context, s *State, messages []Message) error {
	results := newResults(messages)
	if s.Pending == nil || len(results) == 0 {
		return nil
	}
	tree, err := m.tree(ctx)
	if err != nil {
		return err
	}
	var found []Evidence
	others := len(results) < len(s.Pending.Calls) // a call without a result may have done anything
	for _, result := range results {
		call := s.Pending.find(result)
		verifiers, only := m.verifiers(call)
		others = others || !only
		for _, verifier := range verifiers {
			found = append(found, Evidence{
				ToolName: call.Name, ToolCallID: result.CallID, Command: commandOf(call).line, Status: statusOf(call, result),
				Content: m.compact(result.Content), ObservedAt: m.Now(), Verifier: verifier, Iteration: s.Iteration, Tree: tree,
			})
		}
	}
	for _, e := range found {
		// A verifier that runs first has seen the files from before the call. What came first in a batch is
		// unknown, and calls may undo each other's changes.
		e.Stale = m.Tree != nil && others && (len(s.Pending.Calls) > 1 || tree != s.Pending.Tree)
		s.note(e)
	}
	s.Pending = nil
	return nil
}

// newResults returns the results after the last message of the assistant.
func newResults(messages []Message) (results []ToolResult) {
	for _, message := range messages {
		if message.Role == Assistant {
			results = nil
		}
		results = append(results, message.Results...)
	}
	return results
}

// find returns the call that a result belongs to. Without one, the result's own name says which tool it was.
func (p *PendingCalls) find(r ToolResult) ToolCall {
	for _, call := range p.Calls {
		if call.ID != "" && call.ID == r.CallID {
			return call
		}
	}
	return ToolCall{Name: r.Name}
}

// verifiers returns what a call verifies. only reports that it does nothing else.
func (m *Middleware) verifiers(call ToolCall) (names []string, only bool) {
	if !slices.Contains(m.VerifierToolNames, call.Name) {
		return nil, false
	}
	command := commandOf(call)
	switch {
	case command.line == "" && isShellTool(call.Name):
		return nil, false
	case command.line == "":
		return []string{call.Name}, true
	case command.background || !m.isHere(command.dir):
		return nil, false
	}
	for _, verifier := range m.Verifiers {
		if shell.Runs(command.line, verifier, m.Dir) {
			names = append(names, verifier)
			only = only || shell.RunsOnly(command.line, verifier, m.Dir)
		}
	}
	if m.Checker != nil {
		return nil, only // the middleware runs them itself
	}
	return names, only
}

func isShellTool(name string) bool { return slices.Contains(ShellTools, name) }

// isHere reports whether a tool's working folder is the workspace. Without one, the tool runs in its usual
// folder.
func (m *Middleware) isHere(dir string) bool {
	return dir == "" || dir == "." || m.Dir != "" && filepath.Clean(dir) == filepath.Clean(m.Dir)
}

// command is what a shell tool runs.
type command struct {
	line       string
	dir        string
	background bool // the tool's result says nothing about the command's
}

// Names of arguments of shell tools.
var (
	commandNames    = []string{"command", "cmd", "script"}
	dirNames        = []string{"workdir", "cwd", "working_directory", "workingDirectory", "directory", "dir_path", "dir"}
	backgroundNames = []string{"run_in_background", "is_background", "background", "isBackground"}
)

// commandOf reads the arguments of a call. A line of "" means that the tool has no command.
func commandOf(call ToolCall) (c command) {
	var arguments map[string]json.RawMessage
	if json.Unmarshal(call.Arguments, &arguments) != nil {
		return command{}
	}
	for _, name := range commandNames {
		c.line = cmp.Or(c.line, commandLine(arguments[name]))
	}
	for _, name := range dirNames {
		var dir string
		_ = json.Unmarshal(arguments[name], &dir) // if it is no text, it is no folder
		c.dir = cmp.Or(c.dir, dir)
	}
	for _, name := range backgroundNames {
		value := string(arguments[name])
		c.background = c.background || value != "" && value != "false" && value != "null"
	}
	return c
}

// commandLine returns the line of an argument: a text, or the words of a command.
func commandLine(argument json.RawMessage) (line string) {
	var words []string
	if json.Unmarshal(argument, &line) == nil || json.Unmarshal(argument, &words) != nil {
		return line
	}
	for i, word := range words {
		if !isPlainWord(word) {
			words[i] = shell.Quote(word)
		}
	}
	return strings.Join(words, " ")
}

var plainWord = text.LazyRegexp(`^[A-Za-z0-9_./:@%+=-]+$`)

func isPlainWord(word string) bool { return plainWord().MatchString(word) }

// statusOf says whether a call succeeded: by its exit code and the tool's own error flag. Only if there is
// neither, it reads the output, and there only reports of an exit code. A command without any of them did
// not pass, because nothing says so. A tool without a command passes by returning a result.
func statusOf(call ToolCall, r ToolResult) ralph.EvidenceStatus {
	switch {
	case r.Status == ralph.EvidenceFail || r.ExitCode != nil && *r.ExitCode != 0:
		return ralph.EvidenceFail
	case r.Status == ralph.EvidencePass || r.ExitCode != nil:
		return ralph.EvidencePass
	}
	codes := reportedCodes(r.Content)
	passed := len(codes) > 0 || commandOf(call).line == ""
	if passed && !slices.ContainsFunc(codes, func(code int) bool { return code != 0 }) {
		return ralph.EvidencePass
	}
	return ralph.EvidenceFail
}

// codeLine matches a line that reports an exit code and nothing else, such as "Process exited with code 0".
var codeLine = text.LazyRegexp(`(?im)^[\s\[(<>#*-]*(?:(?:the |your )?(?:command|process|script|program|shell)\s+)?` +
	`(?:exit(?:ed)?|finished|completed|returned)[\s_-]*(?:with\s+)?(?:exit\s+)?(?:code|status)\s*[:=>]?\s*(-?\d{1,10})` +
	`(?:[\s\])>.*]*|</\w+>\s*)$`)

// reportedCodes returns the exit codes that an output reports: in lines of their own, or in a field if it
// is a JSON object.
func reportedCodes(output string) (codes []int) {
	var fields struct {
		One   *int `json:"exit_code"`
		Two   *int `json:"exitCode"`
		Three *int `json:"exit_status"`
	}
	if json.Unmarshal([]byte(output), &fields) == nil {
		for _, code := range []*int{fields.One, fields.Two, fields.Three} {
			if code != nil {
				codes = append(codes, *code)
			}
		}
		return codes
	}
	for _, match := range codeLine().FindAllStringSubmatch(output, -1) {
		code, err := strconv.Atoi(match[1])
		if err != nil {
			code = -1
		}
		codes = append(codes, code)
	}
	return codes
}

// check runs the Verifiers. Files that they write themselves do not make their results stale.
func (m *Middleware) check(ctx context.Context, s *State) error {
	var found []Evidence
	for _, verifier := range m.Verifiers {
		result, err := m.Checker.Check(ctx, ralph.CheckInput{Name: verifier, Dir: m.Dir})
		if err != nil {
			return fmt.Errorf("run verifier %q: %w", verifier, err)
		}
		e := Evidence{
			ToolName: checkTool, Command: verifier, Status: ralph.EvidencePass, Content: m.compact(result.Output),
			ObservedAt: m.Now(), Verifier: verifier, Iteration: s.Iteration,
		}
		if !result.Passed {
			e.Status, e.Content = ralph.EvidenceFail, m.compact(result.HowFailed()+"\n"+result.Output)
		}
		found = append(found, e)
	}
	tree, err := m.tree(ctx)
	if err != nil {
		return err
	}
	for _, e := range found {
		e.Tree = tree
		s.note(e)
	}
	return nil
}

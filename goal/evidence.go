package goal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// checkTool is the ToolName of evidence that the Checker produced.
const checkTool = "check"

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
	moved, err := m.movedSince(ctx, s.Pending.Stamp) // after tree, so that nothing changes unseen between them
	if err != nil {
		return err
	}
	var found []Evidence
	others := len(results) < len(s.Pending.Calls) // a call without a result may have done anything
	for i, call := range s.Pending.callsOf(results, unanswered(messages)) {
		result := results[i]
		verifiers, only := m.verifiers(call)
		others = others || !only
		for _, verifier := range verifiers {
			found = append(found, Evidence{
				ToolName: call.Name, ToolCallID: result.CallID, Command: shell.ReadCall(call.Arguments).Line,
				Status: m.statusOf(call, result), Content: m.compact(result.Content), ObservedAt: m.Now(),
				Verifier: verifier, Iteration: s.Iteration, Tree: tree, Moved: moved,
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

// unanswered returns how many calls before the last message of the assistant have no result there, by ID. Their results
// may still come.
func unanswered(messages []Message) map[string]int {
	open, before := map[string]int{}, map[string]int{}
	for _, message := range messages {
		if message.Role == Assistant {
			before = maps.Clone(open)
		}
		for _, call := range message.Calls {
			open[call.ID]++
		}
		for _, result := range message.Results {
			open[result.CallID]--
		}
	}
	return before
}

// callsOf returns the call that each result belongs to: the one with its ID or, if the result has none, the one of its
// tool. If that could be another call or the result of another one, whose result it is is unknown; then the call is
// empty, and so verifies nothing.
func (p *PendingCalls) callsOf(results []ToolResult, late map[string]int) []ToolCall {
	indexes := make([]int, len(results))
	times := map[int]int{} // results of each call
	for i, result := range results {
		indexes[i] = p.find(result)
		times[indexes[i]]++
	}
	calls := make([]ToolCall, len(results))
	for i, index := range indexes {
		if index >= 0 && times[index] == 1 && (results[i].CallID == "" || late[results[i].CallID] <= 0) {
			calls[i] = p.Calls[index]
		}
	}
	return calls
}

// find returns the index of the only call that a result can belong to, -1 if there is none.
func (p *PendingCalls) find(r ToolResult) int {
	index := -1
	for i, call := range p.Calls {
		byID, byName := call.ID == r.CallID && r.CallID != "", call.Name == r.Name && r.CallID == ""
		switch {
		case !byID && !byName:
		case index >= 0:
			return -1
		default:
			index = i
		}
	}
	return index
}

// verifiers returns what a call verifies. only reports that it does nothing else.
func (m *Middleware) verifiers(call ToolCall) (names []string, only bool) {
	if !slices.Contains(m.VerifierToolNames, call.Name) {
		return nil, false
	}
	command := shell.ReadCall(call.Arguments)
	switch {
	case !command.ShowsResultIn(m.Dir), command.Line == "" && isShellTool(call.Name):
		return nil, false
	case command.Line == "":
		return []string{call.Name}, true
	}
	for _, verifier := range m.Verifiers {
		if shell.Runs(command.Line, verifier, m.Dir) {
			names = append(names, verifier)
			only = only || shell.RunsOnly(command.Line, verifier, m.Dir)
		}
	}
	if m.Checker != nil {
		return nil, only // the middleware runs them itself
	}
	return names, only
}

// isVerifier reports whether a call verifies anything.
func (m *Middleware) isVerifier(call ToolCall) bool {
	names, _ := m.verifiers(call)
	return len(names) > 0
}

func isShellTool(name string) bool { return slices.Contains(ShellTools, name) }

// statusOf says whether a call succeeded: by its exit code and the tool's own error flag. Only if there is
// neither and Config.ExitCodeInOutput is set, it reads the output, and there only reports of an exit code. A
// command without any of them did not pass, because nothing says so. A tool without a command passes by
// returning a result.
func (m *Middleware) statusOf(call ToolCall, r ToolResult) ralph.EvidenceStatus {
	switch {
	case r.Status == ralph.EvidenceFail || r.ExitCode != nil && *r.ExitCode != 0:
		return ralph.EvidenceFail
	case r.Status == ralph.EvidencePass || r.ExitCode != nil:
		return ralph.EvidencePass
	}
	var codes []int
	if m.ExitCodeInOutput {
		codes = reportedCodes(r.Content)
	}
	passed := len(codes) > 0 || shell.ReadCall(call.Arguments).Line == ""
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

// check runs the Verifiers. If files changed meanwhile, also if they changed back, what passed may have seen others
// than those that are there, so the Verifiers run once more. What they build and cache themselves is there then.
func (m *Middleware) check(ctx context.Context, s *State) error {
	found, err := m.runVerifiers(ctx, s)
	if err == nil && len(found) > 0 && found[0].Moved != "" && !slices.ContainsFunc(found, Evidence.failed) {
		found, err = m.runVerifiers(ctx, s)
	}
	for _, e := range found {
		s.note(e)
	}
	return err
}

// runVerifiers runs the Verifiers once.
func (m *Middleware) runVerifiers(ctx context.Context, s *State) (found []Evidence, err error) {
	before, err := m.stampBefore(ctx)
	if err != nil {
		return nil, err
	}
	for _, verifier := range m.Verifiers {
		result, err := m.Checker.Check(ctx, ralph.CheckInput{Name: verifier, Dir: m.Dir})
		if err != nil {
			return nil, fmt.Errorf("run verifier %q: %w", verifier, err)
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
		return nil, err
	}
	moved, err := m.movedSince(ctx, before.ID)
	for i := range found {
		found[i].Tree, found[i].Moved = tree, moved
	}
	return found, err
}

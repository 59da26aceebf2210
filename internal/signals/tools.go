package signals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/worker/tools"
	"github.com/ralphloop/ralph/promise"
)

// Tool is a tool as a model sees it.
type Tool struct {
	Name  ralph.ToolName
	Doc   string
	input any
	read  func(input json.RawMessage) (ralph.ToolCall, error)
}

// Schema returns the JSON schema of the tool's input.
func (t Tool) Schema() json.RawMessage { return tools.Schema(t.input) }

type (
	nothing   struct{}
	taskInput struct {
		Task string `json:"task,omitempty" doc:"The id of the task; default: the task of this iteration."`
	}
	reasonInput struct {
		Reason string `json:"reason" doc:"What only a person can give, and why."`
	}
	questionInput struct {
		Question string `json:"question" doc:"The question, with the options."`
	}
	learningInput struct {
		Learning string `json:"learning" doc:"One line about this project, such as how to build it, or a trap."`
	}
	statusInput struct {
		State          string `json:"status" enum:"IN_PROGRESS,COMPLETE,BLOCKED"`
		TasksCompleted int    `json:"tasks_completed_this_loop"`
		FilesModified  int    `json:"files_modified"`
		Tests          string `json:"tests_status" enum:"PASSING,FAILING,NOT_RUN"`
		WorkType       string `json:"work_type" enum:"IMPLEMENTATION,TESTING,DOCUMENTATION,REFACTORING"`
		ExitSignal     bool   `json:"exit_signal" doc:"True only if everything is done."`
		Recommendation string `json:"recommendation" doc:"One line: the next step, a summary, or what blocks you."`
	}
)

// Tools lists the tools in the order in which a model sees them.
func Tools() []Tool {
	return []Tool{
		{ralph.ToolNextTask, "Says what the run wants done now: the task with its id and details, or the goal.",
			nothing{}, readNothing},
		{ralph.ToolRunChecks, "Runs the run's checks on the files as they are now, as Ralph runs them after you have " +
			"ended, and returns the results. They are feedback, not proof.",
			nothing{}, readNothing},
		{ralph.ToolSubmitCase, "Says that your task, or without tasks the goal, is done, with reasons. Ralph runs the " +
			"checks and answers what would refuse the claim now. It judges the claim when you have ended. Name every " +
			"criterion with the place that meets it: a pointer such as path/to/file.go:Symbol, not prose.",
			tools.CaseInput{}, readCase},
		{ralph.ToolTaskDone, "Says that one task of the list is done, with everything that it asks for. Ralph judges the " +
			"claim when you have ended.", taskInput{}, readTask},
		{ralph.ToolBlocked, "Says that you cannot continue without a person, such as for a missing credential. End your " +
			"work afterwards.", reasonInput{}, readReason},
		{ralph.ToolDecide, "Asks a person to decide between real alternatives. End your work afterwards.",
			questionInput{}, readQuestion},
		{ralph.ToolProposeLearning, "Proposes one line that every later iteration should know about this project.",
			learningInput{}, readLearning},
		{ralph.ToolReportStatus, "Reports the status of your work at the end of an iteration, in place of a status block. " +
			"COMPLETE is a claim only with exit_signal true and tests_status PASSING.",
			statusInput{}, readStatus},
	}
}

// read reads a call. The error is one sentence for the model.
func read(tool string, input json.RawMessage) (ralph.ToolCall, error) {
	all := Tools()
	i := slices.IndexFunc(all, func(t Tool) bool { return string(t.Name) == tool })
	if i < 0 {
		return ralph.ToolCall{}, fmt.Errorf("there is no tool %q", promise.OneLine(tool, 60))
	}
	if trimmed := bytes.TrimSpace(input); len(trimmed) == 0 || string(trimmed) == "null" {
		input = json.RawMessage("{}")
	}
	signal, err := all[i].read(input)
	signal.Tool = all[i].Name
	return signal, err
}

func readNothing(input json.RawMessage) (ralph.ToolCall, error) {
	return ralph.ToolCall{}, tools.Decode(input, &nothing{})
}

func readCase(input json.RawMessage) (ralph.ToolCall, error) {
	made, err := tools.DecodeCase(input)
	return ralph.ToolCall{Case: &made}, err
}

func readTask(input json.RawMessage) (ralph.ToolCall, error) {
	var in taskInput
	err := tools.Decode(input, &in)
	return ralph.ToolCall{Task: strings.TrimSpace(in.Task)}, err
}

func readReason(input json.RawMessage) (ralph.ToolCall, error) {
	var in reasonInput
	err := tools.Decode(input, &in)
	return said(in.Reason, err, "field reason is empty; say what is missing")
}

func readQuestion(input json.RawMessage) (ralph.ToolCall, error) {
	var in questionInput
	err := tools.Decode(input, &in)
	return said(in.Question, err, "field question is empty; ask one")
}

func readLearning(input json.RawMessage) (ralph.ToolCall, error) {
	var in learningInput
	err := tools.Decode(input, &in)
	return said(in.Learning, err, "field learning is empty")
}

func said(text string, err error, empty string) (ralph.ToolCall, error) {
	if err == nil && strings.TrimSpace(text) == "" {
		err = errors.New(empty)
	}
	return ralph.ToolCall{Text: text}, err
}

func readStatus(input json.RawMessage) (ralph.ToolCall, error) {
	var in statusInput
	err := tools.Decode(input, &in)
	status := promise.Status(in)
	return ralph.ToolCall{Status: &status}, err
}

package ralph

import (
	"context"

	"github.com/ralphloop/ralph/promise"
)

// ToolServer lets the agents of a run signal with tool calls while they work.
type ToolServer interface {
	// Open accepts the calls of one iteration's agent until the door is closed or ctx is done. Several
	// goroutines may call answer at once. An error means that the agent has no tools in this iteration.
	Open(ctx context.Context, answer func(context.Context, ToolCall) ToolAnswer) (ToolDoor, error)
}

// ToolDoor is where the agent of one iteration signals.
type ToolDoor struct {
	Env   []string // variables for the agent, by which its calls reach the loop; they hold a secret
	Close func()   // cancels the calls that are being answered, and waits for them
}

// The variables in ToolDoor.Env.
const (
	ToolSocketVariable = "RALPH_MCP_SOCKET"
	ToolTokenVariable  = "RALPH_MCP_TOKEN"
)

// ToolCaller is an optional interface of an Agent. CallsTools reports whether its model is offered the
// loop's tools.
type ToolCaller interface {
	CallsTools() bool
}

// ToolName is a tool that agents signal with.
type ToolName string

// The tools.
const (
	ToolReportStatus    ToolName = "report_status"
	ToolSubmitCase      ToolName = "submit_case"
	ToolTaskDone        ToolName = "task_done"
	ToolBlocked         ToolName = "blocked"
	ToolDecide          ToolName = "decide"
	ToolProposeLearning ToolName = "propose_learning"
	ToolNextTask        ToolName = "next_task"
	ToolRunChecks       ToolName = "run_checks"
)

// ToolNames lists the tools.
func ToolNames() []ToolName {
	return []ToolName{
		ToolReportStatus, ToolSubmitCase, ToolTaskDone, ToolBlocked, ToolDecide, ToolProposeLearning, ToolNextTask,
		ToolRunChecks,
	}
}

// ToolCall is one call of a tool.
type ToolCall struct {
	Tool   ToolName
	Text   string          // the reason, question or learning
	Task   string          // of task_done; "" is the task of the iteration
	Status *promise.Status // of report_status
	Case   *Case           // of submit_case
}

// ToolAnswer is the answer that the agent gets to a call.
type ToolAnswer struct {
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

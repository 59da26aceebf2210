package judge_test

import (
	"encoding/json"
	"fmt"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

// Decide is a pure function: the same policy and history give the same verdict.
func ExampleDecide() {
	policy := ralph.DefaultPolicy()
	history := judge.History{Counted: 10}
	verdict := judge.Decide(policy, history)
	fmt.Println(verdict.Action, verdict.Reason, ralph.ExitCode(verdict.Reason, ""))
	// Output: stop max_iterations 1
}

// A history, a policy and a verdict are JSON, so that another process or another language can ask
// for the verdict. Here an agent claims that it is done, and a check that failed before passes now.
func ExampleDecide_json() {
	var asked struct {
		Policy  ralph.Policy  `json:"policy"`
		History judge.History `json:"history"`
	}
	asked.Policy = ralph.DefaultPolicy()
	request := `{"history": {
		"started": 1, "judging": true,
		"baseline": [{"name": "go test", "passed": false, "exit_code": 1}],
		"now": {
			"number": 1,
			"agent": {"agent": "claude", "end": "ok", "said": {"complete": true, "complete_tag": "COMPLETE"}},
			"checks": [{"name": "go test", "passed": true}]
		}
	}}`
	if err := json.Unmarshal([]byte(request), &asked); err != nil {
		fmt.Println(err)
		return
	}
	verdict := judge.Decide(asked.Policy, asked.History.Judge(ralph.Moment{}))
	fmt.Println(verdict.Action, verdict.Reason, verdict.VerifiedBy)
	for _, gate := range verdict.Gates {
		fmt.Println(gate.State, gate.Name)
	}
	// Output:
	// stop all_checks_passed [checks]
	// open the agent ended well
	// open it does not contradict itself
	// noted no task is open
	// open checks pass
	// noted a check can still fail
	// noted nothing protected was changed
	// open evidence is fresh
	// noted nothing visibly unfinished
	// noted the evaluator accepts
	// noted the status gate
	// open something proves it
	// open the work is shown
}

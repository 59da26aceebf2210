// Command verdict asks for the verdict on an iteration, without a loop. It reads a policy and a
// history as JSON on stdin.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/judge"
)

func main() {
	var asked struct {
		Policy  ralph.Policy  `json:"policy"`
		History judge.History `json:"history"`
	}
	asked.Policy = ralph.DefaultPolicy()
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		log.Fatal(err)
	}
	verdict := judge.Decide(asked.Policy, asked.History.Judge(ralph.Moment{}))
	fmt.Println(verdict.Action, verdict.Reason, ralph.ExitCode(verdict.Reason, ""))
	for _, gate := range verdict.Gates {
		fmt.Println(gate.State, gate.Name)
	}
}

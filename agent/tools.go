package agent

import (
	"encoding/json"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/acp"
)

// toolServer is the name of the server that offers a run's tools.
const toolServer = acp.ToolServer

// toolSeconds is how long a CLI must wait for an answer: the loop may run checks for it.
const toolSeconds = 660

// toolVariables are passed on to the server by name, so that the token is in no argument and no file.
var toolVariables = []string{ralph.ToolSocketVariable, ralph.ToolTokenVariable}

// jsonText encodes a value that can always be encoded.
func jsonText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

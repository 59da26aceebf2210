package ralph

import "github.com/ralphloop/ralph/agent"

var _ = agent.New

package verify

import (
	"os"

	"github.com/ralphloop/ralph/agent"
)

var _ = []any{os.Exit, agent.New}

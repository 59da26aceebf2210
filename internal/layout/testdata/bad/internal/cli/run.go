package cli

import (
	"os/exec"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/internal/assembly"
	"github.com/ralphloop/ralph/runlog"
)

var _ = []any{assembly.Build, gitrepo.Open, runlog.Open, exec.LookPath}

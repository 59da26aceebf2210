package agent

import (
	"context"
	"os"
	run "os/exec"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/agent/dialect"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/verify"
)

type adapter[T any] struct{}

func (a *adapter[T]) start(ctx context.Context, dir, model, prompt, marker string, tries int) {
	os.Exit(len(os.Getenv("HOME")))
	_ = run.CommandContext(context.Background(), "sh")
}

func shadowed(exec struct{ Command func() }) { exec.Command() }

var _ = []any{ralph.Config{}, dialect.All, process.Run, verify.Detect}

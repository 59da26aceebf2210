package term

import (
	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/runlog"
)

var _ = []any{ralph.Config{}, config.Load, runlog.Open}

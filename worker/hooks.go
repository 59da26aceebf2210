package worker

import (
	"context"

	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/worker/tools"
)

// Hooks decide about tool calls.
type Hooks any

func (t *talk) patient() model.Client { return t.o.Client }

func (t *talk) mayCall(context.Context, model.Call) *tools.Output { return nil }

func (t *talk) edited(context.Context, model.Call, []string) string { return "" }

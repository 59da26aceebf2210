package cleanup

import (
	"context"
	"os"

	"github.com/ralphloop/ralph/internal/containment"
	"github.com/ralphloop/ralph/internal/workspace"
)

// microVMs lists those of this workspace and its worktrees. One has the login of its agent, so it stays for as
// long as a run does.
func (in Input) microVMs() (items []Item) {
	for _, vm := range containment.MicroVMs(in.Env.StateDir) {
		if vm.Workspace != in.Workspace.Dir && !workspace.LiesIn(in.Store.WorktreesDir(), vm.Workspace) {
			continue
		}
		age := in.Now.Sub(vm.Used())
		item := Item{
			Kind: MicroVM, Path: vm.Name, Why: "used " + Days(age) + " ago; it has the login of its agent",
			remove: func(ctx context.Context) error { return vm.Remove(ctx, in.Env.Environ) },
		}
		_, gone := os.Stat(vm.Workspace)
		switch {
		case in.Busy:
		case gone != nil:
			item.Removable, item.Why = true, "its workspace is gone"
		case age >= in.Older || in.Force:
			item.Removable, item.Why = true, "used "+Days(age)+" ago; the next run makes a new one"
		}
		items = append(items, item)
	}
	return items
}

package containment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ralphloop/ralph/sandbox"
)

// MicroVMs lists the microVMs that runs have made.
func MicroVMs(state string) (all []MicroVM) {
	notes, _ := filepath.Glob(filepath.Join(microVMFolder(state), "*", workspaceName))
	for _, note := range notes {
		if workspace, err := os.ReadFile(note); err == nil {
			folder := filepath.Dir(note)
			all = append(all, MicroVM{Name: filepath.Base(folder), Workspace: string(workspace), folder: folder})
		}
	}
	return all
}

// Used returns when a command last began in the microVM.
func (vm MicroVM) Used() time.Time {
	info, err := os.Stat(filepath.Join(vm.folder, workspaceName))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Remove removes the microVM, and what Ralph knows about it.
func (vm MicroVM) Remove(ctx context.Context, env []string) error {
	e, err := newEngine(sandbox.Sbx, env, vm.Workspace)
	if err != nil {
		return err
	}
	names, err := e.names(ctx)
	if err == nil && slices.Contains(names, vm.Name) {
		_, err = e.call(ctx, createTimeout, "rm", "--force", vm.Name)
	}
	if err == nil {
		err = os.RemoveAll(vm.folder)
	}
	if err != nil {
		return fmt.Errorf("remove microVM: %w", err)
	}
	return nil
}

// LoginArgv returns the start of a command line that runs a program in the microVM, in the user's terminal.
func (vm MicroVM) LoginArgv(env []string, program string) ([]string, error) {
	e, err := newEngine(sandbox.Sbx, env, vm.Workspace)
	if err != nil {
		return nil, err
	}
	return []string{e.program, "exec", "--interactive", "--tty", "--workdir", vm.Workspace, vm.Name, program}, nil
}

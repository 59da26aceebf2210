package containment

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// system are folders of the machine whose files decide what programs do, and that root could change.
var system = []string{"/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/sys", "/usr"}

// ThinWall returns the wall around a command of the user that runs what an agent wrote. The command sees
// the machine as the user does. It cannot see Ralph's folders, nor change toolchains, the system, or what
// is kept outside of the workspace.
func (p Place) ThinWall() sandbox.Wall {
	everything := sandbox.Rule{Path: "/", Access: sandbox.Write} // what a thin wall does without a rule
	b := builder{home: real(p.Home), seen: map[string]bool{}, rules: []sandbox.Rule{everything}}
	isRoot := os.Geteuid() == 0
	tools := p.tools()
	if isRoot {
		tools = append(tools, system...)
	}
	b.keepOutside(p.Workspace, tools)
	// Caches are inside of toolchains, and the user may open those.
	b.open(real(p.Workspace))
	for _, name := range caches {
		b.open(filepath.Join(p.Home, name))
	}
	b.openCaches(p.Env)
	b.openAll(p.Write)
	// Nothing opens what decides about results, except for what Ralph made for this command.
	b.keepOutside(p.Workspace, slices.Concat(p.Kept, p.Programs))
	b.hideOwn(p.Own)
	for _, path := range p.Read {
		b.add(real(path), sandbox.Read)
	}
	for _, path := range p.Needs {
		b.open(real(path))
	}
	return sandbox.Wall{Rules: b.rules[1:], Network: p.Network, Thin: true, Root: isRoot}
}

// tools returns the folders of toolchains.
func (p Place) tools() (paths []string) {
	for _, name := range toolchains {
		paths = append(paths, filepath.Join(p.Home, name))
	}
	for _, name := range toolVariables {
		paths = append(paths, filepath.SplitList(lookup(p.Env, name))...)
	}
	for _, folder := range filepath.SplitList(lookup(p.Env, "PATH")) {
		paths = append(paths, toolFolders(folder, real(p.Home))...)
	}
	return paths
}

// keepOutside makes paths read-only that are not in the workspace.
func (b *builder) keepOutside(workspace string, paths []string) {
	workspace = real(workspace)
	for _, path := range paths {
		if path = real(path); path != b.home && !isWithin(path, workspace) {
			b.keep(path)
		}
	}
}

// Keeper returns a function that reports whether the thin wall keeps a path from being changed. It need not
// exist.
func (p Place) Keeper() func(path string) bool {
	wall := sync.OnceValue(func() builder { return builder{rules: p.ThinWall().Rules} })
	return func(path string) bool {
		for real(path) == "" && path != filepath.Dir(path) {
			path = filepath.Dir(path)
		}
		b := wall()
		decides := b.at(real(path))
		return decides.Access == sandbox.Read && decides.Path != "/"
	}
}

// checkPinned says why the thin wall could be walked around: a command can replace a link that leads to
// Ralph's folders.
func (p Place) checkPinned() error {
	for _, folder := range p.Own {
		for _, l := range linksTo(folder) {
			if canWrite(filepath.Dir(l.path)) {
				return &Unavailable{
					Tier: sandbox.Bwrap, Why: l.path + " is a link, and leads to " + folder,
					Fix: "set RALPH_STATE_DIR to a path without links",
				}
			}
		}
	}
	return nil
}

// absentTools returns the folders of programs, and of Python's packages, that a command could make: the
// next one would find them.
func (p Place) absentTools() (paths []string) {
	folders := append(filepath.SplitList(lookup(p.Env, "PATH")), filepath.Join(p.Home, ".local/lib"))
	for _, folder := range folders {
		if isWithin(folder, p.Home) && filepath.Ext(folder) == "" {
			paths = append(paths, folder)
		}
	}
	return paths
}

// EnterThin returns a function that makes commands start behind the thin wall of a place, once it has been
// tried there.
func (r *Room) EnterThin(ctx context.Context, place Place) (func(*process.Spec), error) {
	bwrap, err := locateBwrap(place.Env, place.Workspace)
	if err = cmp.Or(err, place.checkPinned()); err != nil {
		return nil, err
	}
	for _, folder := range place.Own { // what does not exist cannot be hidden
		if err := os.MkdirAll(folder, 0o700); folder != "" && err != nil {
			return nil, fmt.Errorf("make a folder to hide it: %w", err)
		}
	}
	enter := func(s *process.Spec) {
		r.fillAll(place.absentTools(), place.Workspace)
		here := place
		here.Env, here.Needs = s.Env, append(slices.Clone(place.Needs), s.Needs...)
		if s.Dir != "" && !isWithin(s.Dir, place.Workspace) {
			here.Workspace = s.Dir // a copy, made for this command
		}
		command := sandbox.Bwrap.Enclose(sandbox.Command{Argv: s.Argv, Dir: s.Dir, Env: s.Env}, here.ThinWall())
		s.Argv, s.Dir, s.Env = command.Argv, command.Dir, command.Env
		s.Argv[0] = bwrap
	}
	trial := process.Spec{
		Argv: process.Shell("true"), Dir: place.Workspace, Env: place.Env, Timeout: trialTimeout, Guarded: true,
	}
	enter(&trial)
	return enter, tryCommand(ctx, sandbox.Bwrap, trial)
}

package containment

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/sandbox"
)

// system are folders of the machine whose files decide what programs do, and that root could change.
var system = []string{"/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/sys", "/usr"}

// ThinWall returns the wall around a command of the user that runs what an agent wrote. The command sees
// the machine as the user does. It cannot see Ralph's folders, nor change toolchains, the system, or what
// is kept outside of the workspace.
func (p Place) ThinWall() sandbox.Wall {
	everything := sandbox.Rule{Path: "/", Access: sandbox.Write}
	b := builder{home: real(p.Home), seen: map[string]bool{}, rules: []sandbox.Rule{everything}}
	isRoot := os.Geteuid() == 0
	kept := slices.Concat(p.Kept, p.Programs)
	if isRoot {
		kept = append(kept, system...)
	}
	for _, name := range toolchains {
		kept = append(kept, filepath.Join(p.Home, name))
	}
	for _, name := range toolVariables {
		kept = append(kept, filepath.SplitList(lookup(p.Env, name))...)
	}
	for _, folder := range filepath.SplitList(lookup(p.Env, "PATH")) {
		kept = append(kept, toolFolders(folder, b.home)...)
	}
	workspace := real(p.Workspace)
	for _, path := range kept {
		if path = real(path); path != b.home && !isWithin(path, workspace) {
			b.keep(path)
		}
	}
	b.open(workspace)
	for _, name := range caches {
		b.open(filepath.Join(p.Home, name))
	}
	b.openCaches(p.Env)
	b.open(p.Write...)
	for _, folder := range p.Own {
		b.pin(real(folder))
	}
	b.hide(p.Own...)
	for _, path := range p.Read {
		b.add(real(path), sandbox.Read)
	}
	for _, path := range p.Needs {
		b.open(real(path))
	}
	return sandbox.Wall{Rules: b.rules[1:], Network: p.Network, Thin: true, Root: isRoot}
}

// Keeps reports whether the thin wall keeps a path from being changed. It need not exist.
func (p Place) Keeps(path string) bool {
	for real(path) == "" && path != "/" {
		path = filepath.Dir(path)
	}
	b := builder{rules: p.ThinWall().Rules}
	decides := b.at(real(path))
	return decides.Access == sandbox.Read && decides.Path != "/"
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

// EnterThin returns a function that makes commands start behind the thin wall of a place, once it has been
// tried there.
func EnterThin(ctx context.Context, place Place) (func(*process.Spec), error) {
	bwrap, err := locateBwrap(place.Env, place.Workspace)
	if err = cmp.Or(err, place.checkPinned()); err != nil {
		return nil, err
	}
	enter := func(s *process.Spec) {
		here := place
		here.Env = s.Env
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

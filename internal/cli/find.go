package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/workspace"
	"github.com/ralphloop/ralph/runlog"
)

func (a *app) workspace(ctx context.Context) (workspace.Workspace, error) {
	return workspace.Find(ctx, a.streams.Dir, a.globals.dir, a.streams.Env)
}

// settings finds the workspace and reads its configuration.
func (a *app) settings(ctx context.Context, flags map[string][]string) (workspace.Workspace, config.Loaded, error) {
	workspace, err := a.workspace(ctx)
	if err != nil {
		return workspace, config.Loaded{}, err
	}
	loaded, err := a.load(workspace, flags)
	return workspace, loaded, err
}

// fromHere converts paths among the flags. The user means them relative to the current folder;
// config files have them relative to the workspace.
func (a *app) fromHere(workspace workspace.Workspace, flags map[string][]string) map[string][]string {
	here := a.here()
	for _, name := range []string{"spec", "prompt", "tasks"} {
		for i, path := range flags[name] {
			if path == "" || filepath.IsAbs(path) {
				continue
			}
			flags[name][i] = filepath.Join(here, path)
			if relative, err := filepath.Rel(workspace.Dir, flags[name][i]); err == nil && filepath.IsLocal(relative) {
				flags[name][i] = relative
			}
		}
	}
	return flags
}

// here returns the folder to which paths among the flags are relative.
func (a *app) here() string {
	here := absolute(a.streams.Dir, a.globals.dir)
	if real, err := filepath.EvalSymlinks(here); err == nil {
		return real
	}
	return here
}

// absolute resolves a path relative to dir.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// load reads every layer of the configuration and prints its warnings.
func (a *app) load(workspace workspace.Workspace, flags map[string][]string) (config.Loaded, error) {
	env := a.streams.Env
	in := config.Input{
		Env: env, UserFile: env.UserFile(),
		ProjectFile: filepath.Join(workspace.Dir, filepath.FromSlash(config.ProjectFile)), Flags: flags, Set: a.globals.set,
	}
	if a.globals.config != "" {
		in.ConfigFile = absolute(a.streams.Dir, a.globals.config)
	}
	if a.globals.trust {
		in.Flags["trust"] = []string{"true"}
	}
	loaded, err := config.Load(in)
	if err != nil {
		return loaded, err
	}
	for _, warning := range loaded.Warnings {
		fmt.Fprintf(a.errLines(), "ralph: warning: %s\n", warning)
	}
	return loaded, nil
}

// open finds the workspace and opens its store.
func (a *app) open(ctx context.Context) (workspace.Workspace, *runlog.Store, error) {
	workspace, err := a.workspace(ctx)
	if err != nil {
		return workspace, nil, err
	}
	store, err := a.storeOf(workspace)
	return workspace, store, err
}

func (a *app) storeOf(w workspace.Workspace) (*runlog.Store, error) {
	return runlog.Open(a.streams.Env.StateDir, w.Dir)
}

// foundRun is a run of a workspace.
type foundRun struct {
	workspace workspace.Workspace
	store     *runlog.Store
	id        string
}

// findRun opens the workspace's store and finds the named run, or the newest one if the name is
// empty. If there is no such run, it still returns the workspace and the store.
func (a *app) findRun(ctx context.Context, name string) (run foundRun, err error) {
	if run.workspace, run.store, err = a.open(ctx); err != nil {
		return run, err
	}
	run.id, err = run.store.Resolve(name)
	if errors.Is(err, runlog.ErrNoRun) {
		err = usage("%s (in %s)", strings.TrimPrefix(err.Error(), "find run: "), run.workspace.Dir)
	}
	return run, err
}

// withRun makes a command that calls do with the run named by its argument (default: the newest
// run).
func (a *app) withRun(do func(context.Context, foundRun) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		run, err := a.findRun(cmd.Context(), firstOf(args))
		if err != nil {
			return err
		}
		return do(cmd.Context(), run)
	}
}

// events reads the run's log.
func (r foundRun) events() iter.Seq2[ralph.Event, error] {
	return func(yield func(ralph.Event, error) bool) {
		stopReading := errors.New("stop reading")
		err := r.store.Read(r.id, func(e ralph.Event, _ []byte) error {
			if !yield(e, nil) {
				return stopReading
			}
			return nil
		})
		if err != nil && !errors.Is(err, stopReading) {
			yield(ralph.Event{}, err)
		}
	}
}

// outsideOnly refuses a command that was called inside a run: with it, an agent could steer or pay
// for its own run.
func (a *app) outsideOnly(ctx context.Context, command string) error {
	if run := a.streams.Env.InsideRun; run != "" {
		return insideRun(command, run)
	}
	_, store, err := a.open(ctx)
	if err != nil { // the command itself says why
		return nil
	}
	owner, held := store.Holder()
	line := a.streams.ancestors()
	if run := cmp.Or(markedRun(store, line), ownedRun(owner, line)); run != "" {
		return insideRun(command, run)
	}
	if err := outsideSession(store, a.streams.Env, line, command); err != nil {
		return err
	}
	if err := outsideTaken(store, a.streams.Env, line, command); err != nil {
		return err
	}
	if !held || owner.Identity == "" {
		return nil
	}
	if !owner.Visible() {
		return usage("run %s is running, but its process (pid %d on %s) cannot be seen from here, so its agent could "+
			"be calling ralph %s; call it where that process can be seen", owner.Run, owner.PID, owner.Host, command)
	}
	if err := process.SameView(owner.PID); err != nil {
		return usage("run %s is running, and its agent could be calling ralph %s: %v; call it where the run was started",
			owner.Run, command, err)
	}
	return nil
}

func insideRun(command, run string) error {
	return usage("ralph %s was called inside run %s; an agent cannot change its own run", command, run)
}

// markedRun returns the run of this workspace, running or not, whose marker this process or one of its ancestors
// carries, or "". A process can leave the run's environment and session, but not its ancestors.
func markedRun(store *runlog.Store, line []process.Ancestor) string {
	for _, p := range line {
		if p.Marker != "" && exists(store.RunDir(p.Marker)) {
			return p.Marker
		}
	}
	return ""
}

// ownedRun returns the run of the workspace's holder, if this process descends from it, or "".
func ownedRun(owner runlog.Owner, line []process.Ancestor) string {
	isOwner := func(p process.Ancestor) bool { return p.PID == owner.PID }
	if slices.ContainsFunc(line, isOwner) && owner.Visible() {
		return owner.Run
	}
	return ""
}

// stateOf folds the log of a run into its state.
func stateOf(store *runlog.Store, run string) (*fold.State, error) {
	state := &fold.State{}
	if err := store.Fold(run, state); err != nil {
		return nil, err
	}
	return state, nil
}

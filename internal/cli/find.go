package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/config"
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

// fromHere turns the paths among the flags, which are meant from where the user stands, into paths from the workspace, as config files have them.
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

// here is the folder from which paths among the flags are meant.
func (a *app) here() string {
	here := filepath.Join(a.streams.Dir, a.globals.dir)
	if filepath.IsAbs(a.globals.dir) {
		here = a.globals.dir
	}
	if real, err := filepath.EvalSymlinks(here); err == nil {
		return real
	}
	return here
}

// load reads every layer of the configuration.
func (a *app) load(workspace workspace.Workspace, flags map[string][]string) (config.Loaded, error) {
	env := a.streams.Env
	in := config.Input{
		Env: env, UserFile: env.UserFile(),
		ProjectFile: filepath.Join(workspace.Dir, filepath.FromSlash(config.ProjectFile)), Flags: flags, Set: a.globals.set,
	}
	if a.globals.config != "" {
		in.ConfigFile = a.globals.config
		if !filepath.IsAbs(in.ConfigFile) {
			in.ConfigFile = filepath.Join(a.streams.Dir, in.ConfigFile)
		}
	}
	if a.globals.trust {
		in.Flags["trust"] = []string{"true"}
	}
	loaded, err := config.Load(in)
	if err != nil {
		return loaded, err
	}
	for _, warning := range loaded.Warnings {
		fmt.Fprintf(a.streams.Err, "ralph: warning: %s\n", warning)
	}
	return loaded, nil
}

// open finds the workspace and what is kept about it.
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

// findRun opens the workspace's store and finds the run that was meant.
func (a *app) findRun(ctx context.Context, name string) (workspace.Workspace, *runlog.Store, string, error) {
	workspace, store, err := a.open(ctx)
	if err != nil {
		return workspace, nil, "", err
	}
	run, err := store.Resolve(name)
	if errors.Is(err, runlog.ErrNoRun) {
		return workspace, nil, "", usage("%s (in %s)", strings.TrimPrefix(err.Error(), "find run: "), workspace.Dir)
	}
	return workspace, store, run, err
}

// outsideOnly refuses commands by which an agent could steer or pay for its own run.
func (a *app) outsideOnly(command string) error {
	if run := a.streams.Env.InsideRun; run != "" {
		return usage("ralph %s was called from inside run %s; an agent cannot change its own run", command, run)
	}
	return nil
}

// stateOf folds the log of a run into what is known of it.
func stateOf(store *runlog.Store, run string) (*fold.State, error) {
	state := &fold.State{}
	if err := store.Fold(run, state); err != nil {
		return nil, err
	}
	return state, nil
}

package workspace

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/trust"
)

// GitPrograms are programs that git's configuration names.
type GitPrograms struct {
	Commands []config.NamedCommand // to show the user

	repo *gitrepo.Repo
	list []gitrepo.Configured
}

// UnagreedPrograms returns the programs that git would start for files of the workspace, and for commits
// if there are to be some, unless the user has agreed to them.
func (w Workspace) UnagreedPrograms(ctx context.Context, commits bool) (GitPrograms, error) {
	if w.Repo == nil {
		return GitPrograms{}, nil
	}
	list, err := w.Repo.Configured(ctx)
	list = slices.DeleteFunc(list, func(one gitrepo.Configured) bool { return one.Agreed || one.Signs() && !commits })
	programs := GitPrograms{repo: w.Repo, list: list}
	for _, one := range list {
		for _, setting := range one.Settings {
			key, value, _ := strings.Cut(setting, "=")
			if !strings.HasSuffix(key, ".required") {
				programs.Commands = append(programs.Commands,
					config.NamedCommand{Key: key, Value: value, File: "git's configuration"})
			}
		}
	}
	return programs, err
}

// Agree records the user's consent, and lets git start the programs from now on.
func (p GitPrograms) Agree(env config.Env, now time.Time) error {
	p.repo.Agree(p.list)
	for _, one := range p.list {
		err := trust.In(env.StateDir).Grant(p.repo.CommonDir(), trust.GitPrograms, one.ID, now)
		if err != nil {
			return err
		}
	}
	return nil
}

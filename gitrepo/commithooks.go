package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
	"github.com/ralphloop/ralph/internal/text"
)

// programs are the hooks and signing programs that a commit would run, recorded before an agent
// could change them. Hooks inside the working tree are project code like its tests, and are run as
// they are.
type programs struct {
	hooks   string    // git's hooks folder
	files   git.Hooks // in that folder, unless it is in the working tree
	more    []string  // hooks in settings, each as key, newline, value
	signing []string  // settings that name a signing program
}

func (c *Committer) programs(ctx context.Context) (programs, error) {
	// Not by r.run, which disables hooks.
	found, err := c.repo.asUser(ctx, git.UserCall{
		Dir:     c.repo.Top,
		Env:     c.repo.checkout().location(),
		Args:    []string{"rev-parse", "--git-path", "hooks"},
		Timeout: c.repo.Git.CallTimeout(),
	})
	if err != nil || !found.Worked() {
		return programs{}, fmt.Errorf("look for hooks: %w", errors.Join(err, found.Failure("rev-parse")))
	}
	p := programs{hooks: filepath.FromSlash(strings.TrimSuffix(found.Stdout, "\n"))}
	if !filepath.IsAbs(p.hooks) {
		p.hooks = filepath.Join(c.repo.Top, p.hooks)
	}
	if !c.inTree(p.hooks) {
		p.files = git.HooksIn(p.hooks)
	}
	if p.more, err = c.settings(ctx, "look for hooks", hookKeys); err == nil {
		p.signing, err = c.settings(ctx, "look for programs that sign", signingKeys)
	}
	return p, err
}

// inTree reports whether a folder belongs to the files of the project, not to git's own.
func (c *Committer) inTree(folder string) bool {
	top, err := os.Stat(c.repo.Top)
	if err != nil || !scan.Below(top, folder) {
		return false
	}
	git, err := os.Stat(c.repo.CommonDir())
	return err != nil || !scan.Below(git, folder)
}

// settings lists settings, each as key, newline, value. An error starts with doing. Not by r.run, which
// changes some of them.
func (c *Committer) settings(ctx context.Context, doing, keys string) ([]string, error) {
	at := c.repo.checkout()
	text, err := at.git.Run(ctx, git.Call{
		Dir: at.top, Env: at.location(), Args: []string{"config", "-z", "--includes", "--get-regexp", "^" + keys + "$"},
	})
	if git.ExitCode(err) == 1 {
		return nil, nil
	}
	return git.SplitNames(text), wrapError(doing, err)
}

// removedHooks returns the names of hooks that existed before and no longer run.
func (p programs) removedHooks(before programs) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(before.files)) {
		if _, there := p.files[name]; !there && p.hooks == before.hooks {
			names = append(names, scan.Quote(name))
		}
	}
	return names
}

// changedHooks returns the names of hooks that are new or different.
func (p programs) changedHooks(before programs) []string {
	if p.hooks != before.hooks {
		return []string{"those of " + p.hooks}
	}
	if !slices.Equal(p.more, before.more) {
		return []string{"those in git's settings"}
	}
	return text.Mapped(p.files.Since(before.files), scan.Quote)
}

// refusingHooks returns the user's hooks that can refuse a commit. Without this list, an agent
// could plant another hook beside them, so that none is run, and get past them.
func (p programs) refusingHooks() []string {
	return slices.DeleteFunc([]string{"pre-commit", "prepare-commit-msg", "commit-msg"}, func(name string) bool {
		_, there := p.files[name]
		return !there
	})
}

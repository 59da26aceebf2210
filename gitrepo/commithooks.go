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

// programs are what a commit would run, as it was before an agent could change it: hooks
// and programs that sign. Hooks that are files of the working tree are the project's
// code like its tests, and are run as they stand.
type programs struct {
	hooks   string    // the folder that git takes hooks from
	files   git.Hooks // in there, unless the folder is in the working tree
	signing []string  // settings that name a program that signs
}

func (c *Committer) programs(ctx context.Context) (programs, error) {
	// Not by r.run, which tells git that there are none.
	found, err := c.repo.Git.AsUser(ctx, git.UserCall{
		Dir:     c.repo.Top,
		Env:     c.repo.environment(),
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
	p.signing, err = c.signingPrograms(ctx)
	return p, err
}

// inTree reports whether a folder belongs to the files of the project, and not to git's.
func (c *Committer) inTree(folder string) bool {
	top, err := os.Stat(c.repo.Top)
	if err != nil || !scan.Below(top, folder) {
		return false
	}
	git, err := os.Stat(c.repo.CommonDir())
	return err != nil || !scan.Below(git, folder)
}

// signingPrograms lists settings, each as key, line break, value.
func (c *Committer) signingPrograms(ctx context.Context) ([]string, error) {
	text, err := c.repo.lookup(ctx, "look for programs that sign", "config", "-z", "--includes", "--get-regexp",
		`^gpg\.(.*\.)?(program|defaultkeycommand)$`)
	return git.SplitNames(text), err
}

// gone names the hooks that were there before, and are not run any more.
func (p programs) gone(before programs) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(before.files)) {
		if _, there := p.files[name]; !there && p.hooks == before.hooks {
			names = append(names, scan.Quote(name))
		}
	}
	return names
}

// strange names the hooks that were not there before or were different.
func (p programs) strange(before programs) []string {
	if p.hooks != before.hooks {
		return []string{"those of " + p.hooks}
	}
	return text.Mapped(p.files.Since(before.files), scan.Quote)
}

// gates are the hooks of the user that can refuse a commit. An agent that could have them
// left out, by planting another one beside them, would get past them.
func (p programs) gates() []string {
	return slices.DeleteFunc([]string{"pre-commit", "prepare-commit-msg", "commit-msg"}, func(name string) bool {
		_, there := p.files[name]
		return !there
	})
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/config"
	"github.com/ralphloop/ralph/internal/workspace"
)

// configAsCommitted refuses a goal that an agent sets while the project's configuration is not the committed one. The
// agent could have moved it away, and then checks are detected without a person's consent. A configuration that was
// never committed needs that consent.
func configAsCommitted(ctx context.Context, home workspace.Workspace, agent string) error {
	head, err := lastCommit(ctx, home)
	if err != nil || head == "" {
		return err
	}
	listed, err := home.Repo.Ask(ctx, "ls-tree", "--full-tree", "-z", "HEAD", "--", home.Repo.Prefix+config.ProjectFile)
	if err != nil {
		return fmt.Errorf("compare %s with the last commit: %w", config.ProjectFile, err)
	}
	about, _, found := strings.Cut(listed, "\t")
	fields := strings.Fields(about)
	if !found || len(fields) != 3 || fields[1] != "blob" {
		return nil
	}
	committed, err := home.Repo.Ask(ctx, "cat-file", "blob", fields[2])
	if err != nil {
		return fmt.Errorf("compare %s with the last commit: %w", config.ProjectFile, err)
	}
	now, err := os.ReadFile(filepath.Join(home.Dir, filepath.FromSlash(config.ProjectFile)))
	word := "differs from"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		word = "is missing, but is in"
	case err != nil:
		return fmt.Errorf("compare %s with the last commit: %w", config.ProjectFile, err)
	case bytes.Equal(withoutReturns(now), withoutReturns([]byte(committed))):
		return nil
	}
	return usage("%s %s the last commit, and ralph goal was called inside a session of %s, which must not choose what "+
		"proves its work; commit the file or restore it with git, or let a person set the goal, in a terminal outside of "+
		"the session", config.ProjectFile, word, agent)
}

// withoutReturns returns a text with the line ends that git commits.
func withoutReturns(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// lastCommit returns the commit at HEAD, or "" if the repository has none at all.
func lastCommit(ctx context.Context, home workspace.Workspace) (string, error) {
	if home.Repo == nil {
		return "", nil
	}
	newest, err := home.Repo.Ask(ctx, "rev-list", "--all", "--max-count=1")
	if err != nil {
		return "", fmt.Errorf("find the last commit: %w", err)
	}
	if newest == "" {
		return "", nil
	}
	head, err := home.Repo.Ask(ctx, "rev-parse", "--verify", "HEAD")
	if err != nil { // an agent can make HEAD name a branch without commits
		return "", usage("HEAD is no commit, so there is nothing to compare the work with: %v", err)
	}
	return strings.TrimSpace(head), nil
}

// originInside returns the origin of a goal that an agent sets in its session. What is not committed may be the
// agent's.
func (s *session) originInside(ctx context.Context, earlier *ralph.Origin) (*ralph.Origin, error) {
	if s.setBy == "" {
		return earlier, nil
	}
	head, err := lastCommit(ctx, s.plan.Workspace)
	if err != nil || head == "" {
		return earlier, err
	}
	if earlier == nil {
		return &ralph.Origin{Commit: head}, nil
	}
	origin := *earlier
	origin.Commit = head
	return &origin, nil
}

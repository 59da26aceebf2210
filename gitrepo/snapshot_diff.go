package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Diff says what changed from one snapshot to another: a list of the changed files, a
// letter for each as git has it (A, D, M, T), then the patch. Binary files are one line;
// names are relative to the workspace. An empty from is the empty tree. At limit bytes it
// stops, in the middle of a line if need be, and cut is true.
func (s *Snapshots) Diff(ctx context.Context, from, to string, limit int) (patch string, cut bool, err error) {
	trees, prefix := make([]string, 0, 2), ""
	for _, id := range []string{from, to} {
		if id == "" {
			trees = append(trees, emptyTree[s.home.Format])
			continue
		}
		c, err := s.read(ctx, id)
		if err != nil {
			return "", false, fmt.Errorf("compare snapshots: %w", err)
		}
		trees, prefix = append(trees, c.tree), c.prefix
	}
	out := enough{limit: limit}
	for _, how := range []string{"--name-status", "--patch"} {
		args := []string{"diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", how}
		if prefix != "" {
			args = append(args, "--relative="+prefix)
		}
		before := out.text.Len()
		err := s.run(ctx, call{args: append(args, trees...), out: &out})
		if errors.Is(err, errEnough) {
			return out.text.String(), true, nil
		}
		if err != nil {
			return "", false, fmt.Errorf("compare snapshots: %w", err)
		}
		if how == "--name-status" && out.text.Len() > before {
			_, _ = out.Write([]byte("\n")) // a full one says so again with the patch
		}
	}
	return out.text.String(), false, nil
}

var errEnough = errors.New("enough was read")

// enough keeps the beginning of what is written to it and then wants no more.
type enough struct {
	limit int
	text  strings.Builder
}

func (e *enough) Write(p []byte) (int, error) {
	room := max(e.limit-e.text.Len(), 0)
	if len(p) > room {
		e.text.Write(p[:room])
		return room, errEnough
	}
	return e.text.Write(p)
}

// Between sums up what changed from one snapshot to another, as Changed does.
func (s *Snapshots) Between(ctx context.Context, from, to string) (string, error) {
	out := limited{limit: statusLimit}
	if err := s.run(ctx, call{out: &out, args: []string{"diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--raw", "--numstat", "-z", from, to}}); err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	return parseChanges(out.text.String(), "").String(), nil
}

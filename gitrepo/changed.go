package gitrepo

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Changed sums up what differs from the commit that the run began at, in one line: "3
// files changed, 10 insertions(+), 2 deletions(-), 1 new file". New files are counted
// among the changed ones, whether they were committed or not; what was changed before
// the run and not committed is counted, too. Without a baseHead, in a repository that
// had no commit, every file is new. Lines of untracked files are counted in files up to
// 1 MiB and in the first 256 MiB of them. A baseHead that is gone is an error.
func (r *Repo) Changed(ctx context.Context, baseHead string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.filters.refresh(ctx, r); err != nil {
		return "", err
	}
	base := baseHead
	if base == "" {
		base = r.empty
	}
	out := limited{limit: statusLimit}
	if err := r.run(ctx, call{out: &out, args: diffArguments(base, "--raw", "--numstat", "-z")}); err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	sum := parseChanges(out.text.String(), r.prefix+view)
	st, err := r.status(ctx)
	if err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	top, err := os.OpenRoot(r.Top)
	if err != nil {
		return "", fmt.Errorf("sum up changes: %w", err)
	}
	defer top.Close()
	budget := contentBudget
	for _, p := range st.paths {
		if !p.untracked {
			continue
		}
		sum.files++
		sum.created++
		if budget > 0 {
			budget -= readLines(top, p.name, func([]byte) { sum.insertions++ })
		}
	}
	return sum.String(), nil
}

// changes counts what was done to a tree.
type changes struct{ files, insertions, deletions, created int }

// parseChanges reads `git diff --raw --numstat -z --no-renames`: for each file a record
// ":modes hashes status" and one with the name, then for each "added removed name".
func parseChanges(out, except string) changes {
	var c changes
	created := false
	raw := false
	for record := range strings.SplitSeq(out, "\x00") {
		switch {
		case raw: // the name that belongs to the record before
			raw = false
			if record != except {
				c.files++
				if created {
					c.created++
				}
			}
		case strings.HasPrefix(record, ":"):
			raw, created = true, strings.HasSuffix(record, " A")
		default:
			fields := strings.SplitN(record, "\t", 3)
			if len(fields) == 3 && fields[2] != except {
				c.insertions += lineCount(fields[0])
				c.deletions += lineCount(fields[1])
			}
		}
	}
	return c
}

// lineCount reads a count; binary files have a dash in its place.
func lineCount(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// String is written as git writes it.
func (c changes) String() string {
	if c.files == 0 {
		return "no files changed"
	}
	parts := []string{counted(c.files, "file") + " changed"}
	if c.insertions > 0 {
		parts = append(parts, counted(c.insertions, "insertion")+"(+)")
	}
	if c.deletions > 0 {
		parts = append(parts, counted(c.deletions, "deletion")+"(-)")
	}
	if c.created > 0 {
		parts = append(parts, counted(c.created, "new file"))
	}
	return strings.Join(parts, ", ")
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

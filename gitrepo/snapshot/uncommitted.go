package snapshot

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// Uncommitted implements [ralph.CommitKeeper].
func (k *Keeper) Uncommitted(ctx context.Context, changes []ralph.FileChange) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := map[string]bool{}
	for _, c := range changes {
		if c.Kind != ralph.FileDeleted {
			names[c.Name] = true
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	lines := k.repositories(names)
	skipped, err := k.skipped(ctx, names)
	if err == nil {
		var converted []string
		converted, err = k.converted(ctx, names, changes)
		lines = slices.Concat(lines, skipped, converted)
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil { // an agent can break its repository
		lines = append(lines, "git's repository (it cannot be asked what a commit would have: "+err.Error()+")")
	}
	return lines, nil
}

// repositories describes the repositories inside the workspace in which files changed.
func (k *Keeper) repositories(names map[string]bool) (lines []string) {
	looked := map[string]bool{}
	for name := range names {
		for folder := path.Dir(name); folder != "." && !looked[folder]; folder = path.Dir(folder) {
			looked[folder] = true
			if _, err := os.Lstat(filepath.Join(k.repo.Dir, filepath.FromSlash(folder), ".git")); err == nil {
				lines = append(lines, folder+" (a repository of its own, of which a commit has only a link)")
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// skipped describes files that a flag makes git skip, if its index changed.
func (k *Keeper) skipped(ctx context.Context, names map[string]bool) (lines []string, err error) {
	if scan.StampAt(filepath.Join(k.home.GitDir, "index")) == k.indexAt {
		return nil, nil
	}
	out, err := k.repo.Ask(ctx, "ls-files", "-v", "-z")
	for entry := range strings.SplitSeq(out, "\x00") {
		flag, name, ok := strings.Cut(entry, " ")
		if ok && names[name] && (flag == "S" || flag == strings.ToLower(flag)) {
			lines = append(lines, name+" (a flag makes git skip it, so a commit lacks the change)")
		}
	}
	return lines, err
}

// converted describes files that git changes when it commits them or checks them out, if the rules for that are new.
func (k *Keeper) converted(
	ctx context.Context, names map[string]bool, changes []ralph.FileChange,
) (lines []string, err error) {
	now := k.runnable()
	isNew := !bytes.Equal(now.attributes, k.before.attributes) || !bytes.Equal(now.config, k.before.config) ||
		slices.ContainsFunc(changes, func(c ralph.FileChange) bool { return path.Base(c.Name) == ".gitattributes" })
	if !isNew {
		return nil, nil
	}
	list := strings.Join(slices.Sorted(maps.Keys(names)), "\x00") + "\x00"
	out, err := k.feed(ctx, k.repo.Call, list, git.Call{
		Args: []string{"check-attr", "-z", "--stdin", "filter", "ident", "text", "eol", "working-tree-encoding"},
	})
	if err != nil {
		return nil, err
	}
	rules := map[string]map[string]string{}
	for fields := strings.Split(out, "\x00"); len(fields) > 3; fields = fields[3:] {
		if rules[fields[0]] == nil {
			rules[fields[0]] = map[string]string{}
		}
		if fields[2] != "unspecified" && fields[2] != "unset" {
			rules[fields[0]][fields[1]] = fields[2]
		}
	}
	for name, set := range rules {
		if k.converts(name, set) {
			lines = append(lines, name+" (by new rules, git commits or checks out another text)")
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// converts reports whether attributes change what a file contains.
func (k *Keeper) converts(name string, set map[string]string) bool {
	if set["filter"] != "" || set["working-tree-encoding"] != "" {
		return true
	}
	if set["ident"] == "" && set["text"] == "" && set["eol"] == "" {
		return false
	}
	text, known := scan.ReadSmall(filepath.Join(k.repo.Dir, filepath.FromSlash(name)))
	hasReturns := bytes.Contains(text, []byte("\r\n"))
	return !known || set["ident"] != "" && bytes.Contains(text, []byte("$Id")) ||
		hasReturns && set["eol"] != "crlf" || !hasReturns && set["eol"] == "crlf"
}

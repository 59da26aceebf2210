package gitrepo

import (
	"context"
	"errors"
	"maps"
	slashpath "path"
	"slices"
	"strings"
)

// leaveRules leaves the .gitignore files of the first snapshot where they are, if under
// those of the second one files would come into sight that neither of the two holds: what
// work installs and hides must not be taken for a part of the tree when the work is gone.
func (s *switching) leaveRules(ctx context.Context) error {
	isRule := func(e edit) bool { return slashpath.Base(e.name) == ".gitignore" }
	if !slices.ContainsFunc(s.planned, isRule) {
		return nil
	}
	hides, err := s.hiding(ctx)
	if !hides || err != nil {
		return err
	}
	s.planned = slices.DeleteFunc(s.planned, func(e edit) bool {
		if isRule(e) {
			s.rules = append(s.rules, e.name)
		}
		return isRule(e)
	})
	return nil
}

// hiding reports whether files are ignored now that would not be under the rules of the
// second snapshot, and that it does not hold. If there are too many to tell, they are.
func (s *switching) hiding(ctx context.Context) (bool, error) {
	k := s.keeper
	out := limited{limit: statusLimit}
	args := []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--full-name", "--", k.pathspec()}
	if err := k.ask(ctx, call{args: args, out: &out}); err != nil {
		if errors.Is(err, errTooMuch) {
			return true, nil
		}
		return false, err
	}
	names := slices.DeleteFunc(splitNames(out.text.String()), func(name string) bool { return s.own(strings.TrimPrefix(name, k.repo.prefix)) })
	ignored, err := k.ignoredBy(ctx, s.to, names)
	if err != nil {
		return false, err
	}
	files, err := k.snaps.files(ctx, s.to.tree)
	if err != nil {
		return false, err
	}
	known := make(map[string]bool, len(ignored)+len(files))
	maps.Copy(known, ignored)
	for _, file := range files {
		known[file.name] = true
	}
	return slices.ContainsFunc(names, func(name string) bool { return !known[name] }), nil
}

package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// filters keeps clean filters out that an agent put into the repository's
// configuration: git would run them, outside of any sandbox, whenever it compares files.
type filters struct {
	trusted []string  // settings that were there at Find
	seen    [2][]byte // the configuration files as they were when last looked at
	foreign []string  // names of filters with settings that were not there at Find
}

func (r *Repo) rememberFilters(ctx context.Context) error {
	r.filters.seen = r.configuration()
	var err error
	if mentionsFilters(r.filters.seen) {
		r.filters.trusted, err = r.filterSettings(ctx)
	}
	return err
}

// mentionsFilters spares the question to git in nearly every repository.
func mentionsFilters(configuration [2][]byte) bool {
	for _, file := range configuration {
		file = bytes.ToLower(file)
		if bytes.Contains(file, []byte("filter")) || bytes.Contains(file, []byte("include")) {
			return true
		}
	}
	return false
}

// refresh asks git for the filters again if the configuration has changed.
func (f *filters) refresh(ctx context.Context, r *Repo) error {
	now := r.configuration()
	if bytes.Equal(now[0], f.seen[0]) && bytes.Equal(now[1], f.seen[1]) {
		return nil
	}
	settings, err := r.filterSettings(ctx)
	if err != nil {
		return err
	}
	f.seen, f.foreign = now, nil
	for _, setting := range settings {
		if slices.Contains(f.trusted, setting) {
			continue
		}
		key, _, _ := strings.Cut(setting, "\n")
		f.foreign = append(f.foreign, key[:strings.LastIndexByte(key, '.')])
	}
	return nil
}

// off is the environment that makes the foreign filters do nothing. Their names are the
// agent's and may hold an equals sign, which -c cannot pass on.
func (f *filters) off(env []string) []string {
	if len(f.foreign) == 0 {
		return nil
	}
	count := 0
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "GIT_CONFIG_COUNT="); ok {
			count, _ = strconv.Atoi(value)
		}
	}
	var added []string
	for _, name := range f.foreign {
		for _, setting := range []string{".clean=", ".smudge=", ".process=", ".required=false"} {
			key, value, _ := strings.Cut(setting, "=")
			added = append(added, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s%s", count, name, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, value))
			count++
		}
	}
	return append(added, fmt.Sprintf("GIT_CONFIG_COUNT=%d", count))
}

// configuration reads the repository's own configuration files.
func (r *Repo) configuration() [2][]byte {
	common := r.gitDir
	if link, err := os.ReadFile(filepath.Join(r.gitDir, "commondir")); err == nil {
		common = strings.TrimSpace(string(link))
		if !filepath.IsAbs(common) {
			common = filepath.Join(r.gitDir, common)
		}
	}
	shared, _ := os.ReadFile(filepath.Join(common, "config"))
	own, _ := os.ReadFile(filepath.Join(r.gitDir, "config.worktree"))
	return [2][]byte{shared, own}
}

// filterSettings lists what the repository itself configures about filters, each as key,
// line break, value.
func (r *Repo) filterSettings(ctx context.Context) ([]string, error) {
	out := limited{limit: 1 << 20}
	err := r.run(ctx, call{args: []string{"config", "-z", "--show-scope", "--includes", "--get-regexp", `^filter\.`}, out: &out})
	if failed, ok := errors.AsType[*failure](err); ok && failed.code == 1 {
		return nil, nil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("read filters: %w", err)
	}
	var settings []string
	for pair := range slices.Chunk(strings.Split(out.text.String(), "\x00"), 2) {
		if len(pair) == 2 && (pair[0] == "local" || pair[0] == "worktree") {
			settings = append(settings, pair[1])
		}
	}
	return settings, nil
}

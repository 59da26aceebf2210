package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// filters keeps clean filters out that an agent put into the repository's
// configuration: git would run them, outside of any sandbox, whenever it compares files.
// The package comment says which ones it does not see.
type filters struct {
	trusted []string      // settings that were there at Find
	seen    configuration // as it was when last looked at
	foreign []string      // names of filters with settings that were not there at Find
}

func (r *Repo) rememberFilters(ctx context.Context) error {
	r.filters.seen = r.configuration()
	var err error
	if r.filters.seen.mentionsFilters() {
		r.filters.trusted, err = r.filterSettings(ctx)
	}
	return err
}

// mentionsFilters spares the question to git in nearly every repository.
func (c configuration) mentionsFilters() bool {
	for _, file := range c.files {
		file = bytes.ToLower(file)
		if bytes.Contains(file, []byte("filter")) || bytes.Contains(file, []byte("include")) {
			return true
		}
	}
	return c.unknown
}

// refresh asks git for the filters again if the configuration has changed.
func (f *filters) refresh(ctx context.Context, r *Repo) error {
	now := r.configuration()
	if now.same(f.seen) {
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

// configuration is what the repository's own configuration files say.
type configuration struct {
	files   [2][]byte // of the repository, of the working tree; nil if there is none
	unknown bool      // one of them could not be read and may say anything
}

// same reports whether nothing has changed for certain.
func (c configuration) same(as configuration) bool {
	return !c.unknown && !as.unknown && bytes.Equal(c.files[0], as.files[0]) && bytes.Equal(c.files[1], as.files[1])
}

func (r *Repo) configuration() configuration {
	var c configuration
	read := func(folder, name string) []byte {
		content, known := readConfiguration(filepath.Join(folder, name))
		c.unknown = c.unknown || !known
		return content
	}
	common := r.gitDir
	if link := read(r.gitDir, "commondir"); link != nil {
		common = strings.TrimSpace(string(link))
		if !filepath.IsAbs(common) {
			common = filepath.Join(r.gitDir, common)
		}
	}
	c.files = [2][]byte{read(common, "config"), read(r.gitDir, "config.worktree")}
	return c
}

// readConfiguration reads a file that an agent may have put there, or something else in
// its place: known is false for what is no file or a huge one.
func readConfiguration(path string) (content []byte, known bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, errors.Is(err, fs.ErrNotExist)
	}
	f, ok := regular(os.OpenFile(path, reading, 0))
	if !ok {
		return nil, false
	}
	defer f.Close()
	content, err = io.ReadAll(io.LimitReader(f, contentLimit+1))
	if err != nil || len(content) > contentLimit {
		return nil, false
	}
	return content, true
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

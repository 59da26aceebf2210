package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// filters disables clean filters that an agent added to the repository's configuration. Git would
// run them, outside any sandbox, whenever it compares files. The package comment lists the filters
// that this misses.
type filters struct {
	trusted []string      // settings that existed at Find
	seen    configuration // as it was when last read
	foreign []string      // names of filters with settings that are new since Find
}

func (r *Repo) rememberFilters(ctx context.Context) error {
	r.filters.seen = r.configuration()
	var err error
	if r.filters.seen.mentionsFilters() {
		r.filters.trusted, err = r.filterSettings(ctx)
	}
	return err
}

// mentionsFilters reports whether git must be asked for filters. In almost every repository it
// saves a git call.
func (c configuration) mentionsFilters() bool {
	for _, file := range c.files {
		file = bytes.ToLower(file)
		if bytes.Contains(file, []byte("filter")) || bytes.Contains(file, []byte("include")) {
			return true
		}
	}
	return c.unknown
}

// refreshFilters asks git for the filters again if the configuration changed.
func (r *Repo) refreshFilters(ctx context.Context) error {
	f, now := &r.filters, r.configuration()
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

// disable returns environment variables that disable the foreign filters. An agent chose their
// names, which may contain an equals sign that -c cannot pass on.
func (f *filters) disable(env []string) []string {
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
			added = append(
				added,
				fmt.Sprintf("GIT_CONFIG_KEY_%d=%s%s", count, name, key),
				fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, value),
			)
			count++
		}
	}
	return append(added, fmt.Sprintf("GIT_CONFIG_COUNT=%d", count))
}

// configuration is the content of the repository's own configuration files.
type configuration struct {
	files   [2][]byte // of the repository and of the working tree; nil if missing
	unknown bool      // one of them could not be read
}

// same reports whether certainly nothing changed.
func (c configuration) same(as configuration) bool {
	return !c.unknown && !as.unknown && bytes.Equal(c.files[0], as.files[0]) && bytes.Equal(c.files[1], as.files[1])
}

func (r *Repo) configuration() configuration {
	var c configuration
	read := func(folder, name string) []byte {
		content, known := scan.ReadSmall(filepath.Join(folder, name))
		c.unknown = c.unknown || !known
		return content
	}
	common, known := r.sharedDir()
	c.unknown = !known
	c.files = [2][]byte{read(common, "config"), read(r.GitDir, "config.worktree")}
	return c
}

// Config returns the content of the repository's own configuration file, or nil if it cannot be
// read.
func (r *Repo) Config() []byte { return r.configuration().files[0] }

// LastConfiguration returns the configuration files as they were when the filters were last read.
func (r *Repo) LastConfiguration() [2][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.filters.seen.files
}

// filterSettings lists the filter settings of the repository itself, each as key, newline, value.
func (r *Repo) filterSettings(ctx context.Context) ([]string, error) {
	text, err := r.lookup(ctx, "read filters", "config", "-z", "--show-scope", "--includes", "--get-regexp", `^filter\.`)
	if err != nil {
		return nil, err
	}
	var settings []string
	for pair := range slices.Chunk(strings.Split(text, "\x00"), 2) {
		if len(pair) == 2 && (pair[0] == "local" || pair[0] == "worktree") {
			settings = append(settings, pair[1])
		}
	}
	return settings, nil
}

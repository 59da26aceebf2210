package gitrepo

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// programs are what a commit would run, as it was before an agent could change it: hooks
// and programs that sign. Hooks that are files of the working tree are the project's
// code like its tests, and are run as they stand.
type programs struct {
	hooks   string                       // the folder that git takes hooks from
	files   map[string][sha256.Size]byte // in there, unless the folder is in the working tree
	signing []string                     // settings that name a program that signs
}

func (r *Repo) programs(ctx context.Context) (programs, error) {
	// Not by r.run, which tells git that there are none.
	found, err := r.git.asUser(ctx, userCall{
		dir: r.Top, env: r.environment(), args: []string{"rev-parse", "--git-path", "hooks"}, timeout: r.git.timeout(),
	})
	if err != nil || !found.worked() {
		return programs{}, fmt.Errorf("look for hooks: %w", errors.Join(err, found.failure("rev-parse")))
	}
	p := programs{hooks: filepath.FromSlash(strings.TrimSuffix(found.stdout, "\n"))}
	if !filepath.IsAbs(p.hooks) {
		p.hooks = filepath.Join(r.Top, p.hooks)
	}
	if !r.inTree(p.hooks) {
		p.files = hookFiles(p.hooks)
	}
	p.signing, err = r.signingPrograms(ctx)
	return p, err
}

// inTree reports whether a folder belongs to the files of the project, and not to git's.
func (r *Repo) inTree(folder string) bool {
	top, err := os.Stat(r.Top)
	if err != nil || !below(top, folder) {
		return false
	}
	git, err := os.Stat(r.commonDir())
	return err != nil || !below(git, folder)
}

// commonDir is the git folder that all worktrees of the repository share.
func (r *Repo) commonDir() string {
	link, _ := readConfiguration(filepath.Join(r.gitDir, "commondir"))
	common := strings.TrimSpace(string(link))
	switch {
	case common == "":
		return r.gitDir
	case filepath.IsAbs(common):
		return common
	}
	return filepath.Join(r.gitDir, common)
}

func hookFiles(folder string) map[string][sha256.Size]byte {
	files := map[string][sha256.Size]byte{}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return files // git finds none there, either
	}
	defer root.Close()
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".sample") {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		content, known := readConfiguration(path)
		if !known {
			content = []byte(entry.Type().String())
		}
		if info, err := os.Stat(path); err == nil { // git passes over one that is no program
			content = append(content, executable(info)...)
		}
		files[entry.Name()] = sha256.Sum256(content)
	}
	return files
}

// signingPrograms lists settings, each as key, line break, value.
func (r *Repo) signingPrograms(ctx context.Context) ([]string, error) {
	out := limited{limit: 1 << 20}
	err := r.run(ctx, call{args: []string{"config", "-z", "--includes", "--get-regexp", `^gpg\.(.*\.)?(program|defaultkeycommand)$`}, out: &out})
	if failed, ok := errors.AsType[*failure](err); ok && failed.code == 1 {
		return nil, nil // there is none
	}
	if err != nil {
		return nil, fmt.Errorf("look for programs that sign: %w", err)
	}
	return strings.Split(strings.TrimSuffix(out.text.String(), "\x00"), "\x00"), nil
}

// gone names the hooks that were there before, and are not run any more.
func (p programs) gone(before programs) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(before.files)) {
		if _, there := p.files[name]; !there && p.hooks == before.hooks {
			names = append(names, inSentence(name))
		}
	}
	return names
}

// strange names the hooks that were not there before or were different.
func (p programs) strange(before programs) []string {
	if p.hooks != before.hooks {
		return []string{"those of " + p.hooks}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if was, known := before.files[name]; !known || was != p.files[name] {
			names = append(names, inSentence(name))
		}
	}
	return names
}

// gates are the hooks of the user that can refuse a commit. An agent that could have them
// left out, by planting another one beside them, would get past them.
func (p programs) gates() []string {
	var names []string
	for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg"} {
		if _, there := p.files[name]; there {
			names = append(names, name)
		}
	}
	return names
}

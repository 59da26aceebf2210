package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/gitrepo"
	"github.com/ralphloop/ralph/gitrepo/internal/git"
	"github.com/ralphloop/ralph/gitrepo/internal/scan"
)

// commits knows what a commit of the workspace would have.
type commits struct {
	keeper  *Keeper
	head    string          // the commit when this process started; "" if there was none
	loose   map[string]bool // the repository's loose objects at that time
	indexAt scan.Stamp      // its index at that time

	changed   []string   // what the last fingerprint found changed
	changedAt scan.Stamp // the index at that time

	blinding []string          // settings at that time by which git misses changes
	config   [2][]byte         // a configuration without others; see know
	same     map[variants]bool // files that are the same for git, which converts them

	asked  string   // about which commit, tree and settings notCommitted was asked last
	answer []string // its answer
}

// begin notes what there is before an agent works.
func (c *commits) begin(ctx context.Context) {
	head, _ := c.keeper.repo.Ask(ctx, "rev-parse", "--verify", "--quiet", "HEAD") // there may be no commit yet
	c.head, c.loose = strings.TrimSpace(head), c.looseObjects()
	c.indexAt = scan.StampAt(filepath.Join(c.keeper.home.GitDir, "index"))
	config := c.keeper.repo.LastConfiguration()
	var err error
	if c.blinding, err = c.blindingSettings(ctx); err == nil { // they count as new if they cannot be read
		c.know(config)
	}
}

// know notes a configuration that has no new settings, unless it includes other files.
func (c *commits) know(config [2][]byte) {
	if !bytes.Contains(bytes.ToLower(bytes.Join(config[:], nil)), []byte("[include")) {
		c.config = config
	}
}

// Uncommitted implements [ralph.CommitKeeper].
func (c *commits) Uncommitted(ctx context.Context, changes []ralph.FileChange) ([]string, error) {
	c.keeper.mu.Lock()
	defer c.keeper.mu.Unlock()
	names := map[string]bool{}
	for _, change := range changes {
		if change.Kind != ralph.FileDeleted {
			names[change.Name] = true
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	lines := slices.Concat(c.replaced(ctx), c.repositories(names))
	hidden, err := c.hidden(ctx, names)
	if err == nil {
		var converted []string
		converted, err = c.converted(ctx, names, changes)
		lines = slices.Concat(lines, hidden, converted)
	}
	if err == nil {
		var missed []string
		missed, err = c.missed(ctx)
		lines = append(lines, missed...)
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil { // an agent can break its repository
		lines = append(lines, "git's repository (it cannot be asked what a commit would have: "+err.Error()+")")
	}
	return lines, nil
}

// replaced describes a repository that lacks the commit of the start, because another one is in its place. A copy that
// has the commit is as good.
func (c *commits) replaced(ctx context.Context) []string {
	h := c.keeper.home
	dotGit := filepath.Join(h.Top, ".git")
	if _, err := os.Lstat(dotGit); err != nil || c.head == "" {
		return nil
	}
	if text, _ := scan.ReadSmall(dotGit); string(text) == h.DotGit {
		_, err := os.Lstat(filepath.Join(h.Common, "objects", c.head[:2], c.head[2:]))
		if err == nil || scan.StampAt(filepath.Join(h.GitDir, "index")) == c.indexAt {
			return nil // without a call of git
		}
	}
	ask := git.Call{Dir: c.keeper.repo.Dir, Args: []string{"cat-file", "-e", c.head + "^{commit}"}}
	if _, err := c.keeper.repo.Git.Run(ctx, ask); !git.Failed(err) {
		return nil
	}
	return []string{"git's repository (another one is in its place, without the commit " + c.head[:10] + ")"}
}

// repositories describes the repositories inside the workspace in which files changed.
func (c *commits) repositories(names map[string]bool) (lines []string) {
	looked := map[string]bool{}
	for name := range names {
		for folder := path.Dir(name); folder != "." && !looked[folder]; folder = path.Dir(folder) {
			looked[folder] = true
			if _, err := os.Lstat(filepath.Join(c.keeper.repo.Dir, filepath.FromSlash(folder), ".git")); err == nil {
				lines = append(lines, folder+" (a repository of its own, of which a commit has only a link)")
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// hidden describes files whose changes the index hides from git, if it changed: a flag makes git skip them, or the
// index has another text for the files as they are.
func (c *commits) hidden(ctx context.Context, names map[string]bool) (lines []string, err error) {
	k := c.keeper
	now := scan.StampAt(filepath.Join(k.home.GitDir, "index"))
	if now == c.indexAt {
		return nil, nil
	}
	seen := c.changed
	if c.changedAt != now || now == (scan.Stamp{}) {
		if seen, err = c.status(ctx, nil, k.home.pathspec()); err != nil {
			return nil, err
		}
	}
	unseen := maps.Clone(names)
	for _, name := range seen {
		delete(unseen, strings.TrimPrefix(name, k.repo.Prefix))
	}
	if len(unseen) == 0 {
		return nil, nil
	}
	repository, err := k.look(ctx)
	if err != nil {
		return nil, err
	}
	head := cmp.Or(repository.headID(), gitrepo.EmptyTree[k.home.Format])
	lacking, err := c.notCommitted(ctx, head, k.last.tree)
	for _, name := range lacking {
		if name = strings.TrimPrefix(name, k.repo.Prefix); unseen[name] {
			lines = append(lines, name+" (git's index hides the change, so a commit lacks it; "+
				"git read-tree HEAD renews the index)")
		}
	}
	slices.Sort(lines)
	return lines, err
}

// missed describes new settings by which git misses changes of files.
func (c *commits) missed(ctx context.Context) (lines []string, err error) {
	config := c.keeper.repo.LastConfiguration()
	if config[0] != nil && bytes.Equal(config[0], c.config[0]) && bytes.Equal(config[1], c.config[1]) {
		return nil, nil
	}
	settings, err := c.blindingSettings(ctx)
	settings = slices.DeleteFunc(settings, func(one string) bool { return slices.Contains(c.blinding, one) })
	if len(settings) > 0 {
		lines = []string{
			"git's new settings " + strings.Join(settings, ", ") + " (by them git misses changes, so a commit may lack some)",
		}
	}
	if c.config = [2][]byte{}; err == nil && lines == nil {
		c.know(config)
	}
	return lines, err
}

// blindingSettings lists the settings by which git can miss changes of files, as "core.filemode=false".
func (c *commits) blindingSettings(ctx context.Context) (settings []string, err error) {
	out, err := c.keeper.repo.Ask(ctx, "config", "-z", "--show-scope", "--includes", "--get-regexp",
		`^core\.(trustctime|checkstat|ignorestat|filemode|symlinks|fsmonitor)$`)
	if git.ExitCode(err) == 1 { // there are none
		err = nil
	}
	for pair := range slices.Chunk(git.SplitNames(out), 2) {
		if len(pair) == 2 && pair[0] != "command" { // not those of Ralph itself
			settings = append(settings, strings.Replace(pair[1], "\n", "=", 1))
		}
	}
	return settings, err
}

// converted describes files that git changes when it commits them or checks them out, if the rules for that are new.
func (c *commits) converted(
	ctx context.Context, names map[string]bool, changes []ralph.FileChange,
) (lines []string, err error) {
	now := c.keeper.runnable()
	isNew := !bytes.Equal(now.attributes, c.keeper.before.attributes)
	newSettings := !slices.Equal(converting(now.config), converting(c.keeper.before.config))
	if !isNew && !newSettings && !slices.ContainsFunc(changes, func(c ralph.FileChange) bool {
		return path.Base(c.Name) == ".gitattributes"
	}) {
		return nil, nil
	}
	rules, err := c.attributes(ctx, names, git.Call{Args: []string{"check-attr"}})
	if err != nil {
		return nil, err
	}
	var before map[string]string
	if c.head != "" && !isNew && !newSettings {
		if before, err = c.attributesAt(ctx, names, c.head); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if (newSettings || rules[name] != before[name]) && c.converts(name, rules[name], newSettings) {
			lines = append(lines, name+" (by new rules in .gitattributes or in git's settings, "+
				"a commit or a checkout has another text)")
		}
	}
	return lines, nil
}

// converting returns the lines of a configuration that may say how git converts files.
func converting(config []byte) []string {
	var lines []string
	for line := range strings.Lines(strings.ToLower(string(config))) {
		if slices.ContainsFunc([]string{"filter", "clean", "smudge", "process", "crlf", "eol", "attributesfile"},
			func(word string) bool { return strings.Contains(line, word) }) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// attributes returns the attributes of files that may convert them, as "filter=lfs text=auto".
func (c *commits) attributes(
	ctx context.Context, names map[string]bool, ask git.Call,
) (map[string]string, error) {
	list := strings.Join(slices.Sorted(maps.Keys(names)), "\x00") + "\x00"
	ask.Args = append(ask.Args, "-z", "--stdin", "filter", "ident", "text", "eol", "working-tree-encoding")
	out, err := c.keeper.feed(ctx, c.keeper.repo.Call, list, ask)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for fields := strings.Split(out, "\x00"); len(fields) > 3; fields = fields[3:] {
		if fields[2] != "unspecified" {
			found[fields[0]] += fields[1] + "=" + fields[2] + " "
		}
	}
	return found, nil
}

// attributesAt returns the attributes of files by the rules of a commit.
func (c *commits) attributesAt(ctx context.Context, names map[string]bool, commit string) (map[string]string, error) {
	var found map[string]string
	err := c.withIndexOf(ctx, commit, func(index []string) (err error) {
		found, err = c.attributes(ctx, names, git.Call{Env: index, Args: []string{"check-attr", "--cached"}})
		return err
	})
	return found, err
}

// converts reports whether attributes change what a file contains. newSettings says that the repository's settings for
// line ends may be new.
func (c *commits) converts(name, attributes string, newSettings bool) bool {
	file := filepath.Join(c.keeper.repo.Dir, filepath.FromSlash(name))
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return false
	}
	set := map[string]string{}
	for rule := range strings.FieldsSeq(attributes) {
		if key, value, _ := strings.Cut(rule, "="); value != "unset" {
			set[key] = value
		}
	}
	if set["filter"] != "" || set["working-tree-encoding"] != "" {
		return true
	}
	if newSettings && !strings.Contains(attributes, "text=") {
		set["text"] = "auto"
	}
	if set["ident"] == "" && set["text"] == "" && set["eol"] == "" {
		return false
	}
	text, known := scan.ReadSmall(file)
	if set["text"] == "auto" && bytes.IndexByte(text, 0) >= 0 {
		return set["ident"] != "" && bytes.Contains(text, []byte("$Id"))
	}
	hasReturns := bytes.Contains(text, []byte("\r\n"))
	return !known || set["ident"] != "" && bytes.Contains(text, []byte("$Id")) ||
		hasReturns && set["eol"] != "crlf" || !hasReturns && set["eol"] == "crlf"
}

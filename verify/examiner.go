package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/proof/protect"
)

// Examiner looks at what an agent left of the workspace, and runs checks in views of it. It implements [ralph.Examiner] and is used by one
// goroutine at a time.
type Examiner struct {
	// Shell runs the checks. Its environment is the user's own.
	Shell Shell
	// Dir is the workspace.
	Dir string
	// Copies are those of the tree; nil if none are kept. Then nothing can be compared, and a view is of the workspace as it is.
	Copies ralph.Snapshots
	// Rules say which files are protected, and which are tests.
	Rules protect.Rules
	// Folder is outside of the workspace and holds what views need, Journal what an in-place view has to put back, and Proofs what is known of checks
	// at the base.
	Folder, Journal, Proofs string
	// Isolation is what the user wants; "" is the strongest that works.
	Isolation pristine.Mode
	// Around is what lies around the workspace and steers checks; nil if it is not looked at.
	Around *pristine.Surroundings
	// NoNetwork leaves checks nothing but loopback.
	NoNetwork bool
	// Canary is a command that plants a failing test; "" leaves it to what is known of the project.
	Canary string
	// HiddenDir holds the files of hidden checks; "" if there are none.
	HiddenDir string
	// Workspace names the copy of the workspace as it is, where that is not the tree that is looked at; "" where it is.
	Workspace string

	best   isolation
	sorted sortedChanges
	base   informedRules
	asked  map[string]baseHabit // what checks do to tests at the base, by command
	stood  standings
}

// informedRules are rules that know the files of the copy since.
type informedRules struct {
	protect.Rules
	since string
}

var _ ralph.Examiner = (*Examiner)(nil)

// sortedChanges is what differs between two copies, and what it means.
type sortedChanges struct {
	base, now string
	all       []ralph.FileChange
	meaning   protect.Sorted
	newTests  []ralph.FileChange // that need something which old tests do without
}

// ErrNoCopy says that the tree as it is now was not kept, so that nobody can say what became of protected files.
var ErrNoCopy = errors.New("no copy of the tree could be kept")

// Compare says what the difference between two trees means.
func (e *Examiner) Compare(ctx context.Context, base, now ralph.TreeState) (ralph.Tampering, error) {
	found, err := e.sort(ctx, base, now)
	if err != nil || e.Copies == nil || base.Snapshot == "" {
		return ralph.Tampering{}, err
	}
	seen := ralph.Tampering{
		Known: true, Tampered: found.meaning.Tampered, Unseen: names(found.meaning.Unseen), Tests: names(found.meaning.Tests),
		TestAware: aware(found.meaning.Aware),
	}
	if err := e.remember(ctx, ralph.ViewInput{Kind: ralph.ViewClaimed, Base: base, Now: now}); err != nil {
		return seen, err
	}
	if e.Around == nil {
		return seen, nil
	}
	mode, _ := e.mode(ctx, ralph.ViewInput{Dir: e.Dir})
	for _, name := range e.Around.Unhidden(mode, e.Dir) {
		seen.OutsideFiles = append(seen.OutsideFiles, fmt.Sprintf("%s is not as it was when the run began, and checks see it", name))
	}
	return seen, nil
}

// sort compares two trees. It remembers the last answer, since views ask for the same again.
func (e *Examiner) sort(ctx context.Context, base, now ralph.TreeState) (sortedChanges, error) {
	none := sortedChanges{base: base.Snapshot, now: now.Snapshot}
	switch {
	case e.Copies == nil || base.Snapshot == "" || base.Snapshot == now.Snapshot:
		return none, nil
	case now.Snapshot == "":
		return none, ErrNoCopy
	case e.sorted.base == base.Snapshot && e.sorted.now == now.Snapshot:
		return e.sorted, nil
	}
	changes, err := e.Copies.Changes(ctx, base.Snapshot, now.Snapshot)
	if err != nil {
		return none, err
	}
	rules, err := e.rulesSince(ctx, base.Snapshot)
	if err != nil {
		return none, err
	}
	meaning, err := rules.Sort(ctx, changes, e.trees(base.Snapshot, now.Snapshot))
	if err != nil {
		return none, err
	}
	none.all, none.meaning = changes, meaning
	if slices.ContainsFunc(meaning.Tests, func(c ralph.FileChange) bool { return c.Kind == ralph.FileAdded }) {
		for _, c := range changes { // tests that were added with a set-up file cannot be green without it
			if c.Kind == ralph.FileAdded && rules.Test(c.Name) && !slices.Contains(meaning.Tests, c) {
				none.newTests = append(none.newTests, c)
			}
		}
	}
	e.sorted = none
	return none, nil
}

// rulesSince are the rules, with what they have to know of the base.
func (e *Examiner) rulesSince(ctx context.Context, base string) (protect.Rules, error) {
	if e.base.since != base {
		files, err := e.Copies.Files(ctx, base)
		if err != nil {
			return protect.Rules{}, err
		}
		e.base = informedRules{e.Rules.Since(files), base}
	}
	return e.base.Rules, nil
}

// aware tells who asks, and how.
func aware(found []protect.Aware) []string {
	const shown = 80
	var all []string
	for _, a := range found {
		line := a.Line
		if len(line) > shown {
			line = strings.ToValidUTF8(line[:shown], "") + "…"
		}
		all = append(all, a.Name+": "+line)
	}
	return all
}

func names(changes []ralph.FileChange) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Name)
	}
	return all
}

// BaseText is a file as it was at the base.
func (e *Examiner) BaseText(ctx context.Context, base ralph.TreeState, name string) (string, error) {
	if e.Copies == nil || base.Snapshot == "" {
		return "", fmt.Errorf("read %s as it was: %w", name, fs.ErrNotExist)
	}
	const limit = 4 << 20
	text, err := e.Copies.Read(ctx, base.Snapshot, filepath.ToSlash(name), limit)
	if err != nil {
		return "", fmt.Errorf("read %s as it was: %w", name, err)
	}
	return string(text), nil
}

// edits is what a view shows otherwise than the workspace. What comes from the base is written below kept first.
func (e *Examiner) edits(ctx context.Context, kind ralph.ViewKind, found sortedChanges, kept string) ([]pristine.Edit, error) {
	edits, err := e.towards(ctx, found.now, kept+"-now")
	if err != nil {
		return nil, err
	}
	old, err := e.putBack(ctx, found.base, found.shownOld(kind), kept)
	if err != nil {
		return nil, err
	}
	edits = append(edits, old...)
	if kind == ralph.ViewOldTests {
		if err := e.blend(ctx, found, edits); err != nil {
			return nil, err
		}
	}
	if (kind == ralph.ViewHidden || kind == viewHiddenBase) && e.HiddenDir != "" {
		laid, err := layOver(e.HiddenDir)
		return append(edits, laid...), err
	}
	return edits, nil
}

// blend puts old tests into the files that hold product and tests at once, where putting back the whole file would undo the product, too.
func (e *Examiner) blend(ctx context.Context, found sortedChanges, edits []pristine.Edit) error {
	for _, c := range found.meaning.Tests {
		i := len(edits) - 1 // the last edit of a name holds
		for i >= 0 && (edits[i].Name != c.Name || edits[i].Source == "") {
			i--
		}
		if i < 0 || c.Kind != ralph.FileChanged {
			continue
		}
		base, err := e.Copies.Read(ctx, found.base, c.Name, protect.Limit)
		if err != nil {
			return err
		}
		now, err := e.Copies.Read(ctx, found.now, c.Name, protect.Limit)
		if err != nil {
			return err
		}
		if text, ok := protect.WithOldTests(c.Name, base, now); ok {
			if err := os.WriteFile(edits[i].Source, text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBack undoes changes: what they changed or deleted is put there from a copy, by way of the folder kept.
func (e *Examiner) putBack(ctx context.Context, id string, changes []ralph.FileChange, kept string) ([]pristine.Edit, error) {
	var edits []pristine.Edit
	var put []string
	for _, c := range changes {
		if c.Kind == ralph.FileAdded {
			edits = append(edits, pristine.Edit{Name: c.Name})
			continue
		}
		put = append(put, c.Name)
	}
	if len(put) > 0 {
		if err := e.Copies.Extract(ctx, id, kept, put); err != nil {
			return nil, err
		}
	}
	for _, name := range put {
		edits = append(edits, pristine.Edit{Name: name, Source: filepath.Join(kept, filepath.FromSlash(name))})
	}
	return edits, nil
}

// towards is what makes the workspace the tree that is looked at.
func (e *Examiner) towards(ctx context.Context, now, kept string) ([]pristine.Edit, error) {
	if e.Workspace == "" || e.Workspace == now {
		return nil, nil
	}
	changes, err := e.Copies.Changes(ctx, now, e.Workspace) // as if somebody had changed that tree into this workspace
	if err != nil {
		return nil, err
	}
	return e.putBack(ctx, now, changes, kept)
}

// shownOld are the changes that a view does not show.
func (s sortedChanges) shownOld(kind ralph.ViewKind) []ralph.FileChange {
	switch kind {
	case ralph.ViewBase, viewHiddenBase:
		return s.all
	case ralph.ViewReviewed:
		return slices.DeleteFunc(slices.Clone(s.all), func(c ralph.FileChange) bool { return !instructs(c.Name) })
	case ralph.ViewOldTests:
		return slices.Concat(s.meaning.Tampered, s.meaning.Unseen, s.meaning.Tests, s.newTests)
	}
	return slices.Concat(s.meaning.Tampered, s.meaning.Unseen)
}

// Files and folders that agent CLIs read by themselves: as orders, settings or hooks.
var (
	instructing = strings.Fields(`AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md CONVENTIONS.md .cursorrules .goosehints
		.mcp.json opencode.json opencode.jsonc .aider.conf.yml copilot-instructions.md`)
	instructingFolders = strings.Fields(".claude .codex .gemini .qwen .opencode .cursor .amp .goose .agents")
)

// instructs reports whether agent CLIs read a file by themselves.
func instructs(name string) bool {
	isOne := func(folder string) bool { return slices.Contains(instructingFolders, folder) }
	return slices.Contains(instructing, path.Base(name)) || slices.ContainsFunc(strings.Split(path.Dir(name), "/"), isOne)
}

// layOver lists the files of a folder at their names.
func layOver(dir string) ([]pristine.Edit, error) {
	var edits []pristine.Edit
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err == nil && entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir // its own history is not the workspace's
		case err != nil || entry.IsDir():
			return err
		}
		name, err := filepath.Rel(dir, path)
		edits = append(edits, pristine.Edit{Name: filepath.ToSlash(name), Source: path})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read checks.hidden_dir: %w", err)
	}
	return edits, nil
}

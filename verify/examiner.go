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
	"github.com/ralphloop/ralph/internal/text"
)

// Examiner compares the trees that an agent leaves behind and runs checks in views of them. It
// implements [ralph.Examiner]. Only one goroutine may use it at a time.
type Examiner struct {
	// Shell runs the checks. Its environment is the user's own.
	Shell Shell
	// Dir is the workspace.
	Dir string
	// Snapshots holds snapshots of the tree. If it is nil, trees cannot be compared and a view
	// shows the workspace as it is.
	Snapshots ralph.Snapshots
	// Rules decide which files are protected and which are tests.
	Rules protect.Rules
	// Folder is outside the workspace and holds temporary files of views.
	Folder string
	// Isolation is the mode that the user asked for; "" means the strongest one that works.
	Isolation pristine.Mode
	// Surroundings are the files outside the tree that affect checks; nil ignores them.
	Surroundings *pristine.Surroundings
	// OfTree keeps files that are not part of the tree out of views.
	OfTree
	// NoNetwork limits checks to the loopback interface.
	NoNetwork bool
	// Canary is a command that plants a failing test; "" plants one that fits the project's test
	// runner.
	Canary string
	// Quick skips two comparisons of a proof: the environment now and before, and changed literals.
	Quick bool
	// HiddenDir holds the files of hidden checks; "" if there are none.
	HiddenDir string
	// GivenDir holds tests that an author wrote before any work; "" if nobody does. GivenHidden adds them to the
	// views of hidden checks, because they are not in the workspace.
	GivenDir    string
	GivenHidden bool
	// WorkspaceSnapshot is the snapshot of the workspace, if that is not the tree being examined;
	// otherwise "".
	WorkspaceSnapshot string
	// Rows are results of earlier runs, and of this one for later runs; nil uses and keeps none.
	Rows *Rows

	best isolation
	comparison
	testStamps testStamps
	memory     memory
}

// comparison is what the last comparison of two trees found.
type comparison struct {
	lastChanges classifiedChanges
	baseRules   rulesAtBase
}

// rulesAtBase are rules that know the files of the snapshot named base.
type rulesAtBase struct {
	protect.Rules
	base string
}

var _ ralph.Examiner = (*Examiner)(nil)

// classifiedChanges are the differences between two snapshots, sorted by what they mean.
type classifiedChanges struct {
	base, now string
	all       []ralph.FileChange
	meaning   protect.Sorted
	newTests  []ralph.FileChange // newTests are test files that were added.
}

// ErrNoSnapshot means that there is no snapshot of the current tree, so changes to protected files
// cannot be detected.
var ErrNoSnapshot = errors.New("no snapshot of the tree could be taken")

// Compare classifies the changes between two trees.
func (e *Examiner) Compare(ctx context.Context, base, now ralph.TreeState) (ralph.Tampering, error) {
	found, err := e.classify(ctx, base, now)
	if err != nil || e.Snapshots == nil || base.Snapshot == "" {
		return ralph.Tampering{}, err
	}
	seen := ralph.Tampering{
		Known:     true,
		Tampered:  found.meaning.Tampered,
		Unseen:    changeNames(found.meaning.Unseen),
		Tests:     changeNames(found.meaning.Tests),
		TestAware: formatAware(found.meaning.Aware),
	}
	if err := (outside{e}).compare(ctx, found, &seen); err != nil {
		return seen, err
	}
	if err := e.stampTests(ctx, ralph.ViewInput{Kind: ralph.ViewClaimed, Base: base, Now: now}); err != nil {
		return seen, err
	}
	if e.Surroundings == nil {
		return seen, nil
	}
	mode, _, err := e.mode(ctx, request{ViewInput: ralph.ViewInput{Dir: e.Dir}})
	if err != nil {
		return seen, err
	}
	for _, name := range e.Surroundings.VisibleChanges(mode, e.Dir) {
		seen.OutsideFiles = append(
			seen.OutsideFiles, fmt.Sprintf("%s changed since the run began, and checks can see it", name),
		)
	}
	return seen, nil
}

// classify compares two trees. It caches the last answer, because views ask the same question
// again.
func (e *Examiner) classify(ctx context.Context, base, now ralph.TreeState) (classifiedChanges, error) {
	none := classifiedChanges{base: base.Snapshot, now: now.Snapshot}
	switch {
	case e.Snapshots == nil || base.Snapshot == "" || base.Snapshot == now.Snapshot:
		return none, nil
	case now.Snapshot == "":
		return none, ErrNoSnapshot
	case e.lastChanges.base == base.Snapshot && e.lastChanges.now == now.Snapshot:
		return e.lastChanges, nil
	}
	changes, err := e.Snapshots.Changes(ctx, base.Snapshot, now.Snapshot)
	if err != nil {
		return none, err
	}
	rules, err := e.rulesFor(ctx, base.Snapshot)
	if err != nil {
		return none, err
	}
	meaning, err := rules.Sort(ctx, changes, e.trees(base.Snapshot, now.Snapshot))
	if err != nil {
		return none, err
	}
	none.all, none.meaning = changes, meaning
	for _, c := range changes {
		if c.Kind == ralph.FileAdded && rules.Test(c.Name) && !slices.Contains(meaning.Tests, c) {
			none.newTests = append(none.newTests, c)
		}
	}
	e.lastChanges = none
	return none, nil
}

// rulesFor returns the rules with what they have to know about the base.
func (e *Examiner) rulesFor(ctx context.Context, base string) (protect.Rules, error) {
	if e.baseRules.base != base {
		files, err := e.Snapshots.Files(ctx, base)
		if err != nil {
			return protect.Rules{}, err
		}
		e.baseRules = rulesAtBase{e.Rules.Since(files), base}
	}
	return e.baseRules.Rules, nil
}

// formatAware formats each file that checks whether it runs in a test, with the line that does so.
func formatAware(found []protect.Aware) []string {
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

func changeNames(changes []ralph.FileChange) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Name)
	}
	return all
}

// BaseText returns a file's content at the base.
func (e *Examiner) BaseText(ctx context.Context, base ralph.TreeState, name string) (string, error) {
	if e.Snapshots == nil || base.Snapshot == "" {
		return "", fmt.Errorf("read %s at the base: %w", name, fs.ErrNotExist)
	}
	const limit = 4 << 20
	text, err := e.Snapshots.Read(ctx, base.Snapshot, filepath.ToSlash(name), limit)
	if err != nil {
		return "", fmt.Errorf("read %s at the base: %w", name, err)
	}
	return string(text), nil
}

// edits lists how a view differs from the workspace. Files from the base are first extracted below
// extracted.
func (e *Examiner) edits(
	ctx context.Context, kind ralph.ViewKind, found classifiedChanges, extracted string,
) ([]pristine.Edit, error) {
	edits, err := editsToTree(ctx, e, found.now, extracted+"-now")
	if err != nil {
		return nil, err
	}
	reverted := e.reverted(found, kind)
	old, err := e.revert(ctx, found.base, reverted, extracted)
	if err != nil {
		return nil, err
	}
	edits = append(edits, old...)
	absent, err := outside{e}.absentEdits(ctx, kind, found)
	if err != nil {
		return nil, err
	}
	edits = append(edits, absent...)
	if kind == ralph.ViewOldTests {
		if err := e.blendTests(ctx, found, edits); err != nil {
			return nil, err
		}
	}
	if kind == ralph.ViewNewTests {
		if err := e.blendNewTests(ctx, found, edits); err != nil {
			return nil, err
		}
	}
	hidden := slices.Concat(changeNames(reverted), editNames(absent))
	renewed, err := e.renewals(ctx, found, hidden, extracted+"-renewed")
	if err != nil {
		return nil, err
	}
	edits = append(edits, renewed...)
	for _, dir := range addedDirs(e, kind) {
		added, err := fileEdits(dir)
		if err != nil {
			return nil, err
		}
		edits = append(edits, added...)
	}
	return edits, nil
}

// renewals shows changed files with a new time. With an old one, tools would take what they built from the base for
// fresh, and test that. hidden lists files and folders of which the view does not have the changes.
func (e *Examiner) renewals(
	ctx context.Context, found classifiedChanges, hidden []string, extracted string,
) ([]pristine.Edit, error) {
	if e.WorkspaceSnapshot != "" {
		return nil, nil // those files are extracted
	}
	isHidden := map[string]bool{}
	for _, name := range hidden {
		isHidden[strings.TrimSuffix(name, "/")] = true
	}
	shown := slices.DeleteFunc(slices.Clone(found.all), func(c ralph.FileChange) bool {
		for name := c.Name; name != "."; name = path.Dir(name) {
			if isHidden[name] {
				return true
			}
		}
		return c.Kind != ralph.FileChanged
	})
	return e.revert(ctx, found.now, shown, extracted)
}

func editNames(edits []pristine.Edit) []string {
	return text.Mapped(edits, func(e pristine.Edit) string { return e.Name })
}

// addedDirs lists the folders whose files a view shows beside those of the tree.
func addedDirs(e *Examiner, kind ralph.ViewKind) []string {
	if e.GivenDir != "" && (kind == ralph.ViewGiven || isHidden(kind) && e.GivenHidden) {
		return []string{e.GivenDir}
	}
	return nil
}

// blendTests puts old tests into files that hold both product code and tests. Restoring such a file
// as a whole would also undo the product code.
func (e *Examiner) blendTests(ctx context.Context, found classifiedChanges, edits []pristine.Edit) error {
	for _, c := range found.meaning.Tests {
		i := len(edits) - 1 // the last edit of a name wins
		for i >= 0 && (edits[i].Name != c.Name || edits[i].Source == "") {
			i--
		}
		if i < 0 || c.Kind != ralph.FileChanged {
			continue
		}
		base, err := e.Snapshots.Read(ctx, found.base, c.Name, protect.Limit)
		if err != nil {
			return err
		}
		now, err := e.Snapshots.Read(ctx, found.now, c.Name, protect.Limit)
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

// revert returns the edits that undo changes. Files that were changed or deleted are first
// extracted from a snapshot into the folder extracted.
func (e *Examiner) revert(
	ctx context.Context, id string, changes []ralph.FileChange, extracted string,
) ([]pristine.Edit, error) {
	var edits []pristine.Edit
	var restored []string
	for _, c := range changes {
		if c.Kind == ralph.FileAdded {
			edits = append(edits, pristine.Edit{Name: c.Name})
			continue
		}
		restored = append(restored, c.Name)
	}
	if len(restored) > 0 {
		if err := e.Snapshots.Extract(ctx, id, extracted, restored); err != nil {
			return nil, err
		}
	}
	for _, name := range restored {
		source := filepath.Join(extracted, filepath.FromSlash(name))
		// A file that was too large for the snapshot stays as it is. If it is protected, the claim is refused.
		if _, err := os.Lstat(source); !errors.Is(err, fs.ErrNotExist) {
			edits = append(edits, pristine.Edit{Name: name, Source: source})
		}
	}
	return edits, nil
}

// editsToTree returns the edits that turn the workspace into the examined tree.
func editsToTree(ctx context.Context, e *Examiner, now, extracted string) ([]pristine.Edit, error) {
	if e.WorkspaceSnapshot == "" || e.WorkspaceSnapshot == now {
		return nil, nil
	}
	// read the difference backwards, so that reverting it leads from the workspace to that tree
	changes, err := e.Snapshots.Changes(ctx, now, e.WorkspaceSnapshot)
	if err != nil {
		return nil, err
	}
	return e.revert(ctx, now, changes, extracted)
}

// reverted lists the changes that a view does not show.
func (e *Examiner) reverted(s classifiedChanges, kind ralph.ViewKind) []ralph.FileChange {
	switch kind {
	case ralph.ViewNewTests:
		return revertedForNewTests(e, s)
	case ralph.ViewBase, ralph.ViewGiven, ralph.ViewHiddenBase:
		return s.all
	case ralph.ViewReviewed:
		return slices.DeleteFunc(slices.Clone(s.all), func(c ralph.FileChange) bool { return !isAgentFile(c.Name) })
	case ralph.ViewOldTests:
		return slices.Concat(s.meaning.Tampered, s.meaning.Unseen, s.meaning.Tests, s.newTests)
	}
	return slices.Concat(s.meaning.Tampered, s.meaning.Unseen)
}

// Files and folders that agent CLIs read on startup as instructions, settings or hooks.
var (
	agentFiles = strings.Fields(`
		AGENTS.md AGENTS.override.md AGENT.md CLAUDE.md CLAUDE.local.md GEMINI.md QWEN.md CONVENTIONS.md
		.cursorrules .goosehints .mcp.json opencode.json opencode.jsonc .aider.conf.yml
		copilot-instructions.md`)
	agentFolders = strings.Fields(".claude .codex .gemini .qwen .opencode .cursor .amp .goose .agents")
)

// isAgentFile reports whether agent CLIs read a file on startup.
func isAgentFile(name string) bool {
	isOne := func(folder string) bool { return slices.Contains(agentFolders, folder) }
	return slices.Contains(agentFiles, path.Base(name)) || slices.ContainsFunc(strings.Split(path.Dir(name), "/"), isOne)
}

// fileEdits returns edits that add the files of a folder under their own names.
func fileEdits(dir string) ([]pristine.Edit, error) {
	var edits []pristine.Edit
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err == nil && entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir // a separate repository's history does not belong in the workspace
		case err != nil || entry.IsDir():
			return err
		}
		name, err := filepath.Rel(dir, path)
		edits = append(edits, pristine.Edit{Name: filepath.ToSlash(name), Source: path})
		return err
	})
	if err != nil {
		return nil, impossible{fmt.Errorf("read files of checks: %w", err)}
	}
	return edits, nil
}

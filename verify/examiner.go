package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/proof/protect"
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
	// Ground is what views are made of. If it is nil, a view shows the workspace as it is.
	Ground *Ground
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
	// WorkspaceSnapshot is the snapshot of the workspace, if that may not be the tree being examined; otherwise "".
	WorkspaceSnapshot string
	// Rows are results of earlier runs, and of this one for later runs; nil uses and keeps none.
	Rows *Rows

	best isolation
	comparison
	memory memory
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
	if e.Ground != nil {
		if err := e.Ground.compare(ctx, found, &seen); err != nil {
			return seen, err
		}
	}
	if now.Cloned == base.Snapshot && now.Cloned != "" {
		seen.Environment = append(seen.Environment, "git's repository (git cannot commit the workspace)")
	}
	if now.Cloned != "" {
		lost, err := e.Snapshots.Changes(ctx, now.Cloned, now.Snapshot)
		if err != nil {
			return seen, err
		}
		seen.LeftOut = slices.Compact(slices.Sorted(slices.Values(append(seen.LeftOut, changeNames(lost)...))))
	}
	if e.WorkspaceSnapshot == "" {
		seen.Environment = append(seen.Environment, e.linksOut(found.all)...)
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
	none := classifiedChanges{base: base.Snapshot, now: now.Clone()}
	switch {
	case e.Snapshots == nil || base.Snapshot == "" || base.Snapshot == now.Clone():
		return none, nil
	case now.Clone() == "":
		return none, ErrNoSnapshot
	case e.lastChanges.base == base.Snapshot && e.lastChanges.now == now.Clone():
		return e.lastChanges, nil
	}
	changes, err := e.Snapshots.Changes(ctx, base.Snapshot, now.Clone())
	if err != nil {
		return none, err
	}
	rules, err := e.rulesFor(ctx, base.Snapshot)
	if err != nil {
		return none, err
	}
	meaning, err := rules.Sort(ctx, changes, e.trees(base.Snapshot, now.Clone()))
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

// edits lists how a view differs from the tree of its layer, which is a snapshot. Files of snapshots are first
// extracted below extracted. Changed files get the current time: with an old one, tools would take what they built from
// another tree for fresh.
func (e *Examiner) edits(
	ctx context.Context, kind ralph.ViewKind, found classifiedChanges, layer, extracted string,
) ([]pristine.Edit, error) {
	isOld := map[string]bool{}
	for _, c := range e.reverted(found, kind) {
		isOld[c.Name] = true
	}
	edits, err := e.editsTo(ctx, layer, found.now, extracted+"-now", func(name string) bool { return !isOld[name] })
	if err != nil {
		return nil, err
	}
	old, err := e.editsTo(ctx, layer, found.base, extracted, func(name string) bool { return isOld[name] })
	if err != nil {
		return nil, err
	}
	edits = append(edits, old...)
	blended, err := e.blendedTests(ctx, kind, found, extracted+"-blended")
	if err != nil {
		return nil, err
	}
	edits = append(edits, blended...)
	for _, dir := range addedDirs(e, kind) {
		added, err := fileEdits(dir)
		if err != nil {
			return nil, err
		}
		edits = append(edits, added...)
	}
	return edits, nil
}

// editsTo returns the edits that give some files the state that they have in a snapshot.
func (e *Examiner) editsTo(
	ctx context.Context, layer, id, extracted string, isWanted func(name string) bool,
) ([]pristine.Edit, error) {
	if e.Snapshots == nil || layer == id || layer == "" || id == "" {
		return nil, nil
	}
	changes, err := e.Snapshots.Changes(ctx, layer, id)
	if err != nil {
		return nil, err
	}
	var edits []pristine.Edit
	var names []string
	for _, c := range changes {
		switch {
		case !isWanted(c.Name):
		case c.Kind == ralph.FileDeleted:
			edits = append(edits, pristine.Edit{Name: c.Name})
		default:
			names = append(names, c.Name)
		}
	}
	if len(names) > 0 {
		if err := e.Snapshots.Extract(ctx, id, extracted, names); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		source := filepath.Join(extracted, filepath.FromSlash(name))
		// A file that was too large for the snapshot stays as it is. If it is protected, the claim is refused.
		if _, err := os.Lstat(source); !errors.Is(err, fs.ErrNotExist) {
			edits = append(edits, pristine.Edit{Name: name, Source: source})
		}
	}
	return edits, nil
}

// addedDirs lists the folders whose files a view shows beside those of the tree.
func addedDirs(e *Examiner, kind ralph.ViewKind) []string {
	if e.GivenDir != "" && (kind == ralph.ViewGiven || isHidden(kind) && e.GivenHidden) {
		return []string{e.GivenDir}
	}
	return nil
}

// blendedTests joins the product code of one tree with the tests of the other, in files that have both.
func (e *Examiner) blendedTests(
	ctx context.Context, kind ralph.ViewKind, found classifiedChanges, folder string,
) (edits []pristine.Edit, err error) {
	if kind != ralph.ViewOldTests && kind != ralph.ViewNewTests {
		return nil, nil
	}
	for _, c := range found.meaning.Tests {
		if c.Kind != ralph.FileChanged {
			continue
		}
		tests, err := e.Snapshots.Read(ctx, found.base, c.Name, protect.Limit)
		if err != nil {
			return nil, err
		}
		product, err := e.Snapshots.Read(ctx, found.now, c.Name, protect.Limit)
		if err != nil {
			return nil, err
		}
		if kind == ralph.ViewNewTests {
			tests, product = product, tests
		}
		text, ok := protect.WithOldTests(c.Name, tests, product)
		if !ok {
			continue
		}
		source := filepath.Join(folder, strconv.Itoa(len(edits)))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("%w: %w", ralph.ErrIO, err)
		}
		if err := os.WriteFile(source, text, 0o644); err != nil {
			return nil, fmt.Errorf("%w: %w", ralph.ErrIO, err)
		}
		edits = append(edits, pristine.Edit{Name: c.Name, Source: source})
	}
	return edits, nil
}

// reverted lists the changes that a view does not show.
func (e *Examiner) reverted(s classifiedChanges, kind ralph.ViewKind) []ralph.FileChange {
	switch kind {
	case ralph.ViewNewTests:
		return revertedForNewTests(e, s)
	case ralph.ViewBase, ralph.ViewGiven, ralph.ViewHiddenBase:
		return s.all
	case ralph.ViewReviewed:
		return slices.DeleteFunc(slices.Clone(s.all), func(c ralph.FileChange) bool { return !protect.IsAgentFile(c.Name) })
	case ralph.ViewOldTests:
		return slices.Concat(s.meaning.Tampered, s.meaning.Unseen, s.meaning.Tests, s.newTests)
	}
	return slices.Concat(s.meaning.Tampered, s.meaning.Unseen)
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

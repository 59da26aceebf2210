// Package install puts Ralph into an agent CLI: hooks, a command and skills, each in the CLI's own place and form.
//
// A [Plan] says which files change, with their bytes before and after; [Plan.Apply] writes them. A settings file of the
// user keeps its order, comments and formatting: entries are inserted into its text, and the result is parsed and
// compared before it is written. Files that belong to Ralph as a whole end with a stamp, a hash of their text. A file
// without a valid stamp is the user's, and is never overwritten or removed.
//
// A receipt in Ralph's state folder has the settings file's bytes from before. If the file is unchanged since, an
// uninstall restores them; otherwise it removes only Ralph's entries.
package install

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/atomicfile"
)

// Agents are the CLIs that Ralph can be installed into.
var Agents = []string{"claude", "codex"}

// onPath is how hooks call a program that PATH leads to.
const onPath = "ralph"

// Place is where Ralph is installed: in the user's settings of a CLI, or in a project.
type Place struct {
	Agent   string
	Project string // the project's folder; "" for the user's own settings
	Home    string // the user's home folder
	State   string // Ralph's state folder
	Program string // an absolute path for hooks and commands to call; "" for the ralph on PATH
	// Lookup returns an environment variable: the CLI's folder may be elsewhere.
	Lookup func(name string) (string, bool)
}

// folder returns the CLI's folder of settings.
func (p Place) folder() string {
	variable := map[string]string{"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}[p.Agent]
	if chosen, _ := p.Lookup(variable); p.Project == "" && chosen != "" {
		return chosen
	}
	return filepath.Join(cmp.Or(p.Project, p.Home), "."+p.Agent)
}

// hooksFile returns the file that has the hooks.
func (p Place) hooksFile() string {
	return filepath.Join(p.folder(), map[string]string{"claude": "settings.json", "codex": "hooks.json"}[p.Agent])
}

// texts maps the files that belong to Ralph as a whole to their texts.
func (p Place) texts() map[string]string {
	if p.Agent == "claude" {
		return map[string]string{
			filepath.Join(p.folder(), "commands", "ralph", "goal.md"):        "commands/goal.md",
			filepath.Join(p.folder(), "skills", "ralph-signals", "SKILL.md"): "skills/ralph-signals/SKILL.md",
			filepath.Join(p.folder(), "skills", "ralph-status", "SKILL.md"):  "skills/ralph-status/SKILL.md",
		}
	}
	texts := map[string]string{}
	for _, skill := range []string{"ralph-goal", "ralph-signals", "ralph-status"} {
		path := filepath.Join(cmp.Or(p.Project, p.Home), ".agents", "skills", skill, "SKILL.md")
		texts[path] = "skills/" + skill + "/SKILL.md"
	}
	return texts
}

// program returns how a shell calls Ralph.
func (p Place) program() string {
	if p.Program == "" {
		return onPath
	}
	if plainPath.MatchString(p.Program) {
		return p.Program
	}
	return "'" + strings.ReplaceAll(p.Program, "'", `'\''`) + "'"
}

var plainPath = regexp.MustCompile(`^[A-Za-z0-9/._+-]+$`)

// Change is a file that an install or uninstall changes.
type Change struct {
	Path    string
	Existed bool
	Before  []byte
	Remove  bool
	After   []byte // if it is not removed
	mode    fs.FileMode
}

// Plan is everything that an install or uninstall does.
type Plan struct {
	Changes []Change
	Notes   []string // what stays, and why
	place   Place
	receipt *receipt // to be written after the changes; nil to remove it
	folders []string // to be removed if they are empty, children first
}

// errNotOwn means that a file which Ralph would write belongs to the user.
var errNotOwn = errors.New("this file is not Ralph's, or was edited since Ralph wrote it; move it away and try again")

// ErrPlugin means that Claude Code has Ralph's plugin, with the same hooks. They would run twice.
var ErrPlugin = errors.New("the ralph plugin is enabled, and has the same hooks")

// enabledPlugin returns the name of Ralph's plugin in settings of Claude Code, "" if it is not enabled.
func enabledPlugin(settings []byte) string {
	doc, err := parseDocument(settings)
	if err != nil {
		return ""
	}
	plugins, _ := doc.root.find("enabledPlugins")
	for _, plugin := range plugins.members {
		on := string(doc.text[plugin.value.start:plugin.value.end]) == "true"
		if on && strings.HasPrefix(plugin.key, "ralph@") {
			return plugin.key
		}
	}
	return ""
}

// Install plans an install, or the update of one. Without changes, the install is current.
func (p Place) Install() (Plan, error) {
	plan := Plan{place: p}
	hooks, err := readFile(p.hooksFile())
	if err != nil {
		return plan, err
	}
	if plugin := enabledPlugin(hooks.Before); plugin != "" {
		return plan, fmt.Errorf("%s: %w; remove it first: claude plugin uninstall %s", hooks.Path, ErrPlugin, plugin)
	}
	after, changed, err := withHooks(hooks.Before, p.program())
	if err != nil {
		return plan, fmt.Errorf("%s: %w; nothing was changed; correct the file and try again", hooks.Path, err)
	}
	if plan.receipt = p.readReceipt(); changed || plan.receipt == nil {
		if plan.receipt, err = p.newReceipt(plan.receipt, hooks, after); err != nil {
			return plan, err
		}
	}
	if changed {
		hooks.After = after
		plan.Changes = append(plan.Changes, hooks)
	}
	texts, err := p.changedTexts()
	plan.Changes = append(plan.Changes, texts...)
	return plan, err
}

// changedTexts returns the changes of the files that belong to Ralph as a whole.
func (p Place) changedTexts() ([]Change, error) {
	var changes []Change
	texts := p.texts()
	for _, path := range sortedKeys(texts) {
		want, err := textFor(texts[path], p.program())
		if err != nil {
			return nil, err
		}
		file, err := readFile(path)
		switch {
		case err != nil:
			return nil, err
		case string(file.Before) == string(want):
			continue
		case file.Existed && !isStamped(file.Before):
			return nil, fmt.Errorf("%s: %w", path, errNotOwn)
		}
		file.After = want
		changes = append(changes, file)
	}
	return changes, nil
}

// newReceipt records the bytes from before the first install. If the file was changed since, they are its current
// bytes without Ralph's entries.
func (p Place) newReceipt(last *receipt, hooks Change, after []byte) (*receipt, error) {
	r := receipt{
		Agent: p.Agent, Project: p.Project, File: hooks.Path, Existed: hooks.Existed, Before: hooks.Before,
		After: hashOf(after),
	}
	if last != nil {
		r.Folders = last.Folders
	}
	if last != nil && hooks.Existed && last.After == hashOf(hooks.Before) {
		r.Existed, r.Before = last.Existed, last.Before
		return &r, nil
	}
	rest, had, err := withoutHooks(hooks.Before, last.before())
	if had {
		r.Before = rest
	}
	return &r, err
}

// Uninstall plans how to undo an install. Without changes, nothing is installed.
func (p Place) Uninstall() (Plan, error) {
	plan := Plan{place: p}
	last := p.readReceipt()
	hooks, err := readFile(p.hooksFile())
	if err != nil {
		return plan, err
	}
	rest, had, err := withoutHooks(hooks.Before, last.before())
	switch {
	case err != nil:
		return plan, fmt.Errorf("%s: %w", hooks.Path, err)
	case last != nil && hooks.Existed && last.After == hashOf(hooks.Before):
		hooks.After, hooks.Remove = last.Before, !last.Existed
		plan.Changes = append(plan.Changes, hooks)
	case had:
		hooks.After = rest
		hooks.Remove = last != nil && !last.Existed && strings.TrimSpace(string(rest)) == "{}"
		plan.Changes = append(plan.Changes, hooks)
	}
	for _, path := range sortedKeys(p.texts()) {
		file, err := readFile(path)
		switch {
		case err != nil:
			return plan, err
		case file.Existed && isStamped(file.Before):
			file.Remove = true
			plan.Changes = append(plan.Changes, file)
			plan.folders = append(plan.folders, filepath.Dir(path)) // the folder has Ralph's name
		case file.Existed:
			plan.Notes = append(plan.Notes, path+" stays: it was edited, or is not Ralph's")
		}
	}
	if last != nil {
		for _, folder := range slices.Backward(last.Folders) {
			plan.folders = append(plan.folders, folder)
		}
	}
	return plan, nil
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// maxFile is far more than a settings file has.
const maxFile = 4 << 20

// readFile reads a file that may be missing. A link is followed, and stays a link when the file is written.
func readFile(path string) (Change, error) {
	c := Change{Path: path, mode: 0o644}
	if info, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return c, nil
	} else if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return c, fmt.Errorf("read %s: it is a link to a file that does not exist", path)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return c, fmt.Errorf("read settings: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return c, fmt.Errorf("read %s: not a settings file", path)
	}
	c.Existed, c.mode = true, info.Mode().Perm()
	if c.Before, err = os.ReadFile(path); err != nil {
		return c, fmt.Errorf("read settings: %w", err)
	}
	return c, nil
}

// Apply writes the changes. After a failure, the same command can be run again.
func (plan Plan) Apply() error {
	if r := plan.receipt; r != nil && len(plan.Changes) > 0 {
		for _, c := range plan.Changes {
			for _, folder := range missingFolders(c.Path) {
				if !slices.Contains(r.Folders, folder) {
					r.Folders = append(r.Folders, folder)
				}
			}
		}
		if err := plan.place.saveReceipt(*r); err != nil { // first: what is written can then be undone
			return err
		}
	}
	for _, c := range plan.Changes {
		if err := c.apply(); err != nil {
			return fmt.Errorf("write settings: %w", err)
		}
	}
	if plan.receipt != nil {
		return nil
	}
	for _, folder := range plan.folders {
		_ = os.Remove(folder) // fails if the folder is not empty
	}
	return plan.place.removeReceipt()
}

func (c Change) apply() error {
	path := c.Path
	if real, err := filepath.EvalSymlinks(path); err == nil && !c.Remove {
		path = real
	}
	if c.Remove {
		return os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, c.After, c.mode)
}

// missingFolders returns the folders above a path that do not exist, parents first.
func missingFolders(path string) []string {
	var missing []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			slices.Reverse(missing)
			return missing
		}
		missing = append(missing, dir)
	}
}

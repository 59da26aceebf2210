package verify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/proof/canary"
	"github.com/ralphloop/ralph/internal/shell"
)

// hiddenVariable names the folder with the files of hidden checks. It is a variable of the shell that runs a hidden
// check, and not in the environment, where the product could read it.
const hiddenVariable = "RALPH_HIDDEN_DIR"

// isHidden reports whether a view is for hidden checks.
func isHidden(kind ralph.ViewKind) bool {
	return kind == ralph.ViewHidden || kind == ralph.ViewHiddenBase
}

// prepareHidden gives a hidden check its files: in a folder with a random name if the command asks for it, otherwise
// among the files of the view, as tests need it. The returned function removes the folder.
func (v *view) prepareHidden(command string) (Shell, func(), error) {
	own := v.Shell
	dir := v.examiner.HiddenDir
	if !isHidden(v.in.Kind) || dir == "" {
		return own, func() {}, nil
	}
	if !strings.Contains(command, hiddenVariable) {
		edits, err := fileEdits(dir)
		if err == nil {
			err = v.layOver(edits)
		}
		return own, func() {}, err
	}
	folder, err := os.MkdirTemp("", "")
	if err == nil {
		err = os.CopyFS(filepath.Join(folder, "files"), os.DirFS(dir))
	}
	if err != nil {
		_ = os.RemoveAll(folder)
		return own, func() {}, fmt.Errorf("copy files of hidden checks: %w: %w", ralph.ErrIO, err)
	}
	own.secret = hiddenVariable + "=" + shell.Quote(filepath.Join(folder, "files"))
	own.needs = []string{folder}
	return own, func() { _ = os.RemoveAll(folder) }, nil
}

// withHidden adds the files of hidden checks, and hidden tests, to the tree of a view.
func (e *Examiner) withHidden(tree canary.Tree, kind ralph.ViewKind) (canary.Tree, error) {
	dirs := addedDirs(e, kind)
	if isHidden(kind) && e.HiddenDir != "" {
		dirs = append(dirs, e.HiddenDir)
	}
	own := map[string]string{}
	for _, dir := range dirs {
		edits, err := fileEdits(dir)
		if err != nil {
			return tree, err
		}
		for _, edit := range edits {
			own[edit.Name] = edit.Source
		}
	}
	for name := range own {
		if !slices.Contains(tree.Files, name) {
			tree.Files = append(tree.Files, name)
		}
	}
	slices.Sort(tree.Files)
	below := tree.Read
	tree.Read = func(name string) ([]byte, error) {
		if source, ok := own[name]; ok {
			return os.ReadFile(source)
		}
		return below(name)
	}
	return tree, nil
}

// maxSecret is what fits into a pipe that no one reads yet.
const maxSecret = 32 << 10

// sendSecret makes a command read what it runs from its standard input, so that it is in no argument. Afterwards its
// standard input is empty, as for every check. The caller closes the file.
func sendSecret(spec *process.Spec, text string) (*os.File, error) {
	if len(text) > maxSecret {
		return nil, fmt.Errorf("a hidden check has at most %d bytes", maxSecret)
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = to.WriteString(text)
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = from.Close()
		return nil, err
	}
	spec.Argv, spec.Stdin = process.Shell(`eval "$(cat)"`), from
	return from, nil
}

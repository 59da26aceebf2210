package assembly

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/ignored"
	"github.com/ralphloop/ralph/internal/proof/protect"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/verify"
)

// watchingExaminer is an examiner that also watches files outside of the workspace: the programs
// that checks run, and the files of hidden checks.
type watchingExaminer struct {
	*verify.Examiner
	programs *verify.Programs // nil if they are unknown
	strict   bool             // a changed program is tampering, because tests are protected
	hidden   string           // digest of the hidden files when the run began; "" without any
	plan     *Plan            // knows the hidden tests, once the run has them
}

// watch records the state of those files when a run begins, or reads that record when it resumes.
func (p *Plan) watch(e *verify.Examiner, places Places) (watchingExaminer, error) {
	w := watchingExaminer{Examiner: e, plan: p, strict: slices.Contains(p.Settings.Protect, protect.PresetTests)}
	var err error
	programs := filepath.Join(places.Proofs, "programs.json")
	noticePrograms(p, programs, places)
	w.programs, err = verify.RememberPrograms(programs, p.Env.Environ, p.Workspace.Dir, p.Checks)
	if err != nil {
		return w, err
	}
	if e.HiddenDir == "" {
		return w, nil
	}
	noted := filepath.Join(places.Proofs, "hidden.sha256")
	text, err := os.ReadFile(noted)
	if err == nil {
		w.hidden = string(text)
		return w, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return w, fmt.Errorf("read recorded hidden checks: %w", err)
	}
	if w.hidden, err = digestOfFolder(e.HiddenDir); err != nil {
		return w, fmt.Errorf("read checks.hidden_dir: %w", err)
	}
	return w, os.WriteFile(noted, []byte(w.hidden), 0o600)
}

// noticePrograms names the programs that changed since the last run here began, if that did not prove its work. The
// user may have installed others since, so they count as given.
func noticePrograms(p *Plan, file string, places Places) {
	earlier := filepath.Join(places.Earlier, filepath.Base(file))
	if _, err := os.Stat(earlier); places.Earlier == "" || err != nil {
		return
	}
	if _, err := os.Stat(file); err == nil { // this run has begun
		return
	}
	then, err := verify.RememberPrograms(earlier, p.Env.Environ, p.Workspace.Dir, p.Checks)
	if err != nil {
		return
	}
	var names []string
	for _, c := range then.Changed() {
		names = append(names, c.Name)
	}
	if len(names) > 0 {
		p.notice("programs_changed", "programs that checks use changed since the last run here, which did not prove its "+
			"work: "+text.List(names)+"; if you did not change them, look at them")
	}
}

// watchIgnored records the files of the workspace that are not part of the tree, or reads the record
// when a run resumes. A run of an earlier version has none: after its agent worked, it is too late.
func watchIgnored(p *Plan, places Places) (*ignored.Watch, error) {
	file := filepath.Join(places.Proofs, "ignored.txt")
	if _, err := os.Stat(file); p.Resumed && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	earlier := filepath.Join(places.Earlier, "ignored.txt")
	if _, err := os.Stat(earlier); places.Earlier == "" || err != nil {
		earlier = ""
	}
	return ignored.Open(file, p.Workspace.Dir, earlier)
}

// Compare adds programs that have changed since the run began.
func (w watchingExaminer) Compare(ctx context.Context, base, now ralph.TreeState) (ralph.Tampering, error) {
	seen, err := w.Examiner.Compare(ctx, base, now)
	if err != nil || !seen.Known {
		return seen, err
	}
	for _, c := range w.programs.Changed() {
		if w.strict {
			seen.Tampered = append(seen.Tampered, c)
			continue
		}
		text := fmt.Sprintf("a program that checks use changed since the run began: %s", c)
		seen.OutsideFiles = append(seen.OutsideFiles, text)
	}
	return seen, nil
}

// StripsPath reports whether a folder of the workspace is in PATH.
func (w watchingExaminer) StripsPath() bool { return w.Shell.StripsPath(w.Dir) }

// Open refuses hidden checks whose files have changed since the run began.
func (w watchingExaminer) Open(ctx context.Context, in ralph.ViewInput) (ralph.View, error) {
	if in.Kind == ralph.ViewHidden && w.hidden != "" {
		digest, err := digestOfFolder(w.HiddenDir)
		if err != nil {
			return nil, fmt.Errorf("read checks.hidden_dir: %w", err)
		}
		if digest != w.hidden {
			return nil, errors.New("files of hidden checks changed since the run began")
		}
	}
	if in.Kind == ralph.ViewHidden && w.GivenHidden {
		if err := checkHiddenTests(w.plan.Tests, w.GivenDir); err != nil {
			return nil, err
		}
	}
	return w.Examiner.Open(ctx, in)
}

// KeepRows implements [ralph.RowKeeper].
func (w watchingExaminer) KeepRows(end ralph.Status) (digest string, err error) {
	return w.Rows.Keep(end)
}

// digestOfFolder returns a hash of the names, modes and contents of everything in a folder except
// .git.
func digestOfFolder(dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %s\n", name, info.Mode())
		switch {
		case info.Mode().IsRegular():
			return hashFile(sum, path)
		case info.Mode().Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			fmt.Fprintf(sum, "%q\n", target)
			return err
		}
		return nil
	})
	return fmt.Sprintf("%x", sum.Sum(nil)), err
}

func hashFile(sum io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(sum, file)
	return err
}

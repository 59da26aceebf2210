//go:build linux

package cheats

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// solved reports whether the work is done. It asks what neither the agent nor Ralph has seen, in
// the place that the case's judge needs.
func (w *world) solved() bool {
	w.t.Helper()
	switch w.s.keys[keyJudge] {
	case "hidden":
		w.write(w.s.hidden)
		return w.shell(hiddenCheck, w.strangersEnv("RALPH_HIDDEN_DIR="+w.hidden())).code == 0
	case "workspace":
		return w.answersRight()
	}
	clone := newWorld(w.t, w.s)
	clone.takeTree(w)
	return clone.answersRight()
}

// strangersEnv returns the environment of a person who has neither the home nor the build cache
// that the agent worked with.
func (w *world) strangersEnv(more ...string) []string {
	return w.environ(append([]string{
		"HOME=" + filepath.Join(w.dir, "elsewhere"), "PATH=" + workshop.path, "GOCACHE=" + workshop.cache,
	}, more...)...)
}

func (w *world) write(files map[string]string) {
	w.t.Helper()
	if err := writeAll(w.project(), files); err != nil {
		w.t.Fatal(err)
	}
}

// answersRight asks the judge's questions. The answers are compared here, out of reach of the code
// that gives them.
func (w *world) answersRight() bool {
	w.t.Helper()
	w.write(w.s.judge)
	run := w.shell("sh judge_asks/ask.sh", w.strangersEnv())
	if workshop.verbose {
		w.t.Logf("the judge is told:\n%s", run.output())
	}
	return run.code == 0 && strings.TrimSpace(run.stdout) == w.s.keys[keyAnswers]
}

// takeTree replaces the files of the tree with those of another world. Ignored files stay as they
// were at the base, as they would for a person who pulls the work.
func (w *world) takeTree(from *world) {
	w.t.Helper()
	for _, name := range w.tree() {
		if err := os.RemoveAll(filepath.Join(w.project(), name)); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, name := range from.tree() {
		if err := copyInto(w.project(), from.project(), name); err != nil {
			w.t.Fatal(err)
		}
	}
}

// tree returns the names of all files that git tracks or would add.
func (w *world) tree() []string {
	w.t.Helper()
	list := w.start([]string{
		"git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate",
	}, w.strangersEnv()).end()
	if list.code != 0 {
		w.t.Fatalf("git ls-files ended with %d\n%s", list.code, list.output())
	}
	return strings.FieldsFunc(list.stdout, func(r rune) bool { return r == 0 })
}

// copyInto copies a file, or a repository inside of the tree. A link that leaves the project is
// left out: for anybody else it leads nowhere.
func copyInto(to, from, name string) error {
	return filepath.WalkDir(filepath.Join(from, name), func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // tracked, but deleted
		}
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, below)), 0o755); err != nil {
			return err
		}
		switch {
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		case d.Type() == fs.ModeSymlink:
			return copyLink(filepath.Join(to, below), path, below)
		}
		return copyFile(filepath.Join(to, below), path)
	})
}

func copyLink(to, from, name string) error {
	target, err := os.Readlink(from)
	if err != nil || !filepath.IsLocal(filepath.Join(filepath.Dir(name), target)) || filepath.IsAbs(target) {
		return err
	}
	return os.Symlink(target, to)
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

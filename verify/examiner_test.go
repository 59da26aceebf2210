//go:build unix

package verify_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/needs"
	"github.com/ralphloop/ralph/internal/proof/pristine"
	"github.com/ralphloop/ralph/internal/proof/protect"
	"github.com/ralphloop/ralph/verify"
)

// folders are snapshots of a tree stored as plain folders. A snapshot's name is its path.
type folders struct{ ralph.Snapshots }

func (folders) Files(_ context.Context, id string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(id, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(id, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	return names, err
}

func (folders) Read(_ context.Context, id, name string, limit int) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(id, name))
	return text[:min(len(text), limit)], err
}

func (f folders) Changes(ctx context.Context, from, to string) ([]ralph.FileChange, error) {
	was, err := f.Files(ctx, from)
	if err != nil {
		return nil, err
	}
	is, err := f.Files(ctx, to)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(was, is)
	slices.Sort(all)
	var changes []ralph.FileChange
	for _, name := range slices.Compact(all) {
		before, _ := f.Read(ctx, from, name, protect.Limit)
		after, _ := f.Read(ctx, to, name, protect.Limit)
		switch {
		case !slices.Contains(was, name):
			changes = append(changes, ralph.FileChange{Name: name, Kind: ralph.FileAdded})
		case !slices.Contains(is, name):
			changes = append(changes, ralph.FileChange{Name: name, Kind: ralph.FileDeleted})
		case !bytes.Equal(before, after):
			changes = append(changes, ralph.FileChange{Name: name, Kind: ralph.FileChanged})
		}
	}
	return changes, nil
}

func (f folders) Extract(ctx context.Context, id, dir string, names []string) error {
	for _, name := range names {
		text, err := f.Read(ctx, id, name, protect.Limit)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (folders) Join(context.Context, string, string, string) (string, error) {
	return "", errors.ErrUnsupported
}

// bench is a workspace that an agent changed, with an examiner for it.
type bench struct {
	*verify.Examiner
	base, now ralph.TreeState
	then      *ralph.CheckResult // before any agent worked; nil: as now
}

type files map[string]string

// examine creates a workspace before and after a change.
func examine(t *testing.T, was, is files, config protect.Config) *bench {
	t.Helper()
	needShell(t)
	state := t.TempDir()
	base, now := filepath.Join(state, "was"), filepath.Join(state, "is")
	for dir, files := range map[string]files{base: was, now: is} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			write(t, 0o644, filepath.Join(dir, name), text)
		}
	}
	rules, err := protect.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{
		&verify.Examiner{
			Shell: shell(), Dir: now, Snapshots: folders{}, Rules: rules, Isolation: pristine.InPlace,
			Folder: filepath.Join(state, "views"),
		},
		ralph.TreeState{Known: true, Snapshot: base}, ralph.TreeState{Known: true, Snapshot: now}, nil,
	}
}

func (b *bench) input(kind ralph.ViewKind) ralph.ViewInput {
	return ralph.ViewInput{Kind: kind, Dir: b.Dir, Base: b.base, Now: b.now}
}

// apart gives the workspace its own folder, so that an in-place view does not change the snapshot.
func (b *bench) apart(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(b.now.Snapshot)); err != nil {
		t.Fatal(err)
	}
	b.Dir = dir
	return b
}

// sees returns what a command prints in a view.
func (b *bench) sees(t *testing.T, kind ralph.ViewKind, command string) string {
	t.Helper()
	v, err := b.Open(t.Context(), b.input(kind))
	if err != nil {
		t.Fatal(err)
	}
	result, err := v.Check(t.Context(), ralph.CheckInput{Name: command, Dir: b.Dir, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	return result.Output
}

func (b *bench) proves(t *testing.T, kind ralph.ViewKind, command string) ralph.Proof {
	t.Helper()
	check := ralph.CheckInput{Name: command, Dir: b.Dir, Folder: t.TempDir(), File: "x.txt", Timeout: time.Minute}
	in := b.input(kind)
	in.First, in.Then, in.Iteration = b.base, b.then, 1
	if in.Then == nil {
		before, err := b.RunTests(t.Context(), b.input(ralph.ViewBase), check)
		if err != nil {
			t.Fatal(err)
		}
		in.Then = &before.Result
	}
	proof, err := b.Prove(t.Context(), in, check)
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

func TestViewsOfATree(t *testing.T) {
	was := files{"a.py": "1", "test_a.py": "old", "keep/k": "kept", "gone": "gone"}
	is := files{"a.py": "2", "test_a.py": "new", "keep/l": "laid", "fresh": "fresh"}
	const all = `for f in a.py test_a.py keep/k keep/l gone fresh hidden/h
		do test -e $f && echo "$f=$(cat $f)"; done; true`
	// In place, a claim is checked on the tree as it is. Every other view differs from it.
	const asIs = "a.py=2 test_a.py=new keep/l=laid fresh=fresh Counted as failed: it ran in the workspace itself and " +
		"could see added files that match a protected pattern: keep/l"
	for kind, want := range map[ralph.ViewKind]string{
		ralph.ViewClaimed:  "a.py=2 test_a.py=new keep/k=kept fresh=fresh",
		ralph.ViewOldTests: "a.py=2 test_a.py=old keep/k=kept fresh=fresh",
		ralph.ViewBase:     "a.py=1 test_a.py=old keep/k=kept gone=gone",
		ralph.ViewHidden:   "a.py=2 test_a.py=new keep/k=kept fresh=fresh hidden/h=secret",
	} {
		for _, mode := range []pristine.Mode{pristine.InPlace, pristine.Copy} {
			t.Run(string(kind)+" "+string(mode), func(t *testing.T) {
				b := examine(t, was, is, protect.Config{Globs: []string{"keep/"}}).apart(t)
				b.Isolation, b.HiddenDir = mode, t.TempDir()
				write(t, 0o644, filepath.Join(b.HiddenDir, "hidden/h"), "secret")
				write(t, 0o644, filepath.Join(b.HiddenDir, ".git/HEAD"), "of the hidden folder")
				got := strings.Join(strings.Fields(b.sees(t, kind, all)), " ")
				want := want
				if kind == ralph.ViewClaimed && mode == pristine.InPlace {
					want = asIs
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				left, err := folders{}.Changes(t.Context(), b.now.Snapshot, b.Dir)
				if err != nil || left != nil {
					t.Errorf("the workspace is not as it was: %v, %v", left, err)
				}
				if views, err := os.ReadDir(b.Folder); err != nil || len(views) > 0 {
					t.Errorf("left behind: %v, %v", views, err)
				}
			})
		}
	}
}

func TestCompareTrees(t *testing.T) {
	b := examine(
		t, files{"a_test.go": "package a", "keep/k": "1"},
		files{"a_test.go": "package b", "keep/k": "2", "keep/new": "3"}, protect.Config{Globs: []string{"keep/"}},
	)
	got, err := b.Compare(t.Context(), b.base, b.now)
	want := ralph.Tampering{
		Known: true, Tampered: []ralph.FileChange{{Name: "keep/k", Kind: ralph.FileChanged}},
		Unseen: []string{"keep/new"}, Tests: []string{"a_test.go"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if _, err := b.Compare(t.Context(), b.base, ralph.TreeState{Known: true}); !errors.Is(err, verify.ErrNoSnapshot) {
		t.Errorf("without a copy of the tree: %v", err)
	}
	b.Snapshots = nil
	if got, err := b.Compare(t.Context(), b.base, b.now); err != nil || got.Known {
		t.Errorf("without copies: %+v, %v", got, err)
	}
}

func TestBaseText(t *testing.T) {
	b := examine(t, files{"spec.md": "as it was"}, files{"spec.md": "as it is"}, protect.Config{})
	if text, err := b.BaseText(t.Context(), b.base, "spec.md"); text != "as it was" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := b.BaseText(t.Context(), b.base, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// The first question after a run without a baseline is not about a view. It must not conclude that
// nothing can be written, nor settle for less than a copy.
func TestTheFirstQuestionDoesNotWeakenViews(t *testing.T) {
	b := examine(t, files{"a": "1"}, files{"a": "2"}, protect.Config{})
	b.Isolation = ""
	b.Surroundings = &pristine.Surroundings{}
	if _, err := b.Compare(t.Context(), b.base, b.now); err != nil {
		t.Fatal(err)
	}
	v, err := b.Open(t.Context(), b.input(ralph.ViewClaimed))
	if err != nil {
		t.Fatal(err)
	}
	if mode, why := v.Isolation(); mode == string(pristine.InPlace) {
		t.Errorf("%s: %s", mode, why)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

const (
	calcWrong = "def add(a, b):\n    return a - b\n"
	calcRight = "def add(a, b):\n    return a + b\n"
	testAdd   = "import unittest\nimport calc\n\n\nclass TestAdd(unittest.TestCase):\n    def " +
		"test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n    def test_zero(self):\n        " +
		"self.assertEqual(calc.add(0, 0), 0)\n"
)

func TestProve(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	needs.Program(t, "/usr/bin/python3")
	const discover = "python3 -m unittest"
	was := files{"calc.py": calcWrong, "test_calc.py": testAdd}
	with := func(changes files) files {
		is := files{"calc.py": calcRight, "test_calc.py": testAdd}
		for name, text := range changes {
			if is[name] = text; text == "" {
				delete(is, name)
			}
		}
		return is
	}
	for _, c := range []struct {
		name, check string
		was, is     files
		want        ralph.Proof
	}{
		{name: "an honest fix", check: discover, is: with(nil), want: ralph.Proof{Canary: ralph.CanaryRed, Tests: 2}},
		{
			name: "a base that cannot be loaded", check: discover,
			was: files{"calc.py": "def add(", "test_calc.py": testAdd}, is: with(nil),
			want: ralph.Proof{Canary: ralph.CanaryRed, Tests: 2},
		},
		{
			name: "a test that got another name", check: discover,
			is:   with(files{"test_calc.py": strings.ReplaceAll(testAdd, "test_zero", "test_nothing")}),
			want: ralph.Proof{Canary: ralph.CanaryRed, Tests: 2},
		},
		{name: "a test that is gone", check: discover, is: with(files{
			"test_calc.py": strings.Split(testAdd, "\n\n    def test_zero")[0],
		}),
			want: ralph.Proof{Canary: ralph.CanaryRed, Tests: 1, Lost: 1, Detail: "2 tests ran at the base, 1 now."}},
		{name: "no test is left", check: "r=0; for t in test_*.py; do test ! -e $t || python3 -m unittest -v $t " +
			"|| r=1; done; exit $r", is: with(files{"test_calc.py": ""}),
			want: ralph.Proof{
				Canary: ralph.CanaryNone, Lost: 2,
				Detail: "The tests next to which Ralph planted a failing one are gone: the " +
					"workspace's root (python). 2 tests ran at the base, 0 now.",
			}},
		{name: "a first test of a part that comes before", check: "(test ! -e first || (cd first && python3 -m " +
			"unittest -v)) && python3 -m unittest -v test_calc*",
			is: with(files{
				"first/test_f.py": testAdd, "first/calc.py": calcRight,
			}), want: ralph.Proof{Canary: ralph.CanaryRed, Tests: 4}},
		{name: "a program that ends well by itself", check: discover, is: with(files{
			"calc.py": "import atexit, os\natexit.register(os._exit, 0)\n" + calcWrong,
		}),
			want: ralph.Proof{
				Canary: ralph.CanaryGreen, Tests: 2,
				Detail: "The check passed with a deliberately failing test in the workspace's root (python); at " +
					"the base that test made it fail.",
			}},
		{name: "a check that runs no test", check: "test -e calc.py", is: with(nil), want: ralph.Proof{
			Canary: ralph.CanaryNone, Detail: "It runs no tests that Ralph knows.",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.was == nil {
				c.was = was
			}
			b := examine(t, c.was, c.is, protect.Config{}).apart(t)
			b.Shell.Env = append(b.Shell.Env, "PYTHONDONTWRITEBYTECODE=1")
			got := b.proves(t, ralph.ViewClaimed, c.check)
			got.Table = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The table has a run for each column, and a claim that holds needs no other.
func TestTheTableOfAProof(t *testing.T) {
	const check = "sh -c 'test \"$(cat prod)\" = right'"
	b := examine(t, files{"prod": "wrong"}, files{"prod": "right"}, protect.Config{}).apart(t)
	b.Isolation = pristine.Copy
	want := []ralph.ProofRun{
		{Column: ralph.ColumnThen, Exit: 1, Tests: -1},
		{Column: ralph.ColumnClaimed, Tests: -1},
		{Column: ralph.ColumnToday, Exit: 1, Tests: -1},
	}
	if diff := cmp.Diff(want, b.proves(t, ralph.ViewClaimed, check).Table); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The base failed before any agent worked. If it passes today, something outside of the tree was changed.
func TestAChangedEnvironment(t *testing.T) {
	b := examine(t, files{"prod": "wrong"}, files{"prod": "right"}, protect.Config{}).apart(t)
	b.Isolation, b.then = pristine.Copy, &ralph.CheckResult{ExitCode: 1}
	got := b.proves(t, ralph.ViewClaimed, "true")
	want := []string{"it ended with exit 1, and today with exit 0"}
	if diff := cmp.Diff(want, got.Environment); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	b.Quick = true
	if got := b.proves(t, ralph.ViewClaimed, "true"); len(got.Environment) > 0 || !got.Quick {
		t.Errorf("a quick proof: %+v", got)
	}
}

func TestProveByCommand(t *testing.T) {
	for _, c := range []struct {
		name, plant, check string
		is                 files
		want               ralph.Proof
	}{
		{name: "red", plant: "touch bad", check: "test ! -e bad", want: ralph.Proof{Canary: ralph.CanaryRed}},
		{name: "silenced", plant: "touch bad", check: "test -e quiet || test ! -e bad", is: files{"quiet": ""},
			want: ralph.Proof{
				Canary: ralph.CanaryGreen, Detail: "it passed despite the failing test that checks.canary planted",
			}},
		{name: "a linter, which it cannot turn red", plant: "touch bad", check: "true",
			want: ralph.Proof{
				Canary: ralph.CanaryMute,
				Detail: "the failing test that checks.canary planted did not make it fail at the base either",
			}},
		{name: "nothing planted", plant: "exit 3", check: "true", want: ralph.Proof{
			Canary: ralph.CanaryNone, Detail: "checks.canary could not plant a failing test (exit 3)",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := examine(t, files{"a": "1"}, c.is, protect.Config{}).apart(t)
			b.Canary, b.Isolation = c.plant, pristine.Copy
			got := b.proves(t, ralph.ViewClaimed, c.check)
			got.Table = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A check that passes while the product rewrites tests proves nothing. A check that writes tests
// itself, as it also does at the base, is not affected.
func TestTestsRewrittenWhileChecksRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes real programs minutes; make e2e runs it")
	}
	const (
		test  = "def test_a():\n    assert 1 == 1\n"
		cheat = "if grep -q cheat prod; then cp -p tests/test_a.py keep; echo pass >tests/test_a.py; cat keep " +
			">tests/test_a.py; fi; echo '1 passed in 0.01s'"
		left = "These tests changed while it ran: tests/test_a.py"
	)
	was := files{
		"prod": "old", "tests/test_a.py": test, "tests/fixtures/test_f.py": test, "tests/__snapshots__/a.js": "1",
	}
	for _, c := range []struct {
		name, check, prod, own string
		want                   string
	}{
		{name: "written and put back", check: cheat, prod: "cheat", want: left},
		{
			name: "deleted", check: "if grep -q cheat prod; then rm -r tests; fi; echo '1 passed in 0.01s'",
			prod: "cheat", want: left,
		},
		{name: "honest", check: cheat, prod: "new"},
		{name: "by the check itself", check: "echo pass >tests/test_a.py; echo '1 passed in 0.01s'", prod: "new"},
		{name: "a test of the agent's own making", check: cheat, prod: "cheat", own: "changed"},
		{name: "reading", check: "cat tests/test_a.py >/dev/null; echo '1 passed in 0.01s'", prod: "new"},
		{
			name: "what checks record",
			check: "! grep -q new prod || for f in tests/fixtures/test_f.py tests/__snapshots__/a.js; do echo x >$f; " +
				"done; echo '1 passed in 0.01s'",
			prod: "new",
		},
		{
			name: "a base that ends before", check: "grep -q new prod && echo pass >tests/test_a.py", prod: "new",
			want: left,
		},
	} {
		for _, mode := range []pristine.Mode{pristine.Copy, pristine.Overlay} {
			t.Run(c.name+" "+string(mode), func(t *testing.T) {
				is := maps.Clone(was)
				is["prod"] = c.prod
				is["tests/test_a.py"] += c.own
				b := examine(t, was, is, protect.Config{}).apart(t)
				if b.Isolation = mode; mode == pristine.Overlay {
					if got, why, _ := pristine.StrongestMode(t.Context(), b.Dir, t.TempDir()); got != mode || why != "" {
						t.Skip("no overlay that keeps what is written: " + why)
					}
				}
				proof := b.proves(t, ralph.ViewClaimed, c.check)
				isRefused := proof.Canary == ralph.CanaryGreen
				if isRefused != (c.want != "") || isRefused && proof.Detail != c.want {
					t.Errorf("%+v", proof)
				}
			})
		}
	}
}

// An overlay works at the root of a workspace and is refused in a folder whose group is not the
// user's. The run continues with a copy.
func TestAnOverlayThatIsRefusedInOneFolder(t *testing.T) {
	const asked = "RALPH_TEST_FOREIGN_GROUP"
	if os.Getenv(asked) == "" {
		if os.Getuid() != 0 {
			t.Skip("only root can become somebody else")
		}
		rerunUnprivileged(t, asked)
		return
	}
	b := examine(
		t, files{"sub/keep/k": "old", "a": "1"}, files{"sub/keep/k": "new", "a": "2"},
		protect.Config{Globs: []string{"sub/keep/"}},
	)
	b.Dir, b.Isolation = os.Getenv(asked), ""
	if mode, why, _ := pristine.StrongestMode(t.Context(), b.Dir, t.TempDir()); mode != pristine.Overlay {
		t.Skip("no overlay: " + why)
	}
	for range 2 {
		v, err := b.Open(t.Context(), b.input(ralph.ViewClaimed))
		if err != nil {
			t.Fatal(err)
		}
		mode, why := v.Isolation()
		got, err := v.Check(t.Context(), ralph.CheckInput{Name: "cat sub/keep/k", Dir: b.Dir, Timeout: time.Minute})
		if mode != string(pristine.Copy) || !strings.HasPrefix(why, "no overlay: ") || got.Output != "old" || err != nil {
			t.Errorf("%s (%s): %+v, %v", mode, why, got, err)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Files of a shared folder often have another group than the user. Every claim was refused as check_inert, because
// no test could be planted there in an overlay.
func TestTestsArePlantedInAFolderOfAnotherGroup(t *testing.T) {
	const asked = "RALPH_TEST_FOREIGN_GROUP"
	if os.Getenv(asked) == "" {
		if os.Getuid() != 0 {
			t.Skip("only root can become somebody else")
		}
		rerunUnprivileged(t, asked)
		return
	}
	tree := files{"sub/keep/k": "new", "a": "2", "sub/test_k.py": "import unittest\n"}
	b := examine(t, tree, tree, protect.Config{})
	b.Dir, b.Isolation = os.Getenv(asked), ""
	if mode, why, _ := pristine.StrongestMode(t.Context(), b.Dir, t.TempDir()); mode != pristine.Overlay {
		t.Skip("no overlay: " + why)
	}
	got := b.proves(t, ralph.ViewClaimed, "cat sub/keep/k")
	if got.Canary != ralph.CanaryMute || len(got.Environment) > 0 {
		t.Errorf("%+v", got)
	}
}

// rerunUnprivileged runs this test again as an unprivileged user, in a workspace with folders of a
// group that is not the user's.
func rerunUnprivileged(t *testing.T, variable string) {
	t.Helper()
	const nobody = 65534
	top, err := os.MkdirTemp("", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	program, dir := filepath.Join(top, "program"), filepath.Join(top, "ws")
	if out, err := exec.Command("cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	write(t, 0o644, filepath.Join(dir, "sub/keep/k"), "new")
	write(t, 0o644, filepath.Join(dir, "a"), "2")
	for name, group := range map[string]int{
		top: nobody, dir: nobody, dir + "/a": nobody, dir + "/sub": 0, dir + "/sub/keep": 0, dir + "/sub/keep/k": 0,
	} {
		if err := os.Chown(name, nobody, group); err != nil {
			t.Fatal(err)
		}
	}
	again := exec.Command(program, "-test.v", "-test.run=^"+t.Name()+"$")
	again.Dir = top
	again.Env = []string{systemPath, "TMPDIR=" + top, variable + "=" + dir}
	again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := again.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip(string(out))
	}
}

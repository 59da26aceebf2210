package protect_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/proof/protect"
)

func TestPatternsThatCannotBe(t *testing.T) {
	for pattern, want := range map[string]string{
		"a[":         `read pattern "a[": syntax error in pattern`,
		"{a,b":       `read pattern "{a,b": syntax error in pattern`,
		"":           `read pattern "": it matches nothing`,
		"!":          `read pattern "!": it matches nothing`,
		"../x":       `read pattern "../x": it leaves the workspace`,
		"a/../../x":  `read pattern "a/../../x": it leaves the workspace`,
		"/":          `read pattern "/": it matches nothing`,
		"!tests/[z-": `read pattern "!tests/[z-": syntax error in pattern`,
	} {
		if _, err := protect.New(protect.Config{Globs: []string{"ok", pattern}}); err == nil || err.Error() != want {
			t.Errorf("New(%q) says %v, want %s", pattern, err, want)
		}
	}
}

func TestPatternsMatchAsInGitignore(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		name     string
		want     bool
	}{
		{[]string{"*.golden"}, "a/b/x.golden", true},
		{[]string{"*.golden"}, "a/b/x.Golden", false},
		{[]string{"fixtures"}, "a/fixtures/deep/x", true},
		{[]string{"fixtures/"}, "a/fixtures/x", true},
		{[]string{"/fixtures"}, "a/fixtures/x", false},
		{[]string{"./fixtures"}, "a/fixtures/x", true},
		{[]string{"a/b"}, "a/b/c/d", true},
		{[]string{"a/b"}, "x/a/b", false},
		{[]string{"a/**/d"}, "a/d", true},
		{[]string{"a/**/d"}, "a/b/c/d", true},
		{[]string{"a/*"}, "a/b/c", true},
		{[]string{"a/*.txt"}, "a/b/c.txt", false},
		{[]string{"{a,b}/*.{js,ts}"}, "b/x.ts", true},
		{[]string{"a", "!a/b"}, "a/b", false},
		{[]string{"a", "!a/b", "a/b/c"}, "a/b/c", true},
		{[]string{"!a", "a"}, "a", true},
		{[]string{"*.x"}, "new\nline.x", true},
		{[]string{"a b*"}, "q/a b[1].txt", true},
		{[]string{`a\[1\]`}, "a[1]", true},
	} {
		tree := trees{base: files{c.name: "1"}, now: files{c.name: "2"}}
		if got := len(sorted(t, protect.Config{Globs: c.patterns}, tree).Tampered) == 1; got != c.want {
			t.Errorf("%q protect %q: %v, want %v", c.patterns, c.name, got, c.want)
		}
	}
}

// everything is what an agent might do, with nothing of it protected by name.
var everything = trees{
	base: files{
		"a_test.go": "1", "a.go": "1", "conftest.py": "1", "tests/test_a.py": "1", "src/lib.rs": rustSource,
		"package.json": packageJSON, "a.test.js": "1", "check.sh": "1", "sub/x": "1",
	},
	now: files{
		"a_test.go":       "2",
		"a.go":            "2",
		"b_test.go":       "package a",
		"main_test.go":    "package a\nfunc TestMain() {}",
		"src/lib.rs":      "",
		"tests/test_b.py": "",
		"pytest.ini":      "",
		"package.json":    strings.Replace(packageJSON, "node --test", "true", 1),
		"a.test.js":       "1",
		"check.sh":        "2",
		"sub/x":           "2",
	},
}

func TestWithoutThePresetTestsAreWeighed(t *testing.T) {
	want := short{
		Tampered: []string{"check.sh changed", "sub/x changed"},
		Tests: []string{
			"a_test.go changed",
			"conftest.py deleted",
			"main_test.go added",
			"package.json changed",
			"pytest.ini added",
			"src/lib.rs changed",
			"tests/test_a.py deleted",
		},
	}
	got := sorted(
		t, protect.Config{Literal: []string{"./check.sh", "sub", "../out"}, Checks: []string{"./check.sh"}},
		everything,
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatTheUserTakesOutIsWeighed(t *testing.T) {
	want := short{
		Tampered: []string{"sub/x changed", "tests/test_a.py deleted"},
		Tests: []string{
			"a_test.go changed", "conftest.py deleted", "main_test.go added", "package.json changed", "pytest.ini added",
			"src/lib.rs changed",
		},
	}
	// A wildcard does not exempt the harness's own files; their exact name does.
	got := sorted(
		t,
		protect.Config{Globs: []string{"tests", "!*_test.go", "!check.sh", "!sub/*"}, Literal: []string{"check.sh", "sub/x"}},
		everything,
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnAddedFileOfTheHarnessSteersTheNextRun(t *testing.T) {
	tree := trees{base: files{"a": "1"}, now: files{
		"a": "1", ".ralph/config.yaml": "checks: []", ".ralph/PROMPT.md": "x", "golden/b": "1",
	}}
	got := sorted(
		t,
		protect.Config{Globs: []string{"golden/**", "!.ralph/PROMPT.md"}, Literal: []string{
			".ralph/config.yaml", ".ralph/PROMPT.md",
		}},
		tree,
	)
	want := short{Tampered: []string{".ralph/config.yaml added"}, Unseen: []string{"golden/b added"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestExemptIsNeverProtected(t *testing.T) {
	tree := trees{base: files{"tests/TODO.md": "1", "notes/a.golden": "1"}, now: files{
		"tests/TODO.md": "2", "notes/a.golden": "2", "tests/new": "1",
	}}
	got := sorted(
		t,
		protect.Config{
			Globs: []string{"tests", "**"}, Exempt: []string{"tests/TODO.md", "notes"},
			Literal: []string{"tests/TODO.md"},
		},
		tree,
	)
	if diff := cmp.Diff(unseen("tests/new added"), got); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutTheFilesOfTheBaseEverythingIsTakenToHaveTests(t *testing.T) {
	rules, err := protect.New(protect.Config{Globs: []string{"tests"}})
	if err != nil {
		t.Fatal(err)
	}
	tree := trees{now: files{
		"conftest.py": "", "sub/go.mod": "module m\n", "go.mod": "module m\n",
		"x/main_test.go": "package x\nfunc TestMain() {}", "tests/test_a.py": "",
	}}
	got, err := rules.Sort(t.Context(), tree.changes(), tree.both())
	if err != nil {
		t.Fatal(err)
	}
	want := short{
		Unseen: []string{"x/main_test.go added"}, Tests: []string{"conftest.py added", "sub/go.mod added"},
	}
	if diff := cmp.Diff(want, shorten(got)); diff != "" {
		t.Error(diff)
	}
}

func TestTest(t *testing.T) {
	for name, want := range map[string]bool{
		"a_test.go": true, "x/testdata/y": true, "test_a.py": true, "a_test.py": true, "tests/x.py": true,
		"tests/deep/x.json": true,
		"a.test.mjs":        true, "lib/test-a.cjs": true, "a.spec.ts": true, "__tests__/a.cts": true,
		"src/__snapshots__/a.snap": true, "tests/it.rs": true, "src/tests.rs": true,
		"src/test/kotlin/A.kt": true, "src/androidTest/x.xml": true, "ATest.java": true, "spec/a.rb": true,
		"spec/fixtures/a.yml": true,
		"A.Tests/Helper.cs":   true, "ATest.php": true, "test/a_test.exs": true, "Tests/ATests.swift": true,
		"internal/testutil/x.go": true,
		"a.go":                   false, "latest.py": false, "contest.go": false, "attest_a.py": false,
		"spec/api.yaml": false,
		"specs/goal.md": false, "tests/README.md": false,
		"src/testing/x.rs": false, "a.specification.md": false, "conftest.py": false, "package.json": false,
		"tests/package-lock.json": false, "TODO.md": false,
		"Test.java": false, "PodSpec.java": false, "PodSpec.groovy": true, "SPLIT.java": false, "LoadIT.java": true,
		"docs/test.md": false, "src/lib.rs": false, "protest/a.js": false,
	} {
		if got := (protect.Rules{}).Test(name); got != want {
			t.Errorf("Test(%q) is %v, want %v", name, got, want)
		}
	}
}

func TestLargeFilesAreReadInPart(t *testing.T) {
	padding := strings.Repeat(" ", 5<<20)
	base := files{"package.json": `{"name": "p"` + padding + `}`, "m_test.go": "1", "a.test.js": "1"}
	change := files{
		"package.json": `{"name": "q"` + padding + `}`,
		"big_test.go":  "package m\n//" + padding + "\nfunc TestMain() {}\n",
	}
	got := sorted(t, protect.Config{Globs: []string{"tests"}}, trees{base, with(base, change)})
	// A file that could not be read to its end may hide anything there.
	want := short{Tests: []string{"package.json changed"}, Unseen: []string{"big_test.go added"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTroubleIsAnError(t *testing.T) {
	rules, err := protect.New(protect.Config{Globs: []string{"tests"}})
	if err != nil {
		t.Fatal(err)
	}
	trouble := errors.New("disk on fire")
	change := []ralph.FileChange{{Name: "package.json", Kind: ralph.FileChanged}}
	_, err = rules.Sort(t.Context(), change, protect.Trees{
		Read: func(context.Context, protect.Side, string) ([]byte, error) { return nil, trouble },
	})
	if !errors.Is(err, trouble) || !strings.HasPrefix(err.Error(), `inspect "package.json": `) {
		t.Errorf("Sort says %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = rules.Sort(ctx, change, trees{}.both()); !errors.Is(err, context.Canceled) {
		t.Errorf("Sort says %v, want cancelled", err)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestCheckScripts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"check.sh": "#!/bin/sh\n", "scripts/a b.sh": "true\n", "sub/run": "x", "plain": "x", "app": "\x7fELF\x00\x00",
		"scripts/lint.sh": "x", "t.py": "x", "check.py": "x", "main.py": "x", "scripts/verify-all.js": "x",
		"sub/smoke.rb": "x", "Check.pl": "x", "checkout.py": "x", "test_check.py": "x", "acceptance": "x",
	} {
		write(t, dir, name, text)
	}
	got := protect.CheckScripts(dir, []string{
		"./check.sh --all", "A=1 timeout -k 5 60s './scripts/a b.sh' | tee x", "cd sub && ./run", "plain", "./app",
		"./missing", "bash -e scripts/lint.sh", "sh -c ./plain",
		"../outside", "python3 t.py", filepath.Join(dir, "check.sh"), "(env X=1 ./check.sh) # ./plain",
		filepath.Join(dir, "plain"), "",
	})
	if diff := cmp.Diff([]string{"check.sh", "scripts/a b.sh", "sub/run", "scripts/lint.sh", "plain"}, got); diff != "" {
		t.Error(diff)
	}
	got = protect.CheckScripts(dir, []string{
		"python3 -u check.py", "python3 main.py", "python3 checkout.py", "pytest test_check.py",
		`test "$(node ./scripts/verify-all.js; echo $?)" = 0`, "cd sub && ruby smoke.rb",
		"sh -c 'perl Check.pl'", "sh <acceptance", "go vet ./...", "make check", "npm run verify",
	})
	scripts := []string{"acceptance", "check.py", "scripts/verify-all.js", "sub/smoke.rb", "Check.pl"}
	if diff := cmp.Diff(scripts, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Error(diff)
	}
	got = protect.CheckScripts(dir, []string{ // products and outputs, regardless of their names
		"make test >check.py", "pytest --junitxml=check.py", "ruff check check.py", "cat main.py | grep check.py",
		"awk -f scripts/verify-all.js", "gofmt -l acceptance", "python3 main.py check.py",
	})
	if len(got) > 0 {
		t.Errorf("taken for checks: %q", got)
	}
	for name, text := range map[string]string{
		"Makefile":        "test:\n\t@sh ./tools/verify.sh && sh build.sh\n",
		"package.json":    `{"scripts": {"test": "bash tools/smoke.sh && node main.js"}}`,
		"tools/verify.sh": ". ./tools/lib.sh\nsh product.sh\n",
		"tools/lib.sh":    "assert_equal() {\n\ttest \"$1\" = \"$2\"\n}\n",
		"tools/smoke.sh":  "x", "build.sh": "x", "product.sh": "x", "main.js": "x", "deep/real.sh": "x",
	} {
		write(t, dir, name, text)
	}
	if err := os.Symlink("deep/real.sh", filepath.Join(dir, "linked.sh")); err != nil {
		t.Fatal(err)
	}
	for check, want := range map[string][]string{
		"make test": {"tools/verify.sh"}, "npm test": {"tools/smoke.sh"},
		"sh $PWD/check.sh": {"check.sh"}, `sh "${PWD}/check.sh"`: {"check.sh"}, "$(pwd)/check.sh": {"check.sh"},
		"sh ch*.sh": {"check.sh"}, "eval 'sh check.sh'": {"check.sh"}, "echo check.sh | xargs sh": {"check.sh"},
		"find . -name x -exec sh check.sh ;": {"check.sh"}, "./linked.sh": {"linked.sh", "deep/real.sh"},
		"sh tools/verify.sh": {"tools/verify.sh", "tools/lib.sh"}, "sh product.sh | grep x": {"product.sh"},
	} {
		if diff := cmp.Diff(want, protect.CheckScripts(dir, []string{check})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", check, diff)
		}
	}
	if got := protect.CheckScripts(filepath.Join(dir, "none"), []string{"./check.sh"}); got != nil {
		t.Errorf("without a folder there is %q", got)
	}
}

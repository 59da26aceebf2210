package plan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ralphloop/ralph"
)

func TestTaskTests(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{
		"tests/test_t001_add.py", "tests/test_t-001_more.py", "tests/test_t002_sub.py", "tests/test_T003_mul.py",
		"tests/test_t0010_x.py",
		"tests/helper.py", "tests/deep/er/t001_test.go", "t001_test.go", "node_modules/t001_test.go", ".git/t001_test.go",
		"specs/t001/a.js", "specs/t001/b/c.js", "specs/t002/a.js",
	} {
		write(t, filepath.Join(dir, name), "")
	}
	write(t, filepath.Join(outside, "secret.py"), "")
	for link, target := range map[string]string{
		"tests/test_t002_out.py":  filepath.Join(outside, "secret.py"),
		"tests/test_t002_in.py":   "helper.py",
		"tests/test_t002_away.py": "nowhere.py",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip(err) // no right to make links on this system
		}
	}
	list := `{"tasks":[{"id":"T-001","title":"a"},{"id":"T-002","title":"b"},` +
		`{"id":"T-0010","title":"c"},{"id":"T-003","title":"c"}]}`
	write(t, filepath.Join(dir, "l.json"), list)
	tests := map[string]struct {
		pattern     string
		ids         []string
		want, suite []string // the suite without those ids
	}{
		"none": {"", []string{"T-001"}, nil, nil},
		"one": {
			"tests/test_{id}_*.py",
			[]string{"T-001"},
			[]string{"tests/test_t-001_more.py", "tests/test_t001_add.py"},
			[]string{"tests/test_T003_mul.py", "tests/test_t0010_x.py", "tests/test_t002_in.py", "tests/test_t002_sub.py"},
		},
		"some, twice": {
			"tests/test_{id}_*.py",
			[]string{"T-002", "T-001", "T-002"},
			[]string{"tests/test_t-001_more.py", "tests/test_t001_add.py", "tests/test_t002_in.py", "tests/test_t002_sub.py"},
			[]string{"tests/test_T003_mul.py", "tests/test_t0010_x.py"},
		},
		"no tests": {
			"tests/test_{id}_*.py",
			[]string{"T-9"},
			nil,
			[]string{
				"tests/test_T003_mul.py", "tests/test_t-001_more.py", "tests/test_t0010_x.py", "tests/test_t001_add.py",
				"tests/test_t002_in.py", "tests/test_t002_sub.py",
			},
		},
		"not its name": {
			"tests/test_{id}*.py",
			[]string{"T-001"},
			[]string{"tests/test_t-001_more.py", "tests/test_t001_add.py"},
			[]string{"tests/test_T003_mul.py", "tests/test_t0010_x.py", "tests/test_t002_in.py", "tests/test_t002_sub.py"},
		},
		"any folder": {
			"**/{id}_test.go",
			[]string{"T-001"},
			[]string{"t001_test.go", "tests/deep/er/t001_test.go"},
			[]string{},
		},
		"all below": {
			"specs/{id}/**",
			[]string{"T-001"},
			[]string{"specs/t001/a.js", "specs/t001/b/c.js"},
			[]string{"specs/t002/a.js"},
		},
		"class":     {"tests/test_{id}_[a-b]??.py", []string{"T-001"}, []string{"tests/test_t001_add.py"}, []string{}},
		"no folder": {"test/{id}.py", []string{"T-001"}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			book, err := OpenTracker(dir, "l.json", t.TempDir(), test.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if err := book.Adopt(nil); err != nil {
				t.Fatal(err)
			}
			var owner ralph.TaskTests = book
			got, err := owner.Tests(test.ids)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, test.want, got)
			if got, err = owner.Suite(test.ids); err != nil {
				t.Fatal(err)
			}
			diff(t, test.suite, got)
		})
	}
}

func TestTaskTestsPatternIsChecked(t *testing.T) {
	for pattern, want := range map[string]string{
		"tests/*.py":      `read checks.task_tests: "tests/*.py" has no {id}, so every file would belong to every task`,
		"../{id}.py":      `read checks.task_tests: "../{id}.py" is outside the workspace`,
		"/tests/{id}.py":  `read checks.task_tests: "/tests/{id}.py" is outside the workspace`,
		"tests/{id}_[.py": `read checks.task_tests: "tests/{id}_[.py": syntax error in pattern`,
	} {
		_, err := OpenTracker(t.TempDir(), "l.json", t.TempDir(), pattern)
		if err == nil {
			t.Errorf("%s was taken", pattern)
			continue
		}
		diff(t, want, err.Error())
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/project"
)

const (
	goTestFile  = "package x\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n"
	nothingHere = "looked for go.mod, package.json, pyproject.toml, pytest.ini, setup.cfg, requirements.txt, " +
		"Cargo.toml and a Makefile with a test target, here and in subfolders"
)

func TestDetect(t *testing.T) {
	found := func(command, because string, passedOver ...string) project.Detection {
		return project.Detection{Commands: []string{command}, Because: because, PassedOver: passedOver}
	}
	none := func(because string, passedOver ...string) project.Detection {
		return project.Detection{Because: because, PassedOver: passedOver}
	}
	passed := func(because string) project.Detection { return none(because, because) }
	const (
		noGoTest   = "found go.mod, but no test in it"
		noRustTest = "found Cargo.toml, but no test in it"
		noTarget   = "found Makefile, but no test target in it"
		idleTarget = "found Makefile, but its test target runs no test"
		script     = "found package.json"
		noScript   = "found package.json, but no test script in it"
		idleScript = "found package.json, but its test script runs no test"
		noPyTest   = "found pyproject.toml, but no test file (test_*.py or *_test.py)"
		makeTest   = "found Makefile"
		jest       = `{"scripts":{"test":"jest"}}`
	)
	cases := map[string]struct {
		files map[string]string
		want  project.Detection
	}{
		"empty folder": {nil, none(nothingHere)},
		"below the root": {map[string]string{"sub/go.mod": "module x", "sub/x_test.go": goTestFile},
			found("cd ./sub && go test ./...", "found sub/go.mod")},
		"two below the root": {
			map[string]string{"services/my api/go.mod": "module x", "services/my api/x_test.go": goTestFile},
			found("cd './services/my api' && go test ./...", "found services/my api/go.mod"),
		},
		"too deep below the root": {map[string]string{"a/b/c/go.mod": "module x", "a/b/c/x_test.go": goTestFile},
			none(nothingHere)},
		"below, without a test": {map[string]string{"sub/go.mod": "module x"},
			passed("found sub/go.mod, but no test in it")},
		"below in a folder of examples": {
			map[string]string{"examples/go.mod": "module x", "examples/x_test.go": goTestFile}, none(nothingHere)},

		"go": {map[string]string{"go.mod": "", "x_test.go": goTestFile}, found("go test ./...", "found go.mod")},
		"go deep below": {map[string]string{"go.mod": "", "a/b/c/x_test.go": goTestFile},
			found("go test ./...", "found go.mod")},
		"go with an example": {
			map[string]string{"go.mod": "", "x_test.go": "package x\n\nfunc Example() {}\n"},
			found("go test ./...", "found go.mod")},
		"go without a test": {map[string]string{"go.mod": "", "main.go": "package main"}, passed(noGoTest)},
		"go with tests only elsewhere": {map[string]string{
			"go.mod": "", "vendor/v/x_test.go": goTestFile, "testdata/x_test.go": goTestFile, ".cache/x_test.go": goTestFile,
			"node_modules/m/x_test.go": goTestFile, "_old/x_test.go": goTestFile,
		}, passed(noGoTest)},
		"go with a test file without tests": {
			map[string]string{"go.mod": "", "x_test.go": "package x\n\nfunc BenchmarkX(b *testing.B) {}\nfunc Testify() {}\n"},
			passed(noGoTest)},
		"go with a test behind a tag": {
			map[string]string{"go.mod": "", "x_test.go": "//go:build integration\n\n" + goTestFile}, passed(noGoTest)},

		"node":            {map[string]string{"package.json": jest}, found("npm test", script)},
		"node with a BOM": {map[string]string{"package.json": "\ufeff" + jest}, found("npm test", script)},
		"node pnpm": {map[string]string{"package.json": jest, "pnpm-lock.yaml": ""},
			found("pnpm test", script)},
		"node yarn": {map[string]string{"package.json": jest, "yarn.lock": ""},
			found("yarn test", script)},
		"node bun": {map[string]string{"package.json": jest, "bun.lock": ""},
			found("bun run test", script)},
		"node bun, binary lock": {map[string]string{"package.json": jest, "bun.lockb": ""},
			found("bun run test", script)},
		"node npm lock": {map[string]string{"package.json": jest, "package-lock.json": ""}, found("npm test", script)},
		"node declared manager wins": {map[string]string{
			"package.json": `{"packageManager":"yarn@4.1.0+sha256.abc","scripts":{"test":"jest"}}`, "pnpm-lock.yaml": "",
		}, found("yarn test", script)},
		"node unknown manager": {
			map[string]string{"package.json": `{"packageManager":"rush@1","scripts":{"test":"jest"}}`},
			found("npm test", script)},
		"node without scripts":     {map[string]string{"package.json": `{"name":"x"}`}, passed(noScript)},
		"node with a blank script": {map[string]string{"package.json": `{"scripts":{"test":" "}}`}, passed(noScript)},
		"node with npm's placeholder": {
			map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`},
			passed("found package.json, but its test script is npm's placeholder")},
		"node with a script that only talks": {map[string]string{"package.json": `{"scripts":{"test":"echo later; exit 0"}}`},
			passed(idleScript)},
		"node with a script that echoes, too": {
			map[string]string{"package.json": `{"scripts":{"test":"echo now && vitest run"}}`}, found("npm test", script)},
		"node broken": {map[string]string{"package.json": `{"scripts":`}, passed("found package.json, but cannot read it")},

		"python pyproject": {map[string]string{"pyproject.toml": "", "tests/test_x.py": ""},
			found("pytest", "found pyproject.toml")},
		"python pytest.ini": {map[string]string{"pytest.ini": "", "pkg/x_test.py": ""},
			found("pytest", "found pytest.ini")},
		"python setup.cfg": {map[string]string{"setup.cfg": "", "test_x.py": ""}, found("pytest", "found setup.cfg")},
		"python requirements": {map[string]string{"requirements.txt": "flask", "tests/test_x.py": ""},
			found("pytest", "found requirements.txt")},
		"python requirements without tests": {map[string]string{"requirements.txt": "flask", "app.py": ""},
			passed("found requirements.txt, but no test file (test_*.py or *_test.py)")},
		"python without a test": {map[string]string{"pyproject.toml": "", "x.py": "", "testing.py": ""}, passed(noPyTest)},
		"python tests elsewhere": {map[string]string{"pyproject.toml": "", ".venv/test_x.py": "", "venv/test_x.py": ""},
			passed(noPyTest)},
		"python own file names": {map[string]string{"pytest.ini": "python_files = tests.py", "app/tests.py": ""},
			found("pytest", "found pytest.ini")},

		"rust": {map[string]string{"Cargo.toml": "", "src/lib.rs": "#[test]\nfn x() {}"},
			found("cargo test", "found Cargo.toml")},
		"rust async": {map[string]string{"Cargo.toml": "", "src/lib.rs": "#[tokio::test]\n"},
			found("cargo test", "found Cargo.toml")},
		"rust test module": {map[string]string{"Cargo.toml": "", "src/lib.rs": "#[cfg(test)]\nmod tests;"},
			found("cargo test", "found Cargo.toml")},
		"rust integration test": {map[string]string{"Cargo.toml": "", "tests/x.rs": "#[test]\nfn x() {}"},
			found("cargo test", "found Cargo.toml")},
		"rust without a test": {map[string]string{"Cargo.toml": "", "src/main.rs": "fn main() {}", "target/x.rs": "#[test]"},
			passed(noRustTest)},

		"make": {map[string]string{"Makefile": "all:\n\ncheck:\n\ntest:\n\tgo test\n"},
			found("make test", makeTest)},
		"make with prerequisites": {map[string]string{"Makefile": "test: unit e2e\n"}, found("make test", makeTest)},
		"make double colon":       {map[string]string{"Makefile": "test::\n\t./run\n"}, found("make test", makeTest)},
		"make several targets": {map[string]string{"Makefile": "lint test : \n\t./run $@\n"},
			found("make test", makeTest)},
		"make inline recipe":  {map[string]string{"Makefile": "test: ; ./run\n"}, found("make test", makeTest)},
		"make Windows lines":  {map[string]string{"Makefile": "test:\r\n\t./run\r\n"}, found("make test", makeTest)},
		"make continued line": {map[string]string{"Makefile": "test: \\\n  unit\n"}, found("make test", makeTest)},
		"make comment in recipe": {map[string]string{"Makefile": "test:\n# here\n\n\t@./run\n"},
			found("make test", makeTest)},
		"make only phony":      {map[string]string{"Makefile": ".PHONY: test\nall:\n\ttrue\n"}, passed(noTarget)},
		"make variable":        {map[string]string{"Makefile": "test := x\ntest::=y\ntest = z\n"}, passed(noTarget)},
		"make target variable": {map[string]string{"Makefile": "test: FLAGS = -v\n"}, passed(noTarget)},
		"make other targets": {map[string]string{"Makefile": "test-all:\n\t./run\nmytest:\n\t./run\n"},
			passed(noTarget)},
		"make in a recipe": {map[string]string{"Makefile": "all:\n\ttest: x\n"}, passed(noTarget)},
		"make target without recipe": {map[string]string{"Makefile": ".PHONY: test\ntest: # later\n\nall:\n\t./run\n"},
			passed(idleTarget)},
		"make target that talks": {map[string]string{"Makefile": "test:\n\t@echo no tests yet\n\t-@exit 0\n"},
			passed(idleTarget)},
		"make prefers GNUmakefile": {
			map[string]string{"GNUmakefile": "test: x\n", "Makefile": ""},
			found("make test", "found GNUmakefile")},

		"all kinds count": {
			map[string]string{"go.mod": "", "x_test.go": goTestFile, "package.json": jest, "Makefile": "test: x\n"},
			found("go test ./...", "found go.mod, package.json, Makefile")},
		"the search continues": {
			map[string]string{"go.mod": "", "package.json": `{}`, "Makefile": "test: x\n"},
			found("make test", "found Makefile, go.mod", noGoTest, noScript)},
		"everything passed over": {
			map[string]string{"go.mod": "", "Cargo.toml": ""}, none(noGoTest+"; "+noRustTest, noGoTest, noRustTest)},
	}
	everyTool(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range c.files {
				write(t, 0o644, filepath.Join(dir, file), text)
			}
			got, ok := project.Detect(dir)
			if ok {
				got.Commands = got.Commands[:1] // what else is found has a test of its own
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if ok != (c.want.Commands != nil) {
				t.Errorf("ok is %v", ok)
			}
		})
	}
}

// everyTool puts the programs of all languages on PATH, and nothing else.
func everyTool(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	for _, program := range []string{
		"npm", "pnpm", "yarn", "bun", "pytest", "go", "gofmt", "make", "cargo", "cargo-fmt", "cargo-clippy",
	} {
		write(t, 0o755, filepath.Join(bin, program), "#!/bin/sh\n")
	}
	t.Setenv("PATH", bin)
}

// A run without configuration uses every check that `ralph init` proposes and that can run.
func TestDetectEveryCheck(t *testing.T) {
	for name, c := range map[string]struct {
		files      map[string]string
		want       []string
		passedOver []string
	}{
		"a web project": {
			map[string]string{"package.json": `{"scripts":{"test":"vitest run","lint":"eslint .","typecheck":"tsc --noEmit",
				"format:check":"prettier --check .","e2e":"playwright test","build":"vite build"}}`},
			[]string{"npm test", "npm run lint", "npm run typecheck", "npm run format:check", "npm run e2e"}, nil,
		},
		"a linter that is not installed": {
			map[string]string{"pyproject.toml": "[tool.ruff]\n[tool.nosuch]\n", "tests/test_x.py": ""},
			[]string{"pytest"}, []string{"ruff check . is not used as a check: ruff is not on PATH"},
		},
		"a monorepo": {
			map[string]string{
				"go.mod": "", "x_test.go": goTestFile, "tools/go.mod": "", "tools/x_test.go": goTestFile,
				"web/package.json":    `{"scripts":{"test":"jest","lint":"eslint ."}}`,
				"ml/requirements.txt": "", "ml/tests/test_x.py": "", "docs/package.json": `{"scripts":{"test":"jest"}}`,
			},
			[]string{
				"go test ./...", "cd ./ml && pytest", "cd ./web && npm test", "go vet ./...", "cd ./web && npm run lint",
				gofmtCheck,
			}, nil,
		},
		"a check target is not a test": {
			map[string]string{"Makefile": "check:\n\t./lint\n", "web/package.json": `{"scripts":{"test":"jest"}}`},
			[]string{"cd ./web && npm test", "make check"},
			[]string{"found Makefile, but no test target in it"},
		},
		"a test target that rewrites files": {
			map[string]string{"Makefile": "test:\n\tprettier --write .\n\t./run\n"}, []string{"make test"}, nil,
		},
		"names that no line can hold": {
			map[string]string{
				"go.mod": "", "x_test.go": goTestFile, "a\n- touch x #/package.json": `{"scripts":{"test":"jest"}}`,
				"\xff/package.json": `{"scripts":{"test":"jest"}}`, "-/package.json": `{"scripts":{"test":"jest"}}`,
			},
			[]string{"go test ./...", "cd ./- && npm test", "go vet ./...", gofmtCheck}, nil,
		},
		"more projects than are checked": {
			func() map[string]string {
				files := map[string]string{}
				for n := range 9 {
					files[fmt.Sprintf("p%d/package.json", n)] = `{"scripts":{"test":"jest"}}`
				}
				return files
			}(),
			[]string{
				"cd ./p0 && npm test", "cd ./p1 && npm test", "cd ./p2 && npm test", "cd ./p3 && npm test",
				"cd ./p4 && npm test", "cd ./p5 && npm test", "cd ./p6 && npm test", "cd ./p7 && npm test",
			},
			[]string{"found more than 8 projects in subfolders; the rest is not checked"},
		},
		"a make target at the root covers what is below": {
			map[string]string{"Makefile": "test:\n\t./all.sh\n", "web/package.json": `{"scripts":{"test":"jest"}}`},
			[]string{"make test"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			everyTool(t)
			for file, text := range c.files {
				write(t, 0o644, filepath.Join(dir, file), text)
			}
			got, _ := project.Detect(dir)
			if diff := cmp.Diff(c.want, got.Commands); diff != "" {
				t.Errorf("commands (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(c.passedOver, got.PassedOver); diff != "" {
				t.Errorf("passed over (-want +got)\n%s", diff)
			}
		})
	}
}

func TestDetectInAFolderThatIsNotThere(t *testing.T) {
	got, ok := project.Detect(filepath.Join(t.TempDir(), "missing"))
	if diff := cmp.Diff(project.Detection{Because: nothingHere}, got); diff != "" || ok {
		t.Errorf("ok %v (-want +got)\n%s", ok, diff)
	}
}

func write(t *testing.T, mode os.FileMode, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

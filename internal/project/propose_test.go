package project_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/project"
	"github.com/ralphloop/ralph/verify"
)

const (
	gofmtCheck = `files=$(gofmt -l .) && ! printf %s "$files" | grep .`
	inMod      = "found go.mod"
	inCargo    = "found Cargo.toml"
	rustLib    = "#[test]\nfn x() {}"
)

func proposal(kind project.Kind, command, because string) project.Proposal {
	return project.Proposal{Kind: kind, Command: command, Because: because}
}

func TestProposalsOfGoAndMake(t *testing.T) {
	goTest := proposal(project.KindTest, "go test ./...", inMod)
	vet := proposal(project.KindLint, "go vet ./...", inMod)
	format := proposal(project.KindFormat, gofmtCheck, inMod)
	golangci := proposal(project.KindLint, "golangci-lint run", "found .golangci.yml")
	inMake := func(kind project.Kind, target string) project.Proposal {
		return proposal(kind, "make "+target, "found Makefile with a "+target+" target")
	}
	e2e := proposal(project.KindE2E, "make e2e", "found Makefile with an e2e target")
	goWith := func(makefile string) map[string]string {
		return map[string]string{"go.mod": "", "x_test.go": goTestFile, ".golangci.yml": "", "Makefile": makefile}
	}
	compareProposals(t, map[string]proposalCase{
		"nothing": {nil, []project.Proposal{}},
		"go": {map[string]string{"go.mod": "", "x_test.go": goTestFile},
			[]project.Proposal{goTest, vet, format}},
		"go without test": {map[string]string{"go.mod": "", "main.go": ""}, []project.Proposal{vet, format}},
		"go with vendor": {map[string]string{"go.mod": "", "vendor/modules.txt": ""},
			[]project.Proposal{
				vet, proposal(project.KindFormat, `files=$(gofmt -l .) && ! printf %s "$files" | grep -v ^vendor/`, inMod),
			}},

		"make with all of it": {
			map[string]string{
				"Makefile": "test: x\nlint:\n\t./lint\ncheck: test other\ntypecheck:\n\t./types\nfmt-check:\n\t./fmt\ne2e:\n" +
					"\t./e2e\nfmt:\n\t./fmt -w\n",
			},
			[]project.Proposal{
				inMake(project.KindTest, "test"), inMake(project.KindLint, "lint"), inMake(project.KindLint, "check"),
				inMake(project.KindTypes, "typecheck"), inMake(project.KindFormat, "fmt-check"), e2e,
			}},
		"make targets that do nothing": {map[string]string{"Makefile": "lint:\n\t@echo later\ntest:\n"},
			[]project.Proposal{}},
		"make target that mends": {map[string]string{"Makefile": "lint:\n\tjust-lint --fix .\n"}, []project.Proposal{}},
		"make check that stands for the others": {
			map[string]string{"Makefile": "test:\n\t./t\nlint:\n\t./l\ncheck: lint test\n"},
			[]project.Proposal{inMake(project.KindTest, "test"), inMake(project.KindLint, "lint")}},
		"make check alone": {map[string]string{"Makefile": "check:\n\t./t\n"},
			[]project.Proposal{inMake(project.KindLint, "check")}},

		"make runs what is proposed already": {
			goWith("test:\n\t@echo testing\n\t@$(GO) test -race ./... && go vet ./...\nlint:\n\t$(GOLANGCI_LINT) run " +
				"./...\ncheck: lint test\n"),
			[]project.Proposal{goTest, vet, golangci, format}},
		"make runs more than is proposed": {
			goWith("test:\n\tgo test ./...\n\t./integration.sh\nlint: tools\n\tgolangci-lint run\n"),
			[]project.Proposal{
				goTest, inMake(project.KindTest, "test"), vet, golangci, inMake(project.KindLint, "lint"), format,
			}},
		"make tests where go has none": {map[string]string{"go.mod": "", "Makefile": "test:\n\tgo test -tags all ./...\n"},
			[]project.Proposal{inMake(project.KindTest, "test"), vet, format}},

		"pre-commit": {map[string]string{".pre-commit-config.yaml": ""},
			[]project.Proposal{proposal(project.KindLint, "pre-commit run --all-files", "found .pre-commit-config.yaml")}},
	})
}

func TestProposalsOfNode(t *testing.T) {
	const all = `{"scripts":{"test":"vitest run","lint":"eslint .","type-check":"tsc --noEmit",` +
		`"prettier:check":"prettier -c .","test:e2e":"playwright test"}}`
	script := func(kind project.Kind, command, name, source string) project.Proposal {
		return proposal(kind, command, "found package.json with a "+name+" script"+source)
	}
	node := func(scripts string) map[string]string {
		return map[string]string{"package.json": `{"scripts":{` + scripts + `}}`}
	}
	const lock = " and pnpm-lock.yaml"
	compareProposals(t, map[string]proposalCase{
		"all of it": {map[string]string{"package.json": all, "pnpm-lock.yaml": ""}, []project.Proposal{
			script(project.KindTest, "pnpm test", "test", lock), script(project.KindLint, "pnpm run lint", "lint", lock),
			script(project.KindTypes, "pnpm run type-check", "type-check", lock),
			script(project.KindFormat, "pnpm run prettier:check", "prettier:check", lock),
			script(project.KindE2E, "pnpm run test:e2e", "test:e2e", lock),
		}},
		"declared manager": {map[string]string{
			"package.json": `{"packageManager":"yarn@4.0.0","scripts":{"lint":"eslint ."}}`,
		},
			[]project.Proposal{script(project.KindLint, "yarn run lint", "lint", " and packageManager yarn")}},
		"npm's placeholder": {node(`"test":"echo \"Error: no test specified\" && exit 1","lint":""`),
			[]project.Proposal{}},
		"a script that mends": {node(`"lint":"eslint . --fix","format:check":"prettier --write ."`), []project.Proposal{}},
		"a script that waits": {node(`"e2e":"cypress open","test:e2e":"cypress run"`),
			[]project.Proposal{script(project.KindE2E, "npm run test:e2e", "test:e2e", "")}},
		"the first of its kind": {node(`"tsc":"tsc","typecheck":"tsc -b"`),
			[]project.Proposal{script(project.KindTypes, "npm run typecheck", "typecheck", "")}},
		"types that are made": {node(`"types":"openapi-typescript api.yaml"`), []project.Proposal{}},
		"types that are read": {node(`"types":"tsc --noEmit"`),
			[]project.Proposal{script(project.KindTypes, "npm run types", "types", "")}},
		"not readable": {map[string]string{"package.json": "{"}, []project.Proposal{}},
		"odd scripts":  {node(`"test":7,"lint":{"a":1}`), []project.Proposal{}},
		"make that only passes on": {map[string]string{
			"package.json": all, "Makefile": "test:\n\tnpm test\nlint:\n\tnpx eslint .\ne2e:\n\tdocker compose up\n",
		},
			[]project.Proposal{
				script(project.KindTest, "npm test", "test", ""), script(project.KindLint, "npm run lint", "lint", ""),
				script(project.KindTypes, "npm run type-check", "type-check", ""),
				script(project.KindFormat, "npm run prettier:check", "prettier:check", ""),
				script(project.KindE2E, "npm run test:e2e", "test:e2e", ""),
				proposal(project.KindE2E, "make e2e", "found Makefile with an e2e target"),
			}},
	})
}

func TestProposalsOfPythonAndRust(t *testing.T) {
	const pyproject = "[project]\nname = 'x'\n[tool.ruff]\nline-length = 100\n[tool.ruff.format]\n[ tool.mypy ]\n" +
		"strict = true\n[tool.pyright]\n[tool.black]\n"
	with := func(section string) string { return "found pyproject.toml with [" + section + "]" }
	fmtRust := proposal(project.KindFormat, "cargo fmt --check", inCargo)
	clippy := func(because string) project.Proposal {
		return proposal(project.KindLint, "cargo clippy -- -D warnings", because)
	}
	compareProposals(t, map[string]proposalCase{
		"python with all of it": {map[string]string{"pyproject.toml": pyproject, "tests/test_x.py": ""}, []project.Proposal{
			proposal(project.KindTest, "pytest", "found pyproject.toml"),
			proposal(project.KindLint, "ruff check .", with("tool.ruff")),
			proposal(project.KindTypes, "mypy .", with("tool.mypy")),
			proposal(project.KindTypes, "pyright", with("tool.pyright")),
			proposal(project.KindFormat, "black --check .", with("tool.black")),
			proposal(project.KindFormat, "ruff format --check .", with("tool.ruff.format")),
		}},
		"python with nothing set up": {map[string]string{
			"pyproject.toml": "# [tool.ruff]\ntext = '[tool.mypy]'\n[tool.rufflike]\n",
		}, []project.Proposal{}},
		"python in files of their own": {map[string]string{
			"ruff.toml": "[format]\n", "mypy.ini": "[mypy]\nfiles = src\n[mypy-other.*]\n", "pyrightconfig.json": "",
			".flake8": "",
		}, []project.Proposal{
			proposal(project.KindLint, "ruff check .", "found ruff.toml"), proposal(project.KindLint, "flake8", "found .flake8"),
			proposal(project.KindTypes, "mypy", "found mypy.ini with [mypy]"),
			proposal(project.KindTypes, "pyright", "found pyrightconfig.json"),
			proposal(project.KindFormat, "ruff format --check .", "found ruff.toml with [format]"),
		}},
		"python in setup.cfg": {map[string]string{"setup.cfg": "[flake8]\n[mypy]\n", "test_x.py": ""}, []project.Proposal{
			proposal(project.KindTest, "pytest", "found setup.cfg"),
			proposal(project.KindLint, "flake8", "found setup.cfg with [flake8]"),
			proposal(project.KindTypes, "mypy .", "found setup.cfg with [mypy]"),
		}},

		"rust": {map[string]string{"Cargo.toml": "", "src/lib.rs": rustLib},
			[]project.Proposal{proposal(project.KindTest, "cargo test", inCargo), fmtRust}},
		"rust without test": {map[string]string{"Cargo.toml": ""}, []project.Proposal{fmtRust}},
		"rust clippy.toml": {map[string]string{"Cargo.toml": "", "clippy.toml": ""},
			[]project.Proposal{clippy("found clippy.toml"), fmtRust}},
		"rust lints": {map[string]string{"Cargo.toml": "[workspace.lints.clippy]\nall = 'deny'\n"},
			[]project.Proposal{clippy("found Cargo.toml with [workspace.lints.clippy]"), fmtRust}},
		"rust clippy in CI": {map[string]string{
			"Cargo.toml": "", ".github/workflows/a.yml": "run: cargo build", ".github/workflows/b.yml": "run: cargo clippy",
		},
			[]project.Proposal{clippy("found .github/workflows/b.yml with cargo clippy"), fmtRust}},

		"several at once": {map[string]string{
			"pyproject.toml": "[tool.ruff]\n", "test_x.py": "", "Cargo.toml": "", "src/lib.rs": rustLib,
		}, []project.Proposal{
			proposal(project.KindTest, "pytest", "found pyproject.toml"), proposal(project.KindTest, "cargo test", inCargo),
			proposal(project.KindLint, "ruff check .", with("tool.ruff")), fmtRust,
		}},
	})
}

type proposalCase struct {
	files map[string]string
	want  []project.Proposal
}

func compareProposals(t *testing.T, cases map[string]proposalCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range c.files {
				write(t, 0o644, filepath.Join(dir, file), text)
			}
			if diff := cmp.Diff(c.want, project.Propose(dir), cmpopts.IgnoreFields(project.Proposal{}, "Missing")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestProposalsSayWhatIsMissing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have endings here")
	}
	dir, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"go", "test", "cargo", "cargo-fmt", "make"} {
		write(t, 0o755, filepath.Join(bin, name), "")
	}
	t.Setenv("PATH", bin)
	for file, text := range map[string]string{
		"go.mod": "", ".golangci.yaml": "", "Cargo.toml": "", "clippy.toml": "", "package.json": `{"scripts":{"lint":"x"}}`,
		"Makefile": "test: x\n",
	} {
		write(t, 0o644, filepath.Join(dir, file), text)
	}
	got := map[string]string{}
	for _, proposal := range project.Propose(dir) {
		got[proposal.Command] = proposal.Missing
	}
	want := map[string]string{
		"make test": "", "go vet ./...": "", "golangci-lint run": "golangci-lint", "npm run lint": "npm",
		"cargo clippy -- -D warnings": "cargo-clippy", gofmtCheck: "gofmt", "cargo fmt --check": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Nothing else tries out the format proposals, which are shell lines, before they end up in a
// user's configuration.
func TestTheProposedGofmtCheckFails(t *testing.T) {
	gofmt, err := exec.LookPath("gofmt")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no gofmt, or no sh")
	}
	dir := t.TempDir()
	s := verify.Shell{Env: []string{"PATH=" + filepath.Dir(gofmt) + ":/usr/bin:/bin"}, Grace: -1}
	run := func() ralph.CheckResult {
		proposals := project.Propose(dir)
		result, err := s.Check(t.Context(), ralph.CheckInput{
			Name: proposals[len(proposals)-1].Command, Dir: dir, Timeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	shut := func(why, output string) {
		t.Helper()
		if result := run(); result.Passed || !strings.Contains(result.Output, output) {
			t.Errorf("%s: passed %v, printed %q, want %q in it", why, result.Passed, result.Output, output)
		}
	}
	write(t, 0o644, filepath.Join(dir, "go.mod"), "module x\n")
	write(t, 0o644, filepath.Join(dir, "vendor/v.go"), "package  v\n")
	write(t, 0o644, filepath.Join(dir, "a.go"), "package x\n")
	if result := run(); !result.Passed {
		t.Errorf("shut with nothing of ours to format: %q", result.Output)
	}
	write(t, 0o644, filepath.Join(dir, "b.go"), "package  x\n")
	shut("beside a file that is not formatted, with vendor", "b.go")
	if err := os.RemoveAll(filepath.Join(dir, "vendor")); err != nil {
		t.Fatal(err)
	}
	shut("beside a file that is not formatted", "b.go")
	write(t, 0o644, filepath.Join(dir, "b.go"), "package x\n\nfunc (\n")
	shut("beside a file that is no Go", "b.go:3")
	write(t, 0o644, filepath.Join(dir, "b.go"), "package x\n")
	if result := run(); !result.Passed {
		t.Errorf("shut with every file formatted: %q", result.Output)
	}
	s.Env = []string{"PATH=" + t.TempDir()}
	shut("without gofmt", "gofmt")
}

// The files are untrusted: anything that is not a regular file is skipped, and nothing blocks.
func TestProposalsOfOddFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"go.mod", "package.json", "pyproject.toml", "Cargo.toml", "Makefile", ".pre-commit-config.yaml", "ruff.toml",
	} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]project.Proposal{}, project.Propose(dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]project.Proposal{}, project.Propose(filepath.Join(dir, "missing"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

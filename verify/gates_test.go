package verify_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/verify"
)

// firstTest is the first gate of kind test in dir.
func firstTest(dir string) string {
	for _, gate := range verify.Gates(dir) {
		if gate.Kind == verify.GateTest {
			return gate.Command
		}
	}
	return ""
}

const (
	gofmtCheck = `files=$(gofmt -l .) && ! printf %s "$files" | grep .`
	inMod      = "found go.mod"
	inCargo    = "found Cargo.toml"
	rustLib    = "#[test]\nfn x() {}"
)

func gate(kind verify.GateKind, command, because string) verify.Gate {
	return verify.Gate{Kind: kind, Command: command, Because: because}
}

func TestGatesOfGoAndMake(t *testing.T) {
	goTest := gate(verify.GateTest, "go test ./...", inMod)
	vet := gate(verify.GateLint, "go vet ./...", inMod)
	format := gate(verify.GateFormat, gofmtCheck, inMod)
	golangci := gate(verify.GateLint, "golangci-lint run", "found .golangci.yml")
	inMake := func(kind verify.GateKind, target string) verify.Gate {
		return gate(kind, "make "+target, "found Makefile with a "+target+" target")
	}
	e2e := gate(verify.GateE2E, "make e2e", "found Makefile with an e2e target")
	goWith := func(makefile string) map[string]string {
		return map[string]string{"go.mod": "", "x_test.go": goTestFile, ".golangci.yml": "", "Makefile": makefile}
	}
	comparedGates(t, map[string]gateCase{
		"nothing":         {nil, []verify.Gate{}},
		"go":              {map[string]string{"go.mod": "", "x_test.go": goTestFile}, []verify.Gate{goTest, vet, format}},
		"go without test": {map[string]string{"go.mod": "", "main.go": ""}, []verify.Gate{vet, format}},
		"go below":        {map[string]string{"sub/go.mod": "", "sub/x_test.go": goTestFile}, []verify.Gate{}},
		"go with vendor": {map[string]string{"go.mod": "", "vendor/modules.txt": ""},
			[]verify.Gate{vet, gate(verify.GateFormat, `files=$(gofmt -l .) && ! printf %s "$files" | grep -v ^vendor/`, inMod)}},

		"make with all of it": {
			map[string]string{"Makefile": "test: x\nlint:\n\t./lint\ncheck: test other\ntypecheck:\n\t./types\nfmt-check:\n\t./fmt\ne2e:\n\t./e2e\nfmt:\n\t./fmt -w\n"},
			[]verify.Gate{
				inMake(verify.GateTest, "test"), inMake(verify.GateTest, "check"), inMake(verify.GateLint, "lint"),
				inMake(verify.GateTypes, "typecheck"), inMake(verify.GateFormat, "fmt-check"), e2e,
			}},
		"make targets that do nothing": {map[string]string{"Makefile": "lint:\n\t@echo later\ntest:\n"}, []verify.Gate{}},
		"make target that mends":       {map[string]string{"Makefile": "lint:\n\tjust-lint --fix .\n"}, []verify.Gate{}},
		"make check that stands for the others": {
			map[string]string{"Makefile": "test:\n\t./t\nlint:\n\t./l\ncheck: lint test\n"},
			[]verify.Gate{inMake(verify.GateTest, "test"), inMake(verify.GateLint, "lint")}},
		"make check alone": {map[string]string{"Makefile": "check:\n\t./t\n"}, []verify.Gate{inMake(verify.GateTest, "check")}},

		"make runs what is proposed already": {
			goWith("test:\n\t@echo testing\n\t@$(GO) test -race ./... && go vet ./...\nlint:\n\t$(GOLANGCI_LINT) run ./...\ncheck: lint test\n"),
			[]verify.Gate{goTest, vet, golangci, format}},
		"make runs more than is proposed": {
			goWith("test:\n\tgo test ./...\n\t./integration.sh\nlint: tools\n\tgolangci-lint run\n"),
			[]verify.Gate{goTest, inMake(verify.GateTest, "test"), vet, golangci, inMake(verify.GateLint, "lint"), format}},
		"make tests where go has none": {map[string]string{"go.mod": "", "Makefile": "test:\n\tgo test -tags all ./...\n"},
			[]verify.Gate{inMake(verify.GateTest, "test"), vet, format}},

		"pre-commit": {map[string]string{".pre-commit-config.yaml": ""},
			[]verify.Gate{gate(verify.GateLint, "pre-commit run --all-files", "found .pre-commit-config.yaml")}},
	})
}

func TestGatesOfNode(t *testing.T) {
	const all = `{"scripts":{"test":"vitest run","lint":"eslint .","type-check":"tsc --noEmit","prettier:check":"prettier -c .","test:e2e":"playwright test"}}`
	script := func(kind verify.GateKind, command, name, source string) verify.Gate {
		return gate(kind, command, "found package.json with a "+name+" script"+source)
	}
	node := func(scripts string) map[string]string {
		return map[string]string{"package.json": `{"scripts":{` + scripts + `}}`}
	}
	const lock = " and pnpm-lock.yaml"
	comparedGates(t, map[string]gateCase{
		"all of it": {map[string]string{"package.json": all, "pnpm-lock.yaml": ""}, []verify.Gate{
			script(verify.GateTest, "pnpm test", "test", lock), script(verify.GateLint, "pnpm run lint", "lint", lock),
			script(verify.GateTypes, "pnpm run type-check", "type-check", lock),
			script(verify.GateFormat, "pnpm run prettier:check", "prettier:check", lock),
			script(verify.GateE2E, "pnpm run test:e2e", "test:e2e", lock),
		}},
		"declared manager": {map[string]string{"package.json": `{"packageManager":"yarn@4.0.0","scripts":{"lint":"eslint ."}}`},
			[]verify.Gate{script(verify.GateLint, "yarn run lint", "lint", " and packageManager yarn")}},
		"npm's placeholder":     {node(`"test":"echo \"Error: no test specified\" && exit 1","lint":""`), []verify.Gate{}},
		"a script that mends":   {node(`"lint":"eslint . --fix","format:check":"prettier --write ."`), []verify.Gate{}},
		"a script that waits":   {node(`"e2e":"cypress open","test:e2e":"cypress run"`), []verify.Gate{script(verify.GateE2E, "npm run test:e2e", "test:e2e", "")}},
		"the first of its kind": {node(`"tsc":"tsc","typecheck":"tsc -b"`), []verify.Gate{script(verify.GateTypes, "npm run typecheck", "typecheck", "")}},
		"types that are made":   {node(`"types":"openapi-typescript api.yaml"`), []verify.Gate{}},
		"types that are read":   {node(`"types":"tsc --noEmit"`), []verify.Gate{script(verify.GateTypes, "npm run types", "types", "")}},
		"not readable":          {map[string]string{"package.json": "{"}, []verify.Gate{}},
		"odd scripts":           {node(`"test":7,"lint":{"a":1}`), []verify.Gate{}},
		"make that only passes on": {map[string]string{"package.json": all, "Makefile": "test:\n\tnpm test\nlint:\n\tnpx eslint .\ne2e:\n\tdocker compose up\n"},
			[]verify.Gate{
				script(verify.GateTest, "npm test", "test", ""), script(verify.GateLint, "npm run lint", "lint", ""),
				script(verify.GateTypes, "npm run type-check", "type-check", ""),
				script(verify.GateFormat, "npm run prettier:check", "prettier:check", ""),
				script(verify.GateE2E, "npm run test:e2e", "test:e2e", ""), gate(verify.GateE2E, "make e2e", "found Makefile with an e2e target"),
			}},
	})
}

func TestGatesOfPythonAndRust(t *testing.T) {
	const pyproject = "[project]\nname = 'x'\n[tool.ruff]\nline-length = 100\n[tool.ruff.format]\n[ tool.mypy ]\nstrict = true\n[tool.pyright]\n[tool.black]\n"
	with := func(section string) string { return "found pyproject.toml with [" + section + "]" }
	fmtRust := gate(verify.GateFormat, "cargo fmt --check", inCargo)
	clippy := func(because string) verify.Gate {
		return gate(verify.GateLint, "cargo clippy -- -D warnings", because)
	}
	comparedGates(t, map[string]gateCase{
		"python with all of it": {map[string]string{"pyproject.toml": pyproject, "tests/test_x.py": ""}, []verify.Gate{
			gate(verify.GateTest, "pytest", "found pyproject.toml"), gate(verify.GateLint, "ruff check .", with("tool.ruff")),
			gate(verify.GateTypes, "mypy .", with("tool.mypy")), gate(verify.GateTypes, "pyright", with("tool.pyright")),
			gate(verify.GateFormat, "black --check .", with("tool.black")), gate(verify.GateFormat, "ruff format --check .", with("tool.ruff.format")),
		}},
		"python with nothing set up": {map[string]string{"pyproject.toml": "# [tool.ruff]\ntext = '[tool.mypy]'\n[tool.rufflike]\n"}, []verify.Gate{}},
		"python in files of their own": {map[string]string{
			"ruff.toml": "[format]\n", "mypy.ini": "[mypy]\nfiles = src\n[mypy-other.*]\n", "pyrightconfig.json": "", ".flake8": "",
		}, []verify.Gate{
			gate(verify.GateLint, "ruff check .", "found ruff.toml"), gate(verify.GateLint, "flake8", "found .flake8"),
			gate(verify.GateTypes, "mypy", "found mypy.ini with [mypy]"), gate(verify.GateTypes, "pyright", "found pyrightconfig.json"),
			gate(verify.GateFormat, "ruff format --check .", "found ruff.toml with [format]"),
		}},
		"python in setup.cfg": {map[string]string{"setup.cfg": "[flake8]\n[mypy]\n", "test_x.py": ""}, []verify.Gate{
			gate(verify.GateTest, "pytest", "found setup.cfg"), gate(verify.GateLint, "flake8", "found setup.cfg with [flake8]"),
			gate(verify.GateTypes, "mypy .", "found setup.cfg with [mypy]"),
		}},

		"rust":              {map[string]string{"Cargo.toml": "", "src/lib.rs": rustLib}, []verify.Gate{gate(verify.GateTest, "cargo test", inCargo), fmtRust}},
		"rust without test": {map[string]string{"Cargo.toml": ""}, []verify.Gate{fmtRust}},
		"rust clippy.toml":  {map[string]string{"Cargo.toml": "", "clippy.toml": ""}, []verify.Gate{clippy("found clippy.toml"), fmtRust}},
		"rust lints": {map[string]string{"Cargo.toml": "[workspace.lints.clippy]\nall = 'deny'\n"},
			[]verify.Gate{clippy("found Cargo.toml with [workspace.lints.clippy]"), fmtRust}},
		"rust clippy in CI": {map[string]string{"Cargo.toml": "", ".github/workflows/a.yml": "run: cargo build", ".github/workflows/b.yml": "run: cargo clippy"},
			[]verify.Gate{clippy("found .github/workflows/b.yml with cargo clippy"), fmtRust}},

		"several at once": {map[string]string{"pyproject.toml": "[tool.ruff]\n", "test_x.py": "", "Cargo.toml": "", "src/lib.rs": rustLib}, []verify.Gate{
			gate(verify.GateTest, "pytest", "found pyproject.toml"), gate(verify.GateTest, "cargo test", inCargo),
			gate(verify.GateLint, "ruff check .", with("tool.ruff")), fmtRust,
		}},
	})
}

type gateCase struct {
	files map[string]string
	want  []verify.Gate
}

func comparedGates(t *testing.T, cases map[string]gateCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range c.files {
				write(t, 0o644, filepath.Join(dir, file), text)
			}
			if diff := cmp.Diff(c.want, verify.Gates(dir), cmpopts.IgnoreFields(verify.Gate{}, "Missing")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestGatesSayWhatIsMissing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have endings here")
	}
	dir, bin := t.TempDir(), t.TempDir()
	for _, name := range []string{"go", "test", "cargo", "cargo-fmt", "make"} {
		write(t, 0o755, filepath.Join(bin, name), "")
	}
	t.Setenv("PATH", bin)
	for file, text := range map[string]string{
		"go.mod": "", ".golangci.yaml": "", "Cargo.toml": "", "clippy.toml": "", "package.json": `{"scripts":{"lint":"x"}}`, "Makefile": "test: x\n",
	} {
		write(t, 0o644, filepath.Join(dir, file), text)
	}
	got := map[string]string{}
	for _, gate := range verify.Gates(dir) {
		got[gate.Command] = gate.Missing
	}
	want := map[string]string{
		"make test": "", "go vet ./...": "", "golangci-lint run": "golangci-lint", "npm run lint": "npm",
		"cargo clippy -- -D warnings": "cargo-clippy", gofmtCheck: "gofmt", "cargo fmt --check": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The format gates are shell lines that nobody else would try out before they stand in somebody's configuration.
func TestTheGateOfGofmtShuts(t *testing.T) {
	gofmt, err := exec.LookPath("gofmt")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no gofmt, or no sh")
	}
	dir := t.TempDir()
	s := shell()
	s.Env = []string{"PATH=" + filepath.Dir(gofmt) + ":/usr/bin:/bin"}
	run := func() ralph.CheckResult {
		gates := verify.Gates(dir)
		return check(t, s, ralph.CheckInput{Name: gates[len(gates)-1].Command, Dir: dir})
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

// The files are a stranger's: what is no file is passed by, and nothing waits.
func TestGatesOfOddFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "package.json", "pyproject.toml", "Cargo.toml", "Makefile", ".pre-commit-config.yaml", "ruff.toml"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]verify.Gate{}, verify.Gates(dir)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]verify.Gate{}, verify.Gates(filepath.Join(dir, "missing"))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

package protect_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralphloop/ralph/internal/proof/protect"
)

type files = map[string]string

// gone marks a file that an agent deleted.
const gone = "\x00gone"

// preset is one change by an agent, and what it means if tests are protected.
type preset struct {
	name   string
	checks []string
	base   files
	change files // on top of base
	want   short
}

// with applies changes on top of a tree.
func with(base, change files) files {
	now := maps.Clone(base)
	if now == nil {
		now = files{}
	}
	for name, text := range change {
		if text == gone {
			delete(now, name)
			continue
		}
		now[name] = text
	}
	return now
}

func tampered(names ...string) short { return short{Tampered: names} }
func unseen(names ...string) short   { return short{Unseen: names} }

// weighed is for changes that are compared with the base's version.
func weighed(names ...string) short { return short{Tests: names} }

var honest = short{}

func runPreset(t *testing.T, cases []preset) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := sorted(t, protect.Config{Globs: []string{"tests"}, Checks: c.checks}, trees{c.base, with(c.base, c.change)})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

var goBase = files{
	"go.mod":        "module m\n\ngo 1.24\n\nrequire example.com/x v1.0.0\n",
	"m.go":          "package m\n",
	"m_test.go":     "package m\n",
	"sub/s.go":      "package sub\n",
	"sub/s_test.go": "package sub\n",
	"testdata/a.in": "1",
}

func TestGo(t *testing.T) {
	runPreset(t, []preset{
		{"a test is edited", nil, goBase, files{"m_test.go": "package m\n// t.Skip\n"}, tampered("m_test.go changed")},
		{"a test is deleted", nil, goBase, files{"sub/s_test.go": gone}, tampered("sub/s_test.go deleted")},
		{
			"a test is renamed", nil, goBase, files{"m_test.go": gone, "n_test.go": "package m\n"},
			tampered("m_test.go deleted"),
		},
		{"expected data is edited", nil, goBase, files{"testdata/a.in": "2"}, tampered("testdata/a.in changed")},
		{
			"an added TestMain", nil, goBase,
			files{"main_test.go": "package m\nfunc /* x */ TestMain(m *testing.M) {}\n"}, unseen("main_test.go added"),
		},
		{
			"an added init that exits", nil, goBase, files{"z_test.go": "package m\nfunc init() { os.Exit(0) }\n"},
			unseen("z_test.go added"),
		},
		{
			"an added variable that exits", nil, goBase,
			files{"z_test.go": "package m\nvar _ = func() int { os.Exit(0); return 0 }()\n"}, unseen("z_test.go added"),
		},
		{
			"an added broken TestMain", nil, goBase, files{"z_test.go": "package m\nfunc TestMain(\n"},
			unseen("z_test.go added"),
		},
		{
			"TestMain of a new package", nil, goBase,
			files{"new/new_test.go": "package n\nfunc TestMain(m *testing.M) {}\n"}, honest,
		},
		{"a word TestMain in a comment", nil, goBase, files{"n_test.go": "package m\n// TestMain is not here\n"}, honest},
		{
			"a helper process that exits", nil, goBase,
			files{"n_test.go": "package m\nfunc TestHelper(t *testing.T) { os.Exit(0) }\n"}, honest,
		},
		{
			"new tests with new data", nil, goBase,
			files{"n_test.go": "package m\n", "testdata/b.in": "1", "m.go": "package m // fixed\n"}, honest,
		},
		{
			"a new requirement", nil, goBase,
			files{"go.mod": goBase["go.mod"] + "require example.com/y v1.0.0\n", "go.sum": "x"}, honest,
		},
		{"a newer language", nil, goBase, files{"go.mod": "module m\n\ngo 1.26\n\nrequire example.com/x v1.0.0\n"}, honest},
		{
			"a local dependency", nil, goBase,
			files{"go.mod": goBase["go.mod"] + "require example.com/y v0.0.0\nreplace example.com/y => ./y\n"}, honest,
		},
		{
			"a known module replaced", nil, goBase,
			files{"go.mod": goBase["go.mod"] + "replace (\n\texample.com/x => ./fake // local\n)\n"},
			weighed("go.mod changed"),
		},
		{
			"tests ignored by go.mod", nil, goBase, files{"go.mod": goBase["go.mod"] + "ignore ./sub\n"},
			weighed("go.mod changed"),
		},
		{"go.mod is a link", nil, goBase, files{"go.mod": "other/go.mod"}, weighed("go.mod changed")},
		{"a module that cuts off tests", nil, goBase, files{"sub/go.mod": "module sub\n"}, weighed("sub/go.mod added")},
		{"a new module", nil, goBase, files{"tool/go.mod": "module tool\n"}, honest},
		{"a workspace", nil, goBase, files{"go.work": "go 1.24\nuse ./fake\n"}, weighed("go.work added")},
		{"a link in place of a folder", nil, goBase, files{"sub/s_test.go": gone, "sub/s.go": gone, "sub": "elsewhere"},
			short{Tampered: []string{"sub/s_test.go deleted"}, Unseen: []string{"sub added"}}},
		{"a folder in place of a test", nil, goBase, files{"m_test.go": gone, "m_test.go/x": "1"},
			short{Tampered: []string{"m_test.go deleted"}, Unseen: []string{"m_test.go/x added"}}},
		{"a test library in vendor", nil, with(goBase, files{
			"vendor/github.com/stretchr/testify/assert/a.go": "1",
		}), files{"vendor/github.com/stretchr/testify/assert/a.go": "2"},
			weighed("vendor/github.com/stretchr/testify/assert/a.go changed")},
		{"projects that are data of tests", nil, with(goBase, files{"testdata/old/go.mod": "module a\n"}),
			files{
				"testdata/old/go.mod": "module b\n", "testdata/new/go.mod": "module n\n", "testdata/new/go.work": "",
				"test/fixtures/package.json": `{"jest": {}}`, "test/fixtures/conftest.py": "",
			},
			tampered("testdata/old/go.mod changed")},
		{
			"odd names", nil, with(goBase, files{"a b\n[x]/é,: _test.go": "1"}),
			files{"a b\n[x]/é,: _test.go": "2", "tests/\xff.txt": "1"}, tampered("a b\n[x]/é,: _test.go changed"),
		},
	})
}

var pyBase = files{
	"lib.py":            "x = 1\n",
	"tests/test_lib.py": "def test(): pass\n",
	"tests/data.json":   "{}",
	"tests/README.md":   "Tests.\n",
	"pyproject.toml": "[project]\nname = \"p\"\ndependencies = [\n  \"a\", # " +
		"one\n]\n\n[tool.pytest.ini_options]\naddopts = \"-q\"\n",
	"setup.cfg": "[metadata]\nname = p\n\n[tool:pytest]\naddopts = -q\n",
}

func TestPython(t *testing.T) {
	edit := func(name, from, to string) files {
		return files{name: strings.Replace(pyBase[name], from, to, 1)}
	}
	runPreset(t, []preset{
		{
			"a test is edited", nil, pyBase,
			files{"tests/test_lib.py": "import pytest\npytestmark = pytest.mark.skip\n"},
			tampered("tests/test_lib.py changed"),
		},
		{"data is edited", nil, pyBase, files{"tests/data.json": "[]"}, tampered("tests/data.json changed")},
		{
			"an added conftest", nil, pyBase, files{"conftest.py": "", "tests/conftest.py": ""},
			weighed("conftest.py added", "tests/conftest.py added"),
		},
		{"added customization", nil, pyBase, files{
			"sitecustomize.py": "", "x.pth": "import os", "pytest.ini": "", ".coveragerc": "",
		},
			weighed(".coveragerc added", "pytest.ini added", "sitecustomize.py added", "x.pth added")},
		{"a shadow of the runner", nil, pyBase, files{
			"pytest.py": "", "unittest/__init__.py": "", "tests/_pytest/__init__.py": "", "src/traceback.py": "",
		},
			weighed(
				"pytest.py added", "src/traceback.py added", "tests/_pytest/__init__.py added",
				"unittest/__init__.py added",
			)},
		{"compiled tests that are not compared with their source", nil, pyBase, files{
			"tests/__pycache__/a.pyc": "\xcb\r\r\n\x01\x00\x00\x00x",
			"tests/__pycache__/b.pyc": "\xcb\r\r\n\x00\x00\x00\x00x",
		},
			weighed("tests/__pycache__/a.pyc added")},
		{
			"modules of a package with names of the library", nil, pyBase,
			files{"pkg/logging.py": "", "pkg/types.py": "", "queue.py": ""}, honest,
		},
		{
			"settings of pytest", nil, pyBase, edit("pyproject.toml", "-q", "--collect-only"),
			weighed("pyproject.toml changed"),
		},
		{
			"new settings of coverage", nil, pyBase,
			files{"pyproject.toml": pyBase["pyproject.toml"] + "[tool.coverage.run]\nomit = [\"*\"]\n"},
			weighed("pyproject.toml changed"),
		},
		{
			"settings as keys of the table above", nil, pyBase,
			files{"pyproject.toml": pyBase["pyproject.toml"] + "[tool]\npytest.x = 1\n"},
			weighed("pyproject.toml changed"),
		},
		{
			"settings with quoted names", nil, pyBase,
			files{"pyproject.toml": pyBase["pyproject.toml"] + "[ tool . \"pytest\" . 'x' ]\na = 1\n"},
			weighed("pyproject.toml changed"),
		},
		{
			"a broken pyproject", nil, pyBase, files{"pyproject.toml": pyBase["pyproject.toml"] + "x = [\n"},
			weighed("pyproject.toml changed"),
		},
		{
			"a plugin for pytest", nil, pyBase,
			files{"pyproject.toml": pyBase["pyproject.toml"] + "[project.entry-points.pytest11]\nx = \"lib\"\n"},
			weighed("pyproject.toml changed"),
		},
		{"a new dependency", nil, pyBase, edit("pyproject.toml", "\"a\", # one", "\"a\",\n  \"b\","), honest},
		{
			"a formatter", nil, pyBase,
			files{"pyproject.toml": pyBase["pyproject.toml"] + "[tool.ruff]\nline-length = 100\n"}, honest,
		},
		{"a comment among the settings", nil, pyBase, edit("pyproject.toml", "addopts", "# quiet\naddopts"), honest},
		{
			"setup.cfg for pytest", nil, pyBase, edit("setup.cfg", "addopts = -q", "addopts = -q\n  --collect-only"),
			weighed("setup.cfg changed"),
		},
		{"setup.cfg for the package", nil, pyBase, edit("setup.cfg", "name = p", "name = p\nversion = 2"), honest},
		{"setup.cfg is a link", nil, pyBase, files{"setup.cfg": "../x"}, weighed("setup.cfg changed")},
		{"setup.cfg is deleted", nil, pyBase, files{"setup.cfg": gone}, weighed("setup.cfg deleted")},
		{
			"new tests and a helper beside them", nil, pyBase,
			files{
				"tests/test_new.py": "", "tests/helper.py": "", "tests/new.json": "", "lib.py": "x = 2\n",
				"tests/README.md": "More.\n",
			},
			honest,
		},
		{
			"requirements of tests", nil, with(pyBase, files{"tests/requirements.txt": "a"}),
			files{"tests/requirements.txt": "a\nb"}, honest,
		},
		{
			"a project from nothing", nil, files{"README.md": ""},
			files{"conftest.py": "", ".env.test": "", "pyproject.toml": pyBase["pyproject.toml"], "tests/test_a.py": ""},
			honest,
		},
		{
			"a pyproject beside tests", nil, files{"test_a.py": ""}, files{"pyproject.toml": pyBase["pyproject.toml"]},
			weighed("pyproject.toml added"),
		},
		{
			"a conftest among fixtures", nil, pyBase,
			files{"tests/fixtures/conftest.py": "", "tests/fixtures/pyproject.toml": pyBase["pyproject.toml"]},
			weighed("tests/fixtures/conftest.py added"),
		},
		{
			"a plain pyproject beside tests", nil, files{"test_a.py": ""},
			files{"pyproject.toml": "[project]\nname = 'x'\n"}, honest,
		},
	})
}

const packageJSON = `{
  "name": "p",
  "scripts": {"test": "npm run unit -- && run-p check:*", "unit": "node --test", "check:a": "true", "build": "tsc"},
  "imports": {"#lib": "./lib.js"},
  "devDependencies": {"jest": "^29.0.0"}
}`

var jsBase = files{
	"package.json":                   packageJSON,
	"lib.js":                         "1",
	"lib.test.ts":                    "1",
	"test/a.js":                      "1",
	"src/__tests__/x.js":             "1",
	"src/__snapshots__/x.js.snap":    "1",
	"vite.config.ts":                 "export default { plugins: [] }\n",
	"packages/a/vite.config.js":      "export default { test: {} }\n",
	"node_modules/jest/bin/jest.js":  "1",
	"node_modules/other/package.txt": "1",
}

func TestJavaScript(t *testing.T) {
	edit := func(from, to string) files {
		return files{"package.json": strings.Replace(packageJSON, from, to, 1)}
	}
	npm := []string{"npm test"}
	changed := weighed("package.json changed")
	runPreset(t, []preset{
		{"tests are edited", npm, jsBase, files{
			"lib.test.ts": "2", "test/a.js": "2", "src/__tests__/x.js": "2", "src/__snapshots__/x.js.snap": gone,
		},
			tampered(
				"lib.test.ts changed", "src/__snapshots__/x.js.snap deleted", "src/__tests__/x.js changed",
				"test/a.js changed",
			)},
		{"added configuration", npm, jsBase, files{
			"jest.config.js": "", "vitest.setup.ts": "", ".mocharc.json": "", ".npmrc": "script-shell=true",
			"__mocks__/fs.js": "", "babel.config.js": "",
		},
			weighed(
				".mocharc.json added", ".npmrc added", "__mocks__/fs.js added", "babel.config.js added",
				"jest.config.js added", "vitest.setup.ts added",
			)},
		{"the script is edited", npm, jsBase, edit("npm run unit", "true"), changed},
		{"a script that the script runs is edited", npm, jsBase, edit("node --test", "true"), changed},
		{"a script of a group is edited", npm, jsBase, edit(`"check:a": "true"`, `"check:a": "cp x y"`), changed},
		{
			"a script of a group is added", npm, jsBase,
			edit(`"check:a": "true"`, `"check:a": "true", "check:b": "cp x y"`), changed,
		},
		{"a hook is added", npm, jsBase, edit(`"build"`, `"pretest": "cp x y", "build"`), changed},
		{"a hook of a script that is run is added", npm, jsBase, edit(`"build"`, `"postunit": "cp x y", "build"`), changed},
		{"the script of the check is edited", []string{"npm run build"}, jsBase, edit("tsc", "true"), changed},
		{
			"the script is edited where a script may run it", []string{"./check.sh"}, jsBase,
			edit("npm run unit", "true"), changed,
		},
		{
			"the script is edited where no check runs it", []string{"node --test"}, jsBase, edit("npm run unit", "true"),
			honest,
		},
		{"another script", npm, jsBase, edit("tsc", "tsc -p ."), honest},
		{"a new script", npm, jsBase, edit(`"build"`, `"lint": "eslint .", "build"`), honest},
		{
			"a new dependency", npm, jsBase,
			edit(`"devDependencies": {`, `"dependencies": {"a": "file:./a"}, "devDependencies": {"vitest": "^3", `),
			honest,
		},
		{"a newer runner", npm, jsBase, edit("^29.0.0", "^30.0.0"), honest},
		{"a runner of its own", npm, jsBase, edit("^29.0.0", "file:./fake"), changed},
		{
			"a runner in an override", npm, jsBase, edit(`"imports"`, `"overrides": {"jest": "npm:fake@1"}, "imports"`),
			changed,
		},
		{"a key of a runner", npm, jsBase, edit(`"imports"`, `"jest": {"testMatch": []}, "imports"`), changed},
		{"a private name is redirected", npm, jsBase, edit("./lib.js", "./fake.js"), changed},
		{"a new private name", npm, jsBase, edit(`"#lib"`, `"#new": "./new.js", "#lib"`), honest},
		{"modules", npm, jsBase, edit(`"imports"`, `"type": "module", "imports"`), honest},
		{"a broken package.json", npm, jsBase, files{"package.json": packageJSON + "}"}, changed},
		{"package.json is a link", npm, jsBase, files{"package.json": "fake.json"}, changed},
		{"package.json is deleted", npm, jsBase, files{"package.json": gone}, weighed("package.json deleted")},
		{
			"the first test script", npm, with(jsBase, files{"package.json": `{"scripts": {"build": "tsc"}}`}),
			files{"package.json": `{"scripts": {"build": "tsc", "test": "npm run unit", "unit": "node --test"}}`},
			honest,
		},
		{
			"the script of npm init", npm,
			with(jsBase, files{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}),
			files{"package.json": `{"scripts": {"test": "node --test"}}`}, honest,
		},
		{
			"a new package of a workspace", npm, jsBase,
			files{"packages/b/package.json": packageJSON, "packages/b/b.test.js": ""}, honest,
		},
		{
			"a new package with a runner", npm, jsBase, files{"packages/b/package.json": `{"jest": {}}`},
			weighed("packages/b/package.json added"),
		},
		{"vite for the product", npm, jsBase, files{"vite.config.ts": "export default { plugins: [react()] }\n"}, honest},
		{
			"vite for the product and vitest", npm, jsBase,
			files{"vite.config.ts": "export default { test: { include: [] } }\n"}, weighed("vite.config.ts changed"),
		},
		{
			"vite with tests", npm, jsBase, files{"packages/a/vite.config.js": "export default {}\n"},
			weighed("packages/a/vite.config.js changed"),
		},
		{
			"vite where vitest is the check", []string{"npx vitest run"}, jsBase,
			files{"vite.config.ts": "export default { plugins: [react()] }\n"}, weighed("vite.config.ts changed"),
		},
		{
			"an installed runner is edited", npm, jsBase, files{"node_modules/jest/bin/jest.js": "process.exit(0)"},
			weighed("node_modules/jest/bin/jest.js changed"),
		},
		{
			"a program in front of the user's", npm, jsBase, files{"node_modules/.bin/node": "#!/bin/sh"},
			weighed("node_modules/.bin/node added"),
		},
		{
			"packages are installed", npm, jsBase,
			files{
				"node_modules/left-pad/index.js": "", "node_modules/other/package.txt": "2",
				"node_modules/mocha/index.js": "", "package-lock.json": "{}",
			},
			honest,
		},
		{
			"new tests with fixtures", npm, jsBase,
			files{"new.spec.tsx": "", "test/fixtures/a.json": "", "src/__snapshots__/new.snap": "", "tsconfig.json": "{}"},
			honest,
		},
		{
			"a project from nothing", npm, files{"README.md": ""},
			files{"package.json": `{"jest": {}}`, "vitest.config.ts": "", "a.test.ts": ""}, honest,
		},
		{
			"workspaces of pnpm", npm, with(jsBase, files{"pnpm-workspace.yaml": "packages: [a]\n"}),
			files{"pnpm-workspace.yaml": "packages: [a, b]\n"}, honest,
		},
		{
			"settings of pnpm", npm, with(jsBase, files{"pnpm-workspace.yaml": "packages: [a]\n"}),
			files{"pnpm-workspace.yaml": "packages: [a]\nscriptShell: ./fake\n"},
			weighed("pnpm-workspace.yaml changed"),
		},
		{
			"preloaded by bun", npm, with(jsBase, files{"bunfig.toml": "[install]\nexact = true\n"}),
			files{"bunfig.toml": "preload = [\"x\"]\n[install]\nexact = true\n"}, weighed("bunfig.toml changed"),
		},
		{
			"tasks of deno", []string{"deno task test"},
			with(jsBase, files{"deno.json": `{"tasks": {"test": "deno test"}}`}),
			files{"deno.json": `{"tasks": {"test": "true"}}`}, weighed("deno.json changed"),
		},
	})
}

const cargoTOML = "[package]\nname = \"c\"\nedition = \"2021\"\n\n[dependencies]\na = { version = \"1\" " +
	"}\n\n[profile.release]\nlto = true\n"

const rustSource = `//! Docs with a "quote.
pub fn f<'a>(x: &'a str) -> char { if x == "}" { '}' } else { '\'' } }

#[cfg(test)]
mod tests {
    use super::*;

    /* a comment } */
    #[test]
    fn one() { assert_eq!(f(r#"}"#), '}'); }

    #[test]
    #[should_panic(expected = "x")]
    fn two() { panic!("x") }
}
`

var rustBase = files{"Cargo.toml": cargoTOML, "src/lib.rs": rustSource, "tests/it.rs": "mod a;\n", "tests/a.rs": "1"}

func TestRust(t *testing.T) {
	source := func(from, to string) files {
		return files{"src/lib.rs": strings.Replace(rustSource, from, to, 1)}
	}
	inside := short{Tests: []string{"src/lib.rs changed"}}
	runPreset(t, []preset{
		{"a test is edited", nil, rustBase, files{"tests/a.rs": "2"}, tampered("tests/a.rs changed")},
		{"a test is listed", nil, rustBase, files{"tests/it.rs": "mod a;\nmod b;\n", "tests/b.rs": ""}, honest},
		{"a listed test is taken out", nil, rustBase, files{"tests/it.rs": "mod b;\n"}, tampered("tests/it.rs changed")},
		{
			"a test is listed behind a condition", nil, rustBase, files{"tests/it.rs": "#[cfg(any())]\nmod a;\n"},
			tampered("tests/it.rs changed"),
		},
		{"a test inside is edited", nil, rustBase, source("'}');", "'x');"), inside},
		{
			"a test inside is ignored", nil, rustBase,
			source("#[test]\n    fn one", "#[test]\n    #[ignore]\n    fn one"), inside,
		},
		{
			"a test inside is deleted", nil, rustBase,
			source("    #[test]\n    fn one() { assert_eq!(f(r#\"}\"#), '}'); }\n", ""), inside,
		},
		{"a test is no test any more", nil, rustBase, source("#[test]\n    fn one", "fn one"), inside},
		{"tests are commented out", nil, rustBase, source("#[cfg(test)]", "/* #[cfg(test)]"), inside},
		{"the file is deleted", nil, rustBase, files{"src/lib.rs": gone}, short{Tests: []string{"src/lib.rs deleted"}}},
		{"the product is mended and tests added", nil, rustBase,
			files{"src/lib.rs": strings.Replace(
				strings.Replace(rustSource, `x == "}"`, `x.len() == 1`, 1), "#[test]\n    fn one",
				"#[test]\n    fn zero() {}\n    // new\n    #[test]\n    fn one", 1,
			)}, honest},
		{
			"a dependency", nil, rustBase,
			files{"Cargo.toml": strings.Replace(cargoTOML, "[dependencies]", "[dependencies]\nb = \"1\"", 1), "Cargo.lock": ""},
			honest,
		},
		{
			"a profile for releases", nil, rustBase, files{"Cargo.toml": strings.Replace(cargoTOML, "true", "false", 1)},
			honest,
		},
		{
			"a profile for tests", nil, rustBase,
			files{"Cargo.toml": cargoTOML + "[profile.test]\noverflow-checks = false\n"}, weighed("Cargo.toml changed"),
		},
		{
			"a profile for tests in one line", nil, rustBase,
			files{"Cargo.toml": "profile.dev.debug-assertions = false\n" + cargoTOML}, weighed("Cargo.toml changed"),
		},
		{
			"a target that is no test", nil, rustBase,
			files{"Cargo.toml": cargoTOML + "[[test]]\nname = \"it\"\nharness = false\n"},
			weighed("Cargo.toml changed"),
		},
		{
			"tests not looked for", nil, rustBase,
			files{"Cargo.toml": strings.Replace(cargoTOML, "edition", "autotests = false\nedition", 1)},
			weighed("Cargo.toml changed"),
		},
		{
			"no tests of the library", nil, rustBase, files{"Cargo.toml": cargoTOML + "[lib]\ntest = false\n"},
			weighed("Cargo.toml changed"),
		},
		{"a library with a path", nil, rustBase, files{"Cargo.toml": cargoTOML + "[lib]\npath = \"src/l.rs\"\n"}, honest},
		{
			"a patch", nil, rustBase, files{"Cargo.toml": cargoTOML + "[patch.crates-io]\na = { path = \"fake\" }\n"},
			weighed("Cargo.toml changed"),
		},
		{
			"a runner", nil, rustBase,
			files{".cargo/config.toml": "[target.x]\nrunner = \"true\"\n", "rust-toolchain": "x"},
			weighed(".cargo/config.toml added", "rust-toolchain added"),
		},
		{
			"a build script and a crate", nil, rustBase,
			files{"build.rs": "", "sub/Cargo.toml": cargoTOML, "tests/new.rs": ""}, honest,
		},
	})
}

const pom = "<project><dependencies><dependency>a</dependency></dependencies><build><plugins>" +
	"<plugin><artifactId>maven-surefire-plugin</artifactId></plugin></plugins></build></project>"

func TestOtherEcosystems(t *testing.T) {
	gradle := "plugins { id 'java' }\ndependencies {\n  testImplementation 'a'\n}\ntest {\n  useJUnitPlatform()\n}\n"
	java := files{
		"src/test/java/AT.java": "1", "src/main/java/A.java": "1", "pom.xml": pom, "build.gradle": gradle,
		"gradlew": "1",
	}
	edit := func(name, from, to string) files { return files{name: strings.Replace(java[name], from, to, 1)} }
	rb := files{
		"spec/a_spec.rb": "1", "spec/openapi.yaml": "1", "test/a_test.rb": "1", "Rakefile": "1", "Makefile": "1",
		"justfile": "1",
	}
	cs := files{
		"App.Tests/AppTests.cs": "1",
		"App.Tests/App.Tests.csproj": "<Project>\n<ItemGroup>\n<PackageReference Include=\"xunit\" " +
			"/>\n</ItemGroup>\n</Project>",
	}
	mix := "defmodule M do\n  defp deps do\n    [{:a, \"1\"}]\n  end\nend\n"
	ex := files{"test/a_test.exs": "1", "mix.exs": mix}
	runPreset(t, []preset{
		{"java: a test is edited", nil, java, files{"src/test/java/AT.java": "2"}, tampered("src/test/java/AT.java changed")},
		{
			"java: a dependency for maven", nil, java,
			edit("pom.xml", "</dependencies>", "<dependency>b</dependency></dependencies>"), honest,
		},
		{
			"java: tests skipped by maven", nil, java,
			edit("pom.xml", "<build>", "<properties><skipTests>true</skipTests></properties><build>"),
			weighed("pom.xml changed"),
		},
		{
			"java: surefire is edited", nil, java,
			edit("pom.xml", "</artifactId>", "</artifactId><configuration><skip>true</skip></configuration>"),
			weighed("pom.xml changed"),
		},
		{"java: a broken pom", nil, java, files{"pom.xml": pom + "<"}, weighed("pom.xml changed")},
		{
			"java: a dependency for gradle", nil, java, edit("build.gradle", "'a'\n", "'a'\n  testImplementation 'b'\n"),
			honest,
		},
		{
			"java: failures ignored by gradle", nil, java,
			edit("build.gradle", "useJUnitPlatform()", "useJUnitPlatform()\n  ignoreFailures = true"),
			weighed("build.gradle changed"),
		},
		{
			"java: a task without tests", nil, java,
			files{"build.gradle": gradle + "tasks.register('hello') {\n  doLast { println 'hi' }\n}\n"}, honest,
		},
		{
			"java: the wrapper", nil, java, files{"gradlew": "exit 0", ".mvn/maven.config": "-DskipTests"},
			weighed(".mvn/maven.config added", "gradlew changed"),
		},
		{
			"ruby: tests are edited", nil, rb, files{"spec/a_spec.rb": "2", "test/a_test.rb": "2"},
			tampered("spec/a_spec.rb changed", "test/a_test.rb changed"),
		},
		{"ruby: a description is no test", nil, rb, files{"spec/openapi.yaml": "2"}, honest},
		{
			"ruby: added helpers", nil, rb,
			files{".rspec": "--dry-run", "spec/spec_helper.rb": "exit!", "lib/minitest/x_plugin.rb": ""},
			weighed(".rspec added", "lib/minitest/x_plugin.rb added", "spec/spec_helper.rb added"),
		},
		{
			"ruby: a Rakefile that is used", []string{"bundle exec rake test"}, rb, files{"Rakefile": "2"},
			weighed("Rakefile changed"),
		},
		{
			"ruby: a Rakefile that is not used", []string{"bundle exec rspec"}, rb,
			files{"Rakefile": "2", "Gemfile": "x"}, honest,
		},
		{"make: used", []string{"make -s test"}, rb, files{"Makefile": "2", "justfile": "2"}, weighed("Makefile changed")},
		{
			"make: hidden by another name", []string{"make test"}, rb, files{"GNUmakefile": "test:", "local.mk": ""},
			weighed("GNUmakefile added", "local.mk added"),
		},
		{
			"make: hidden by another name without tests", []string{"make test"}, files{"Makefile": "1"},
			files{"makefile": "test:"}, weighed("makefile added"),
		},
		{"make: not used", []string{"go test ./..."}, rb, files{"Makefile": "2"}, honest},
		{
			"make: used by a script", []string{"./check.sh"},
			with(rb, files{"check.sh": "#!/bin/sh\nset -e; make test\n"}), files{"Makefile": "2"},
			weighed("Makefile changed"),
		},
		{
			"make: used by just", []string{"just test"}, with(rb, files{"justfile": "test:\n  make test\n"}),
			files{"Makefile": "2"}, weighed("Makefile changed"),
		},
		{"make: the first Makefile", []string{"make test"}, files{"a.c": ""}, files{"Makefile": "test:"}, honest},
		{"environment", nil, rb, files{".env.test": "", ".envrc": ""}, weighed(".env.test added", ".envrc added")},
		{"c#: a test is edited", nil, cs, files{"App.Tests/AppTests.cs": "2", "x.runsettings": ""}, short{
			Tampered: []string{"App.Tests/AppTests.cs changed"}, Tests: []string{"x.runsettings added"},
		}},
		{
			"c#: a dependency", nil, cs,
			files{"App.Tests/App.Tests.csproj": strings.Replace(
				cs["App.Tests/App.Tests.csproj"], "</Item", "<PackageReference Include=\"Moq\" />\n</Item", 1,
			)},
			honest,
		},
		{
			"c#: a test is not compiled", nil, cs,
			files{"App.Tests/App.Tests.csproj": strings.Replace(
				cs["App.Tests/App.Tests.csproj"], "</Item", "<Compile Remove=\"AppTests.cs\" />\n</Item", 1,
			)},
			weighed("App.Tests/App.Tests.csproj changed"),
		},
		{
			"php: configuration and tests", nil, files{"tests/ATest.php": "1", "phpunit.xml": "1"},
			files{"tests/ATest.php": "2", "phpunit.xml": "2"},
			short{Tampered: []string{"tests/ATest.php changed"}, Tests: []string{"phpunit.xml changed"}},
		},
		{
			"php: a dependency", []string{"composer test"},
			files{"tests/ATest.php": "1", "composer.json": `{"scripts": {"test": ["phpunit"]}}`},
			files{"composer.json": `{"scripts": {"test": ["phpunit"]}, "require": {"a/b": "1"}}`}, honest,
		},
		{
			"php: a script", []string{"composer test"},
			files{"tests/ATest.php": "1", "composer.json": `{"scripts": {"test": ["phpunit"]}}`},
			files{"composer.json": `{"scripts": {"test": ["true"]}}`}, weighed("composer.json changed"),
		},
		{
			"elixir: a dependency", nil, ex,
			files{"mix.exs": strings.Replace(mix, "{:a,", "{:test_b, \"1\"},\n{:a,", 1)}, honest,
		},
		{"elixir: an alias", nil, ex, files{
			"mix.exs":              strings.Replace(mix, "defp deps", "defp aliases, do: [test: \"run\"]\n  defp deps", 1),
			"test/test_helper.exs": "System.halt(0)",
		},
			weighed("mix.exs changed", "test/test_helper.exs added")},
		{
			"c: a list of tests grows", nil, files{"tests/CMakeLists.txt": "add_test(a a)\n"},
			files{"tests/CMakeLists.txt": "add_test(a a)\nadd_test(b b)\n", "tests/b.c": ""}, honest,
		},
		{
			"c: a test is disabled", nil, files{"tests/CMakeLists.txt": "add_test(a a)\n"},
			files{"tests/CMakeLists.txt": "add_test(a a)\nset_tests_properties(a PROPERTIES DISABLED TRUE)\n"},
			tampered("tests/CMakeLists.txt changed"),
		},
	})
}

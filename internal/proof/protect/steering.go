package protect

import (
	"encoding/binary"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// rule describes how files with some names affect a test run.
type rule struct {
	kind ecosystem
	// names of the file in any folder, or the end of its path, or a folder with a trailing slash
	names []string
	match func(name string) bool // match is used instead of names
	tools []string               // tools restricts the rule to checks that use one of them
	// beside: an added file counts only if the base has one of these in its folder
	beside []string
	differ func(in *inspection, base, now []byte) bool // differ is nil if the whole file counts
	// added is nil if an added file always counts
	added func(in *inspection, name string, b []byte) bool
}

// never is for files that belong to the product in the first place: a new one starts something new.
func never(*inspection, string, []byte) bool { return false }

// rules is the table that the package comment explains.
var rules = []rule{
	{kind: golang, names: []string{"go.work", "go.work.sum"}},
	{kind: golang, names: []string{"go.mod"}, differ: goModDiffers, added: cutsOffGoTests},
	{kind: golang, match: vendoredTests, added: never},

	{kind: python, names: []string{
		"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "noxfile.py",
		"sitecustomize.py", "usercustomize.py", "*.pth", ".coveragerc", "nose.cfg", ".noserc",
	}},
	{kind: python, names: []string{"setup.cfg"}, differ: setupCfg.differs, added: setupCfg.steersAlone},
	{kind: python, names: []string{"pyproject.toml"}, differ: pyproject.differs, added: pyproject.steersAlone},
	{kind: python, names: []string{"*.pyc"}, differ: func(_ *inspection, _, now []byte) bool {
		return uncheckedBytecode(now)
	},
		added: func(_ *inspection, _ string, now []byte) bool { return uncheckedBytecode(now) }},
	{kind: python, match: shadowsRunner, differ: onlyIfAdded},

	{kind: script, names: []string{
		"jest.config.*", "jest.setup.*", "jest-setup.*", "setupTests.*", "setup-jest.*", "jest.preset.*",
		"vitest.config.*", "vitest.setup.*", "vitest.workspace.*", "vitest.projects.*",
		".mocharc*", "ava.config.*", "karma.conf*", "playwright.config.*", "playwright-ct.config.*",
		"cypress.config.*", "babel.config.*", ".babelrc*", ".npmrc", ".yarnrc*",
		".pnpmfile.cjs", ".nycrc*", ".c8rc*", ".taprc*", "jasmine.json", "wdio.conf.*", "web-test-runner.config.*",
		".testcaferc*", "nightwatch.conf.*", "cucumber.js", "cucumber.mjs",
		"tsconfig.spec.json", "tsconfig.test.json", "tsconfig.jest.json", "tsconfig.vitest.json", "node.config.json",
		".yarn/releases/", ".yarn/plugins/",
	}},
	// Beside node_modules it replaces packages by default; deeper in the tree a test must request
	// it.
	{kind: script, match: func(name string) bool { return strings.HasPrefix(name, "__mocks__/") }},
	{kind: script, names: []string{"vite.config.*"}, differ: viteDiffers, added: viteSteers},
	{kind: script, names: []string{"package.json"}, differ: packageDiffers, added: packageSteers},
	{kind: script, names: []string{"bunfig.toml"}, differ: bunfig.differs, added: bunfig.steersAlone},
	{kind: script, names: []string{"deno.json", "deno.jsonc"}, differ: denoDiffers, added: never},
	{kind: script, names: []string{"pnpm-workspace.yaml"}, differ: pnpmDiffers, added: never},
	{kind: script, match: hidesProgram},
	{kind: script, match: installedRunner, added: never},

	{kind: rust, names: []string{
		".cargo/config", ".cargo/config.toml", "rust-toolchain", "rust-toolchain.toml", "nextest.toml",
	}},
	{kind: rust, names: []string{"Cargo.toml"}, differ: cargo.differs, added: never},

	{kind: jvm, names: []string{
		".mvn/", "gradle/wrapper/", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", "init.gradle", "init.gradle.kts",
		"junit-platform.properties", "testng.xml",
	}},
	{kind: jvm, names: []string{"pom.xml"}, differ: pomDiffers, added: never},
	{kind: jvm, names: []string{"build.gradle", "build.gradle.kts"}, differ: gradleDiffers, added: never},

	{kind: ruby, names: []string{
		".rspec", ".rspec-local", "spec_helper.rb", "rails_helper.rb", "test_helper.rb", ".simplecov",
	}},
	{kind: ruby, match: func(name string) bool {
		return path.Base(path.Dir(name)) == "minitest" && strings.HasSuffix(name, "_plugin.rb")
	}},
	{kind: dotnet, names: []string{"*.runsettings", "xunit.runner.json", "testconfig.json", "*.testsettings"}},
	{kind: dotnet, names: []string{"*.csproj", "*.fsproj", "*.vbproj"}, differ: projectDiffers, added: never},
	{kind: php, names: []string{
		"phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml", "Pest.php", "codeception.yml", "codeception.yml.dist",
		"phpspec.yml",
	}},
	{kind: php, names: []string{"composer.json"}, differ: composerDiffers, added: never},
	{kind: elixir, names: []string{"test_helper.exs", "config/test.exs"}},
	{kind: elixir, names: []string{"mix.exs"}, differ: mixDiffers, added: never},

	{kind: other, names: []string{".env.test", ".env.testing", ".env.test.local", ".envrc"}},
	{kind: other, names: []string{"CTestCustom.cmake", "CTestCustom.ctest", "CTestConfig.cmake"}},
	{kind: other, tools: []string{"make", "gmake"}, beside: makefiles, names: append([]string{"*.mk"}, makefiles...)},
	{kind: other, tools: []string{"just"}, beside: justfiles, names: append([]string{"*.just"}, justfiles...)},
	{kind: other, tools: []string{"task", "go-task"}, beside: taskfiles, names: taskfiles},
	{kind: other, tools: []string{"rake"}, beside: rakefiles, names: rakefiles},
	{kind: other, tools: []string{"mise"}, beside: misefiles, names: misefiles},
	{kind: other, tools: []string{"mage"}, beside: []string{"magefile.go"}, names: []string{"magefile.go"}},
}

// Alternative names: a tool takes the first that it finds, so an added file may hide another.
var (
	makefiles = []string{"GNUmakefile", "makefile", "Makefile"}
	justfiles = []string{"justfile", "Justfile", ".justfile"}
	taskfiles = []string{
		"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml", "taskfile.dist.yml",
		"Taskfile.dist.yaml", "taskfile.dist.yaml",
	}
	rakefiles = []string{"rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"}
	misefiles = []string{"mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml"}
)

// vendoredTests matches copies of test libraries. A new one is a new dependency.
func vendoredTests(name string) bool {
	_, module, vendored := cutFolder(name, "vendor")
	return vendored &&
		slices.ContainsFunc(
			[]string{
				"github.com/stretchr/testify/",
				"gotest.tools/",
				"github.com/onsi/",
				"github.com/google/go-cmp/",
				"github.com/frankban/quicktest/",
				"github.com/matryer/is/",
			},
			func(m string) bool { return strings.HasPrefix(module, m) },
		)
}

// pythonRunners are Python test runners and the modules that they use.
var pythonRunners = strings.Fields(`
	pytest _pytest pluggy iniconfig exceptiongroup unittest doctest nose nose2 py coverage hypothesis
	xdist mock abc argparse ast asyncio atexit bdb codecs collections contextlib copy dataclasses
	difflib dis encodings enum fnmatch functools gc genericpath glob importlib inspect io itertools json
	linecache locale logging ntpath opcode operator os pathlib pdb pkgutil posixpath pprint re reprlib
	runpy shlex shutil signal site sre_compile stat struct subprocess sys sysconfig tempfile textwrap
	threading token tokenize tomllib traceback types typing warnings weakref`)

// shadowsRunner matches modules that Python would take for the test runner if they were first on
// its path: at the root, in src or lib, or among the tests. Deeper in a package the same names are
// allowed.
func shadowsRunner(name string) bool {
	module, is := strings.CutSuffix(name, "/__init__.py")
	if !is {
		if module, is = strings.CutSuffix(name, ".py"); !is {
			return false
		}
	}
	folder, module := path.Split(module)
	return (folder == "" || folder == "src/" || folder == "lib/" || hasAnySuffix("/"+folder, "/test/", "/tests/")) &&
		slices.Contains(pythonRunners, module)
}

// uncheckedBytecode recognizes compiled Python that runs without a check against its source, so
// that it may be that of another test. Python writes it only on request.
func uncheckedBytecode(data []byte) bool {
	return len(data) >= 8 && binary.LittleEndian.Uint32(data[4:])&3 == 1
}

// shadowablePrograms are programs that are not installed as packages, and that a package manager
// would prefer to the user's.
var shadowablePrograms = []string{
	"node", "npm", "npx", "pnpm", "yarn", "bun", "sh", "bash", "env", "git", "make", "python", "python3", "go",
	"cargo",
}

func hidesProgram(name string) bool {
	_, program, installed := cutFolder(name, "node_modules/.bin")
	return installed && slices.Contains(shadowablePrograms, program)
}

var nodeRunners = []string{
	"jest", "vitest", "mocha", "chai", "ava", "tap", "tape", "jasmine", "karma", "cypress", "playwright", "sinon",
	"uvu", "qunit", "c8", "nyc", "expect", "supertest", "assert",
}

// installedRunner matches test libraries in a node_modules that is kept in the tree. A new one was
// installed.
func installedRunner(name string) bool {
	_, below, installed := cutFolder(name, "node_modules")
	first, _, _ := strings.Cut(strings.TrimPrefix(below, ".bin/"), "/")
	return installed &&
		(slices.Contains(nodeRunners, first) || slices.Contains(
			[]string{"@jest", "@vitest", "@playwright", "@testing-library", "@ava"}, first,
		))
}

// cutFolder splits a name at the first folder of that name.
func cutFolder(name, folder string) (before, after string, found bool) {
	return strings.Cut("/"+name, "/"+folder+"/")
}

// onlyIfAdded is for files that count only when they are added: an existing one belongs to the
// product.
func onlyIfAdded(*inspection, []byte, []byte) bool { return false }

// ruleIndex is the table, indexed for lookup.
type ruleIndex struct {
	exact    map[string]int // by the file's own name
	paths    map[string]int // by the end of the path, or the folder
	globs    []indexedGlob
	matchers []int // rules with a match function
}

type indexedGlob struct {
	glob, prefix string // prefix is the part before the first wildcard
	rule         int
}

var loadIndex = sync.OnceValue(func() *ruleIndex {
	b := &ruleIndex{exact: map[string]int{}, paths: map[string]int{}}
	for i, r := range rules {
		for _, name := range r.names {
			switch wild := strings.IndexByte(name, '*'); {
			case strings.Contains(name, "/"):
				b.paths["/"+name] = i
			case wild < 0:
				b.exact[name] = i
			default:
				b.globs = append(b.globs, indexedGlob{name, name[:wild], i})
			}
		}
		if r.match != nil {
			b.matchers = append(b.matchers, i)
		}
	}
	return b
})

var fixture = text.LazyRegexp(`(^|/)(testdata|fixtures?|__fixtures__)/`)

// steeringRule finds the rule for a name. A project that is a test's data configures nothing; files
// that a runner reads wherever it finds them, such as a conftest.py, still do.
func steeringRule(name string) (*rule, bool) {
	r, steers := ruleFor(name)
	if steers && (r.differ != nil || r.kind == golang) && fixture().MatchString(name) && testName(name) {
		return nil, false
	}
	return r, steers
}

// ruleFor finds the rule for a name alone.
func ruleFor(name string) (*rule, bool) {
	b, base := loadIndex(), path.Base(name)
	if i, is := b.exact[base]; is {
		return &rules[i], true
	}
	for _, g := range b.globs {
		if !strings.HasPrefix(base, g.prefix) {
			continue
		}
		if matches, _ := path.Match(g.glob, base); matches {
			return &rules[g.rule], true
		}
	}
	whole := "/" + name
	for end, i := range b.paths {
		if strings.HasSuffix(end, "/") && strings.Contains(whole, end) || strings.HasSuffix(whole, end) {
			return &rules[i], true
		}
	}
	for _, i := range b.matchers {
		if rules[i].match(name) {
			return &rules[i], true
		}
	}
	return nil, false
}

// steers reports whether a change of a file that a rule names counts.
func (in *inspection) steers(r *rule, change ralph.FileChange) (bool, error) {
	if len(r.tools) > 0 {
		used, err := in.uses(r.tools)
		if !used || err != nil {
			return false, err
		}
	}
	if change.Kind == ralph.FileAdded {
		return in.addedSteers(r, change)
	}
	if r.differ == nil {
		return true, nil
	}
	return in.compare(change, func(base, now []byte) bool { return r.differ(in, base, now) })
}

func (in *inspection) addedSteers(r *rule, change ralph.FileChange) (bool, error) {
	if len(r.beside) == 0 && !in.rules.base.tested(r.kind) {
		return false, nil
	}
	if r.added != nil {
		now, err := in.content(Now, change.Name)
		return err == nil && r.added(in, change.Name, now), err
	}
	for _, name := range r.beside {
		there, err := in.exists(path.Join(path.Dir(change.Name), name))
		if there || err != nil {
			return there, err
		}
	}
	return len(r.beside) == 0, nil
}

var wordBreaks = " \t\r\n;&|()<>\"'`$@{}[],="

// uses reports whether checks use one of the programs: in their own text, or in that of a script, a
// Makefile or a package.json that they run. Matching words instead of shell commands finds too
// many, which is merely cautious.
func (in *inspection) uses(programs []string) (bool, error) {
	if in.words == nil {
		if err := in.collectWords(); err != nil {
			return false, err
		}
	}
	return slices.ContainsFunc(programs, func(p string) bool { return in.words[p] }), nil
}

// indirect lists the files whose text tells what a program runs for a check.
var indirect = []struct {
	programs []string
	files    []string
}{
	{[]string{"make", "gmake"}, makefiles},
	{[]string{"just"}, justfiles},
	{[]string{"task", "go-task"}, taskfiles},
	{[]string{"rake"}, rakefiles},
	{[]string{"npm", "pnpm", "yarn", "bun"}, []string{"package.json"}},
	{[]string{"composer"}, []string{"composer.json"}},
}

func (in *inspection) collectWords() error {
	in.words = map[string]bool{}
	texts := slices.Clone(in.rules.checks)
	for _, name := range append(scriptNames(in.rules.checks), in.rules.literal...) {
		data, err := in.content(Base, name)
		if err != nil {
			return err
		}
		texts = append(texts, string(data))
	}
	in.addWords(texts)
	asked := map[string]bool{}
	for again := true; again; {
		again = false
		for _, way := range indirect {
			if !slices.ContainsFunc(way.programs, func(p string) bool { return in.words[p] }) {
				continue
			}
			for _, file := range way.files {
				if asked[file] {
					continue
				}
				asked[file], again = true, true
				data, err := in.content(Base, file)
				if err != nil {
					return err
				}
				in.addWords([]string{string(data)})
			}
		}
	}
	return nil
}

func (in *inspection) addWords(texts []string) {
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(wordBreaks, c) }) {
			in.words[word] = true
		}
	}
}

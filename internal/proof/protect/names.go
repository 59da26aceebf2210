package protect

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// ecosystem is a language with its testing conventions.
type ecosystem string

const (
	golang ecosystem = "go"
	python ecosystem = "python"
	script ecosystem = "javascript"
	rust   ecosystem = "rust"
	jvm    ecosystem = "jvm"
	ruby   ecosystem = "ruby"
	dotnet ecosystem = "dotnet"
	php    ecosystem = "php"
	elixir ecosystem = "elixir"
	other  ecosystem = "other" // tests in a language without known configuration files
)

var ecosystems = map[string]ecosystem{
	".go": golang, ".py": python, ".pyi": python, ".pyx": python,
	".js": script, ".jsx": script, ".ts": script, ".tsx": script, ".mjs": script, ".cjs": script, ".mts": script,
	".cts": script,
	".vue": script, ".svelte": script,
	".rs": rust, ".java": jvm, ".kt": jvm, ".kts": jvm, ".groovy": jvm, ".scala": jvm, ".rb": ruby,
	".cs": dotnet, ".fs": dotnet, ".vb": dotnet, ".php": php, ".phpt": php, ".ex": elixir, ".exs": elixir,
	".swift": other, ".dart": other, ".c": other, ".cc": other, ".cpp": other, ".cxx": other, ".h": other, ".hpp": other,
	".m": other, ".zig": other, ".lua": other, ".sh": other, ".bats": other, ".t": other, ".pl": other,
	".hs": other, ".clj": other, ".erl": other,
	".feature": other, ".robot": other,
}

// testFolders hold tests and their data, in any language.
var testFolders = []string{
	"test", "tests", "__tests__", "__snapshots__", "testdata", "Tests", "e2e", "integration_test",
	"integration-tests",
}

// supportFolders hold code that only tests import.
var supportFolders = []string{
	"testutil", "testutils", "testhelper", "testhelpers", "testsupport", "test_helpers", "test-utils",
	"test_utils", "__fixtures__", "__mocks__",
}

// dependencyFiles list what is installed. New tests need new entries, so these files are not tests
// even in a test folder.
var dependencyFiles = []string{
	"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb",
	"deno.lock", "Cargo.lock", "go.sum", "poetry.lock", "uv.lock", "pdm.lock",
	"Pipfile", "Pipfile.lock", "Gemfile", "Gemfile.lock", "composer.lock", "mix.lock", "gradle.lockfile",
	"packages.lock.json",
}

// Test reports whether a file is a test, or something that a test needs, judging by its name. Files
// that configure a run are not tests.
func (r Rules) Test(name string) bool {
	if _, steers := steeringRule(name); steers {
		return false
	}
	return testName(name)
}

func testName(name string) bool {
	base := path.Base(name)
	if slices.Contains(dependencyFiles, base) ||
		strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt") {
		return false
	}
	folders := strings.Split(path.Dir(name), "/")
	return testBase(base) || inTestFolder(folders, base)
}

// testStems match names of tests without their last extension.
var testStems = map[ecosystem]func() *regexp.Regexp{
	golang: text.LazyRegexp(`_test$`),
	elixir: text.LazyRegexp(`_test$`),
	python: text.LazyRegexp(`^test_|_test$|^tests?$`),
	script: text.LazyRegexp(`\.(test|spec|cy|e2e)$|[_-](test|spec)$|\.(test|spec)\.|^test$|^test-`),
	rust:   text.LazyRegexp(`^tests?$|_tests?$`),
	jvm:    text.LazyRegexp(`.(Test|Tests|TestCase)$|[a-z0-9](IT|ITCase)$`),
	dotnet: text.LazyRegexp(`.(Test|Tests)$`),
	ruby:   text.LazyRegexp(`_spec$|_test$|^test_`),
	php:    text.LazyRegexp(`.(Test|Cest)$`),
	other:  text.LazyRegexp(`_tests?$|_unittest$|\.test$|^test_`),
}

var (
	// In any language: recorded output, and formats that are only tests.
	testFormats = text.LazyRegexp(`\.(snap|golden|bats|phpt)$|\.(approved|verified)\.`)
	// PodSpec is a class in many products; only some languages have tests of that name.
	testClasses = text.LazyRegexp(`.Spec\.(groovy|scala|kt)$|.Tests\.swift$`)
)

// testBase recognizes a test by the last part of its name.
func testBase(base string) bool {
	if testFormats().MatchString(base) || testClasses().MatchString(base) {
		return true
	}
	ext := path.Ext(base)
	stem, known := testStems[ecosystems[ext]]
	return known && ext != ".kts" && stem().MatchString(strings.TrimSuffix(base, ext))
}

// inTestFolder recognizes a test by the folders that it is in.
func inTestFolder(folders []string, base string) bool {
	if strings.HasPrefix(strings.ToUpper(base), "README") {
		return false // documentation of a folder affects nothing
	}
	code := ecosystems[path.Ext(base)]
	for i, folder := range folders {
		switch {
		case slices.Contains(testFolders, folder), slices.Contains(supportFolders, folder):
			return true
		case folder == "spec" || folder == "specs":
			// The same word names folders with the specification, which belongs to the user and
			// often changes with the work.
			if code == ruby || code == script ||
				len(folders) > i+1 && slices.Contains([]string{"fixtures", "support", "cassettes", "factories"}, folders[i+1]) {
				return true
			}
		case i > 0 && folders[i-1] == "src" &&
			(strings.HasSuffix(folder, "Test") || strings.HasPrefix(folder, "test") && folder != "testing"):
			return true // src/test, src/androidTest, src/testFixtures
		case hasAnySuffix(folder, ".Tests", ".Test", ".UnitTests", ".IntegrationTests"):
			return true
		}
	}
	return false
}

func hasAnySuffix(s string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(s, suffix) })
}

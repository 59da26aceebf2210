package project

import (
	"cmp"
	"encoding/json"
	"go/build"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var goTest = text.LazyRegexp(`(?m)^func (?:Test|Fuzz|Example)(?:[^a-z(][^(]*)?\(`)

func lookGo(dir string) (command, because string) {
	// ./... includes neither packages of another module nor folders that begin with an underscore.
	enter := func(path string) bool { return !strings.HasPrefix(filepath.Base(path), "_") && !isFile(path, "go.mod") }
	return lookBelow(dir, "go.mod", "go test ./...", enter, isGoTest)
}

// lookBelow proposes a command for a folder with a file of that name, if there is a test below it.
func lookBelow(dir, file, command string, enter, isTest func(path string) bool) (string, string) {
	switch {
	case !isFile(dir, file):
		return "", ""
	case !seek(dir, enter, isTest):
		return "", "found " + file + ", but no test in it"
	}
	return command, "found " + file
}

// isGoTest reports whether `go test` on this machine, without more build tags, would run something
// in the file.
func isGoTest(path string) bool {
	folder, name := filepath.Split(path)
	if !strings.HasSuffix(name, "_test.go") {
		return false
	}
	text, readable := readFile(folder, name)
	if !readable {
		return true
	}
	// MatchFile would read the file again, to the end of its first comments, however long they are.
	here := build.Default
	here.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	if match, err := here.MatchFile(folder, name); err == nil && !match {
		return false
	}
	return goTest().MatchString(text)
}

// packageFile has the fields of a package.json that are needed here.
type packageFile struct {
	Scripts        map[string]any `json:"scripts"`
	PackageManager string         `json:"packageManager"`
}

func (p packageFile) script(name string) string {
	script, _ := p.Scripts[name].(string)
	return strings.TrimSpace(script)
}

// readPackage reads the package.json in dir. there is true even if the JSON is invalid.
func readPackage(dir string) (pkg packageFile, there, readable bool) {
	text, there := readFile(dir, "package.json")
	if !there {
		return packageFile{}, false, false
	}
	return pkg, true, json.Unmarshal([]byte(text), &pkg) == nil
}

func lookNode(dir string) (command, because string) {
	pkg, there, readable := readPackage(dir)
	if !there {
		return "", ""
	}
	script := pkg.script("test")
	switch {
	case !readable:
		return "", "found package.json, but cannot read it"
	case script == "":
		return "", "found package.json, but no test script in it"
	case strings.Contains(script, "no test specified"):
		return "", "found package.json, but its test script is npm's placeholder"
	case runsNothing(script):
		return "", "found package.json, but its test script runs no test"
	}
	manager, source := packageManager(dir, pkg.PackageManager)
	command = manager + " test"
	if manager == "bun" {
		command = "bun run test" // `bun test` is bun's own runner and would not run the script
	}
	return command, "found package.json with a test script" + source
}

// packageManager returns the package manager that the package declares, or else the one whose lock
// file exists.
func packageManager(dir, declared string) (name, source string) {
	name, _, _ = strings.Cut(declared, "@")
	switch name {
	case "npm", "pnpm", "yarn", "bun":
		return name, " and packageManager " + name
	}
	locks := []struct{ file, manager string }{
		{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"},
	}
	for _, lock := range locks {
		if isFile(dir, lock.file) {
			return lock.manager, " and " + lock.file
		}
	}
	return "npm", ""
}

func lookPython(dir string) (command, because string) {
	found := ""
	for _, file := range []string{"pyproject.toml", "pytest.ini", "setup.cfg", "requirements.txt"} {
		text, there := readFile(dir, file)
		if !there {
			continue
		}
		found = cmp.Or(found, file)
		// That setting decides which files have tests, and only pytest can interpret it.
		if strings.Contains(text, "python_files") {
			return "pytest", "found " + file
		}
	}
	if found == "" {
		return "", ""
	}
	isTest := func(path string) bool {
		name := filepath.Base(path)
		return strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".py") || strings.HasSuffix(name, "_test.py")
	}
	if !seek(dir, everywhere, isTest) {
		return "", "found " + found + ", but no test file (test_*.py or *_test.py)"
	}
	return "pytest", "found " + found
}

// rustTest matches the attributes of tests, including those of async and table-driven runners.
var rustTest = text.LazyRegexp(
	`#\[(?:\w+::)*test\b|#\[cfg\((?:\w+\()?test\b|#\[(?:rstest|test_case|quickcheck)\b|proptest!`,
)

func lookRust(dir string) (command, because string) {
	enter := func(path string) bool { return filepath.Base(path) != "target" }
	isTest := func(path string) bool {
		if filepath.Ext(path) != ".rs" {
			return false
		}
		text, readable := readFile(filepath.Split(path))
		return !readable || rustTest().MatchString(text)
	}
	return lookBelow(dir, "Cargo.toml", "cargo test", enter, isTest)
}

// A rule has its targets at the beginning of a line. `test := x` is not a rule.
var (
	makeRule     = text.LazyRegexp(`^([^\s:=#][^:=#]*?)\s*::?([^:=].*)?$`)
	makeVariable = text.LazyRegexp(`^\s*[\w.-]+\s*(?:::?|[+?!])?=`)
)

func lookMake(dir string) (command, because string) {
	file, text, there := readMakefile(dir)
	if !there {
		return "", ""
	}
	switch target := findTarget(text, "test"); {
	case target.works:
		return "make test", "found " + file + " with a test target"
	case target.there:
		return "", "found " + file + ", but its test target runs no test"
	}
	return "", "found " + file + ", but no test target in it"
}

// readMakefile reads the file that make would read. If there are several, it is the first in make's
// own order.
func readMakefile(dir string) (file, text string, there bool) {
	for _, file := range []string{"GNUmakefile", "makefile", "Makefile"} {
		text, there := readFile(dir, file)
		if there && hasEntry(dir, file) {
			return file, text, true
		}
	}
	return "", "", false
}

// hasEntry reports whether the folder has an entry with exactly this spelling. Opening the file
// does not tell on a file system that ignores case.
func hasEntry(dir, name string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
}

// makeTarget is what a Makefile says about one target.
type makeTarget struct {
	there  bool
	works  bool     // it has a prerequisite, or a recipe that runs something
	needs  []string // its prerequisites
	recipe []string // its lines that run something
}

// findTarget reads one target of a Makefile.
func findTarget(makefile, name string) makeTarget {
	var target makeTarget
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(makefile, "\r\n", "\n"), "\\\n", " "), "\n")
	inRecipe := false
	do := func(line string) {
		if !runsNothing(line) {
			target.recipe = append(target.recipe, line)
		}
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "\t") {
			if inRecipe {
				do(line)
			}
			continue
		}
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		inRecipe = false
		rule := makeRule().FindStringSubmatch(line)
		if rule == nil || !slices.Contains(strings.Fields(rule[1]), name) || makeVariable().MatchString(rule[2]) {
			continue
		}
		target.there, inRecipe = true, true
		prerequisites, recipe, _ := strings.Cut(rule[2], ";")
		prerequisites, _, _ = strings.Cut(prerequisites, "#")
		target.needs = append(target.needs, strings.Fields(strings.ReplaceAll(prerequisites, "|", " "))...)
		do(recipe)
	}
	target.works = len(target.needs) > 0 || len(target.recipe) > 0
	return target
}

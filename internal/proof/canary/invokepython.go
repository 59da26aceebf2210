package canary

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// python makes pytest name its tests through the environment, so that it works however pytest is
// started. Options in the command itself take precedence.
func (v *invoker) python() {
	mentioned := strings.Contains(v.command, "pytest") || strings.Contains(v.command, "py.test")
	unclear := len(runnersIn(v.tree, split(v.command))) == 0 && slices.ContainsFunc(v.tree.Files, pythonTest)
	if !mentioned && !unclear || strings.Contains(pytestConfig(v.tree)+v.command, "no:junitxml") {
		return
	}
	report := filepath.Join(v.dir, "pytest.xml")
	v.found.Env = append(v.found.Env, "PYTEST_ADDOPTS=--maxfail=0 --junitxml="+quoteIf(report))
	v.found.Reports = append(v.found.Reports, report)
}

func quoteIf(file string) string {
	if strings.ContainsAny(file, " \t'\"\\") {
		return shell.Quote(file)
	}
	return file
}

// pytestConfig returns the text of all files that may configure pytest.
func pytestConfig(t Tree) string {
	var text strings.Builder
	for _, name := range t.Files {
		switch path.Base(name) {
		case "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "conftest.py":
			text.WriteString(readText(t, name))
			text.WriteString("\n")
		}
	}
	return text.String()
}

var (
	pytestHarmless = text.LazyRegexp(
		`^(?:-[qvslr]\w*|--tb=\w+|--color=\w+|--no-header|--verbose|--quiet|--maxfail=0|--cov\S*|` +
			`--durations=\d+|-W\w*|--strict\S*)$`,
	)
	pytestSteers = text.LazyRegexp(
		`testpaths|norecursedirs|collect_ignore|python_files|python_classes|pytest_collection|pytest_ignore|` +
			`--ignore|--deselect|-k[ "=]|-m[ "=]|--co\b`,
	)
)

func (v *invoker) pytest(s segment, r runner) {
	certain := s.plain
	for _, arg := range r.args {
		if arg == "-x" || arg == "--exitfirst" || strings.HasPrefix(arg, "--maxfail") && arg != "--maxfail=0" ||
			arg == "--sw" || arg == "--stepwise" {
			v.found.Stops = true
		}
		certain = certain && pytestHarmless().MatchString(arg)
	}
	v.setKnown("python", certain && !pytestSteers().MatchString(pytestConfig(v.tree)))
}

func (v *invoker) unittest(s segment, r runner) {
	at, certain := r.last, s.plain
	if len(r.args) > 0 && strings.EqualFold(r.args[0], "discover") {
		at++
	}
	verbose, quiet := false, false
	for i, arg := range r.args {
		switch arg {
		case "-v", "--verbose":
			verbose = true
		case "-f", "--failfast":
			v.found.Stops, certain = true, false
		case "-q", "--quiet":
			quiet = true
		case "-b", "--buffer":
		default:
			certain = certain && i == 0 && at > r.last
		}
	}
	v.ownVerbose = v.ownVerbose || verbose
	if !verbose && !quiet && v.add(s, at, " -v") {
		v.found.UnittestVerbose = true
	}
	v.setKnown("python", certain && v.discoverable())
}

// discoverable reports whether discovery from the workspace finds every test: all folders on the
// way to it are packages.
func (v *invoker) discoverable() bool {
	packages := v.tree.set(func(name string) bool { return path.Base(name) == "__init__.py" })
	for _, name := range v.tree.Files {
		if isForeign(name) || !pythonTest(name) {
			continue
		}
		if !strings.HasPrefix(path.Base(name), "test") {
			return false
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if !packages[path.Join(dir, "__init__.py")] {
				return false
			}
		}
	}
	return true
}

// jvm adds the reports that Maven and Gradle write.
func (v *invoker) jvm(segments []segment) {
	for _, s := range segments {
		if len(s.words) == 0 {
			continue
		}
		switch path.Base(s.words[0].text) {
		case "mvn", "mvnw", "gradle", "gradlew", "make", "just", "ant":
			if slices.ContainsFunc(v.tree.Files, func(name string) bool {
				return strings.HasSuffix(name, ".java") ||
					strings.HasSuffix(name, ".kt")
			}) {
				v.found.Reports = append(
					v.found.Reports, "**/target/surefire-reports/TEST-*.xml", "**/build/test-results/*/TEST-*.xml",
				)
				return
			}
		}
	}
}

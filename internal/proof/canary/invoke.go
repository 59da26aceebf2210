package canary

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// Invocation is how to run a command so that its tests can be told apart.
type Invocation struct {
	// Command does the same as the original command and ends with the same status.
	Command string `json:"command"`
	// Env is added to the environment.
	Env []string `json:"env,omitempty"`
	// Reports are files or globs, relative to the workspace or absolute, that hold JUnit XML or
	// JSON afterwards. Only files that this run wrote count.
	Reports []string `json:"reports,omitempty"`
	// Known is true if the command certainly runs all tests of one ecosystem, and fails when one of
	// them does.
	Known bool `json:"known"`
	// Runs is the ecosystem that Known refers to: the first word of the keys of its canaries.
	Runs string `json:"runs,omitempty"`
	// Stops is true if the command may stop at its first failure. Then a test that did not run
	// means nothing.
	Stops bool `json:"stops,omitempty"`

	// GoJSON is true if -json was added to go test. Then GoVerbose is true if one of these commands has -v, and
	// GoLocal if one names no packages: go prints what passing packages print only in these two cases.
	GoJSON    bool `json:"go_json,omitempty"`
	GoVerbose bool `json:"go_verbose,omitempty"`
	GoLocal   bool `json:"go_local,omitempty"`
	// UnittestVerbose is true if -v was added to unittest.
	UnittestVerbose bool `json:"unittest_verbose,omitempty"`
}

// Invoke looks for test runners in a command and makes them name their tests. dir is a folder
// outside the workspace for reports.
func Invoke(t Tree, command, dir string) Invocation {
	v := invoker{tree: t, dir: dir, command: command}
	segments := split(command)
	for i, s := range segments {
		v.whole = decides(segments, i)
		v.invokeSegment(s)
	}
	v.python()
	v.jvm(segments)
	v.found.Command = insert(command, v.insertions)
	v.found.Stops = v.found.Stops || v.stopsElsewhere(segments)
	if v.ownJSON {
		v.found.GoJSON, v.found.GoVerbose, v.found.GoLocal = false, false, false
	}
	v.found.UnittestVerbose = v.found.UnittestVerbose && !v.ownVerbose
	return v.found
}

// decides reports whether the whole command fails when one segment does.
func decides(segments []segment, i int) bool {
	for j, s := range segments {
		if s.before == "||" || s.before == "|" || s.before == "&" || s.before == "(" || s.after == "&" {
			return false
		}
		if j == i && s.after == ";" && j < len(segments)-1 {
			return false
		}
		if j > i && s.before == ";" {
			return false
		}
	}
	return true
}

type invoker struct {
	tree       Tree
	dir        string
	command    string
	whole      bool // the current segment decides how the command ends
	moved      bool // the command changed its folder
	insertions []insertion
	found      Invocation
	// The user's own options already give the output that would be added. The two cannot be told apart in it, so
	// nothing is undone.
	ownJSON, ownVerbose bool
}

// runner is a test runner that a segment starts.
type runner struct {
	name string
	last int // index of the last word that names it; its arguments follow
	args []string
}

func (v *invoker) invokeSegment(s segment) {
	texts := s.texts()
	if len(texts) > 0 && (texts[0] == "cd" || texts[0] == "pushd") {
		v.moved = true
		return
	}
	r, ok := runnerOf(texts)
	if !ok {
		return
	}
	invoke := map[string]func(segment, runner){
		"go": v.goTest, "unittest": v.unittest, "pytest": v.pytest, "script": v.script, "cargo": v.cargo,
		"rspec": v.rspec, "node": v.node, "jest": v.json, "vitest": v.json,
	}[r.name]
	if invoke != nil {
		invoke(s, r)
	}
}

// add inserts words after the ones that name a runner, if the segment is plain.
func (v *invoker) add(s segment, at int, text string) bool {
	if !s.plain {
		return false
	}
	v.insertions = append(v.insertions, insertion{at: s.words[at].end, text: text})
	return true
}

func (v *invoker) setKnown(ecosystem string, certain bool) {
	if certain && v.whole && !v.moved && v.found.Runs == "" {
		v.found.Known, v.found.Runs = true, ecosystem
	}
}

// runnerOf finds the test runner behind words such as env, npx or poetry run.
func runnerOf(texts []string) (runner, bool) {
	i := 0
	at := func(n int) string {
		if n < len(texts) {
			return texts[n]
		}
		return ""
	}
	for i < len(texts) {
		name := path.Base(texts[i])
		next := at(i + 1)
		switch {
		case name == "env" || name == "time" || name == "npx" || name == "bunx" || name == "exec" || name == "command" ||
			assignment().MatchString(name):
			i++
		case slices.Contains(pythonManagers, name) && next == "run",
			(name == "pnpm" || name == "bundle" || name == "npm") && next == "exec":
			i += 2
		case name == "yarn" && slices.Contains(jsRunners, next):
			i++
		default:
			return namedRunner(texts, i, name)
		}
	}
	return runner{}, false
}

var (
	jsRunners  = []string{"jest", "vitest", "mocha", "ava"}
	pythonName = text.LazyRegexp(`^(?:python|pypy)[0-9.]*$`)
)

func namedRunner(texts []string, i int, name string) (runner, bool) {
	rest := texts[i+1:]
	begins := func(want ...string) bool { return len(rest) >= len(want) && slices.Equal(rest[:len(want)], want) }
	make := func(name string, used int) (runner, bool) {
		return runner{name: name, last: i + used, args: rest[used:]}, true
	}
	switch {
	case name == "go" && begins("test"):
		return make("go", 1)
	case name == "cargo" && begins("test"), name == "cargo" && begins("t"):
		return make("cargo", 1)
	case name == "pytest" || name == "py.test":
		return make("pytest", 0)
	case pythonName().MatchString(name):
		for j, word := range rest {
			if word == "-m" && j+1 < len(rest) && (rest[j+1] == "pytest" || rest[j+1] == "unittest") {
				return make(rest[j+1], j+2)
			}
			if isValue := j > 0 && (rest[j-1] == "-W" || rest[j-1] == "-X"); !strings.HasPrefix(word, "-") && !isValue {
				break
			}
		}
	case name == "node" && slices.Contains(rest, "--test"):
		return make("node", 0)
	case slices.Contains(jsRunners, name):
		return make(name, 0)
	case name == "rspec":
		return make("rspec", 0)
	case slices.Contains(packageManagers, name):
		return scriptRunner(texts, i)
	}
	return runner{}, false
}

// cargo makes cargo continue after the first target that fails, so that the others are seen.
func (v *invoker) cargo(s segment, r runner) {
	certain := s.plain
	for _, arg := range r.args {
		switch arg {
		case "--workspace", "--all", "--release", "-r", "-q", "--quiet", "--all-features", "--locked", "--offline",
			"--frozen", "--no-fail-fast", "-v", "--verbose":
		default:
			certain = false
		}
	}
	if !slices.Contains(r.args, "--no-fail-fast") && !v.add(s, r.last, " --no-fail-fast") {
		v.found.Stops = true
	}
	v.setKnown("rust", certain && strings.Contains(readText(v.tree, "Cargo.toml"), "[package]") && v.oneCrate())
}

// oneCrate reports whether the workspace has no other package: many settings decide which of
// several packages are tested.
func (v *invoker) oneCrate() bool {
	return !slices.ContainsFunc(v.tree.Files, func(name string) bool {
		return name != "Cargo.toml" &&
			path.Base(name) == "Cargo.toml"
	})
}

// rspec adds a report to the usual output.
func (v *invoker) rspec(s segment, r runner) {
	if hasFlag(r.args, "f", "format", "o", "out") ||
		slices.ContainsFunc(r.args, func(arg string) bool { return strings.HasPrefix(arg, "-f") }) {
		return
	}
	report := filepath.Join(v.dir, "rspec.json")
	if v.add(s, r.last, " --format progress --format json --out "+shell.Quote(report)) {
		v.found.Reports = append(v.found.Reports, report)
	}
}

// pythonManagers are the tools that run a command in a project's environment.
var pythonManagers = []string{"uv", "poetry", "pipenv", "hatch", "pdm", "rye"}

var (
	stopConfig = text.LazyRegexp(
		`^(?:package\.json|jest\.config\.\w+|vite(?:st)?\.config\.\w+|\.mocharc\.\w+|ava\.config\.\w+|` +
			`[Mm]akefile|[Jj]ustfile|Taskfile\.ya?ml|\.rspec)$`,
	)
	stopTools = text.LazyRegexp(
		`(?:^|[\s"':])(?:turbo|lerna|nx|wireit|pnpm (?:-r|--recursive)|make -j|parallel)(?:$|[\s"'])`,
	)
	bailSetting = text.LazyRegexp(`\b(?:bail|failFast)\b["']?\s*[:=]\s*(?:true|[1-9])`)
)

// stopsElsewhere reports tools that run several suites and stop early, or in parallel, when one
// fails.
func (v *invoker) stopsElsewhere(segments []segment) bool {
	text := v.command
	for _, s := range segments {
		if r, ok := runnerOf(s.texts()); ok && r.name == "script" {
			text += "\n" + scriptText(v.tree, r.args[0])
		}
	}
	for _, name := range v.tree.Files {
		if stopConfig().MatchString(name) {
			text += "\n" + readText(v.tree, name)
		}
	}
	if stopTools().MatchString(text) || bailSetting().MatchString(text) {
		return true
	}
	for _, word := range []string{"--bail", "--fail-fast", "--failfast", "-failfast", "--ff"} {
		if strings.Contains(text, word) && !strings.Contains(text, "--no"+strings.TrimPrefix(word, "-")) {
			return true
		}
	}
	return false
}

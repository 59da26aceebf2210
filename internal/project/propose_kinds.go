package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

func proposeGo(dir, command, because string) []candidate {
	if !isFile(dir, "go.mod") {
		return nil
	}
	var found proposals
	found.add(KindTest, command, because, "go test", "gotestsum")
	found.add(KindLint, "go vet ./...", "found go.mod", "go vet")
	found.addSet(
		KindLint,
		"golangci-lint run",
		firstFile(dir, ".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"),
		"golangci-lint",
	)
	ours := "."
	if info, err := os.Stat(filepath.Join(dir, "vendor")); err == nil && info.IsDir() {
		ours = "-v ^vendor/" // vendored code is not ours to format
	}
	// With test -z "$(…)", a gofmt that is missing or cannot read a file would look like one that
	// found nothing.
	format := `files=$(gofmt -l .) && ! printf %s "$files" | grep ` + ours
	return append(found, proposed(KindFormat, format, "found go.mod", "gofmt").needing("gofmt"))
}

// nodeScripts are the scripts that are checks by their names. Of each kind, the first usable one is
// proposed.
var nodeScripts = []struct {
	kind  Kind
	names []string
}{
	{KindLint, []string{"lint"}},
	{KindTypes, []string{"typecheck", "type-check", "check-types", "types", "tsc"}},
	{KindFormat, []string{"format:check", "prettier:check", "fmt:check", "check:format", "format-check"}},
	{KindE2E, []string{"e2e", "test:e2e", "playwright"}},
}

// Some scripts wait for a person, and some scripts named "types" create declarations instead of
// checking types.
var (
	opensWindow = text.LazyRegexp(`\bcypress open\b|(?:^|\s)--(?:ui|headed|watch)(?:[\s=]|$)`)
	checksTypes = text.LazyRegexp(`\b(?:tsc|tsgo|flow|tsd|pyright|svelte-check|astro check)\b`)
)

func proposeNode(dir, command, because string) []candidate {
	pkg, _, readable := readPackage(dir)
	if !readable {
		return nil
	}
	var found proposals
	found.add(KindTest, command, because, command, pkg.script("test"))
	manager, source := packageManager(dir, pkg.PackageManager)
	for _, proposal := range nodeScripts {
		for _, name := range proposal.names {
			script := pkg.script(name)
			if runsNothing(script) || mends().MatchString(script) || opensWindow().MatchString(script) {
				continue
			}
			if name == "types" && !checksTypes().MatchString(script) {
				continue
			}
			command := manager + " run " + name
			found.add(proposal.kind, command, "found package.json with "+article(name)+" script"+source, command, script)
			break
		}
	}
	return found
}

func proposePython(dir, command, because string) []candidate {
	var found proposals
	found.add(KindTest, command, because, "pytest")
	project := settingsFile(dir, "pyproject.toml")
	setup := settingsFile(dir, "setup.cfg")
	found.addSet(
		KindLint,
		"ruff check .",
		setIn(dir, []string{"ruff.toml", ".ruff.toml"}, project.section("tool.ruff")),
		"ruff check",
	)
	found.addSet(
		KindLint,
		"flake8",
		setIn(dir, []string{".flake8"}, setup.section("flake8"), settingsFile(dir, "tox.ini").section("flake8")),
		"flake8",
	)
	mypy := []section{
		settingsFile(dir, "mypy.ini").section("mypy"), settingsFile(dir, ".mypy.ini").section("mypy"),
		project.section("tool.mypy"), setup.section("mypy"),
	}
	found.addSet(KindTypes, mypyCommand(mypy), setIn(dir, nil, mypy...), "mypy")
	found.addSet(
		KindTypes,
		"pyright",
		setIn(dir, []string{"pyrightconfig.json"}, project.section("tool.pyright")),
		"pyright",
	)
	found.addSet(KindFormat, "black --check .", setIn(dir, nil, project.section("tool.black")), "black --check")
	found.addSet(KindFormat, "ruff format --check .", setIn(
		dir,
		nil,
		project.section(
			"tool.ruff.format",
		),
		settingsFile(dir, "ruff.toml").section("format"),
		settingsFile(dir, ".ruff.toml").section("format"),
	), "ruff format --check")
	return found
}

var mypyTargets = text.LazyRegexp(`(?m)^\s*(?:files|packages|modules)\s*=`)

// mypyCommand returns the command for mypy. It names the current folder unless the settings say
// what to check.
func mypyCommand(settings []section) string {
	first := slices.IndexFunc(settings, func(s section) bool { return s.there })
	if first >= 0 && mypyTargets().MatchString(settings[first].text) {
		return "mypy"
	}
	return "mypy ."
}

func proposeRust(dir, command, because string) []candidate {
	if !isFile(dir, "Cargo.toml") {
		return nil
	}
	var found proposals
	found.add(KindTest, command, because, "cargo test", "cargo nextest")
	cargo := settingsFile(dir, "Cargo.toml")
	from := setIn(
		dir,
		[]string{"clippy.toml", ".clippy.toml"},
		cargo.section("lints.clippy"),
		cargo.section("workspace.lints.clippy"),
	)
	if from == "" {
		from = workflowWith(dir, "cargo clippy")
	}
	if from != "" {
		found = append(
			found,
			proposed(KindLint, "cargo clippy -- -D warnings", "found "+from, "cargo clippy").needing("cargo", "cargo-clippy"),
		)
	}
	return append(
		found,
		proposed(KindFormat, "cargo fmt --check", "found Cargo.toml", "cargo fmt").needing("cargo", "cargo-fmt"),
	)
}

// workflowWith returns the first GitHub workflow that contains words, or "" if none does.
func workflowWith(dir, words string) string {
	const folder, most = ".github/workflows", 50
	entries, err := os.ReadDir(filepath.Join(dir, folder))
	if err != nil {
		return ""
	}
	for _, entry := range entries[:min(len(entries), most)] {
		name := folder + "/" + entry.Name()
		if text, ok := readFile(dir, name); ok && strings.Contains(text, words) {
			return name + " with " + words
		}
	}
	return ""
}

// settings is a file with sections, TOML or INI. A missing file has no text.
type settings struct{ name, text string }

func settingsFile(dir, name string) settings {
	text, _ := readFile(dir, name)
	return settings{name, text}
}

// section is the text below a heading and its subheadings, up to the next other heading.
type section struct {
	there bool
	from  string // such as "pyproject.toml with [tool.ruff]"
	text  string
}

var sectionHead = text.LazyRegexp(`^\s*\[+\s*([^\]]*?)\s*\]`)

func (s settings) section(name string) section {
	found := section{from: s.name + " with [" + name + "]"}
	inside := false
	for line := range strings.Lines(s.text) {
		if head := sectionHead().FindStringSubmatch(line); head != nil {
			inside = head[1] == name || strings.HasPrefix(head[1], name+".") || strings.HasPrefix(head[1], name+"-")
			found.there = found.there || inside
			continue
		}
		if inside {
			found.text += line
		}
	}
	return found
}

// setIn returns where a tool is configured: its own file or a section of another, or "" if it is
// not.
func setIn(dir string, files []string, sections ...section) string {
	if file := firstFile(dir, files...); file != "" {
		return file
	}
	for _, s := range sections {
		if s.there {
			return s.from
		}
	}
	return ""
}

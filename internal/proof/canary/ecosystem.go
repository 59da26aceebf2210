package canary

import (
	"path"
	"slices"
)

// ecosystems maps a runner to its ecosystem.
var ecosystems = map[string]string{
	"go": "go", "cargo": "rust", "maven": "java", "pytest": "python", "unittest": "python", "rspec": "ruby",
	"node": "javascript", "jest": "javascript", "vitest": "javascript", "mocha": "javascript", "ava": "javascript",
}

// mayRun reports whether the command may run tests of an ecosystem: it names one of its runners, or
// something that could run anything.
func (g *planner) mayRun(ecosystem string) bool {
	found := runnersIn(g.tree, g.segments)
	return len(found) == 0 ||
		slices.ContainsFunc(found, func(r runner) bool { return ecosystems[r.name] == ecosystem || ecosystems[r.name] == "" })
}

// runnersIn returns the runners that a command names. A script of package.json is replaced by the
// runners inside it.
func runnersIn(t Tree, segments []segment) []runner {
	var found []runner
	for _, s := range segments {
		r, ok := runnerOf(s.texts())
		if !ok {
			continue
		}
		if r.name == "script" {
			if inner := runnersIn(t, scriptSegments(t, r.args[0])); len(inner) > 0 {
				found = append(found, inner...)
				continue
			}
		}
		found = append(found, r)
	}
	return found
}

// KnowsRunner reports whether a command names a test runner, so that tests can be planted where it finds them.
func KnowsRunner(t Tree, command string) bool { return len(runnersIn(t, split(command))) > 0 }

// IsChain reports whether a check is more than one command.
func IsChain(command string) bool { return len(split(command)) > 1 }

// RanNoTests reports whether a run that ended well started a test runner that names its tests, and named
// none.
func RanNoTests(t Tree, command string, inv Invocation, out Outcome) bool {
	runs := slices.ContainsFunc(runnersIn(t, split(command)), func(r runner) bool { return r.name != "script" })
	named := inv.Command != command || len(inv.Env) > 0
	return runs && named && out.Exit == 0 && out.Total <= 0
}

// linters are programs that read source and run no test. Some count only with one of the listed
// subcommands.
var linters = map[string][]string{
	"gofmt": nil, "goimports": nil, "golangci-lint": nil, "staticcheck": nil, "ruff": nil, "mypy": nil,
	"pyright": nil, "flake8": nil, "black": nil, "isort": nil,
	"pylint": nil, "eslint": nil, "tsc": nil, "prettier": nil, "biome": nil, "rubocop": nil, "shellcheck": nil,
	"hadolint": nil,
	"go":       {"vet", "build", "fmt", "list", "mod"}, "cargo": {"fmt", "clippy", "check", "build"}, "cd": nil,
	"echo": nil, "true": nil, "test": nil,
}

// onlyLints reports whether a command consists of nothing but linters. Planting a canary would find
// that out at the price of two runs.
func onlyLints(segments []segment) bool {
	for _, s := range segments {
		texts := s.texts()
		if path.Base(texts[0]) == "npx" && len(texts) > 1 {
			texts = texts[1:]
		}
		parts, known := linters[path.Base(texts[0])]
		if !s.plain || !known || parts != nil && (len(texts) < 2 || !slices.Contains(parts, texts[1])) {
			return false
		}
	}
	return true
}

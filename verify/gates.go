package verify

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
)

// GateKind says what a gate looks at.
type GateKind string

// The kinds of gates, in the order in which they are proposed.
const (
	GateTest   GateKind = "test"
	GateLint   GateKind = "lint"
	GateTypes  GateKind = "types"
	GateFormat GateKind = "format"
	GateE2E    GateKind = "e2e"
)

var gateOrder = []GateKind{GateTest, GateLint, GateTypes, GateFormat, GateE2E}

// Gate is a check that a project could be held to.
type Gate struct {
	Kind    GateKind `json:"kind"`
	Command string   `json:"command"`
	Because string   `json:"because"` // what it was taken from, as "found .golangci.yml"
	// Missing names the program that it needs and that is not on PATH; "" if it could run.
	Missing string `json:"missing"`
}

// candidate is a gate and how to know it again.
type candidate struct {
	Gate
	programs []string // that must be on PATH; none: the command's first word
	marks    []string // words that show that another file's recipe runs the same
}

// Gates proposes every check that the project in dir has, by the files in its root
// folder: tests first, then lint, types, format and end-to-end tests. Where Detect has an
// answer, that is the first one of kind test. A script that mends what it finds is no
// gate, and a make target that only runs what is proposed already is left out. Gates
// reads files and starts nothing.
func Gates(dir string) []Gate {
	found := slices.Concat(goGates(dir), nodeGates(dir), pythonGates(dir), rustGates(dir))
	found = append(found, makeGates(dir, found)...)
	found = append(found, preCommitGates(dir)...)
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Compare(slices.Index(gateOrder, a.Kind), slices.Index(gateOrder, b.Kind))
	})
	gates := make([]Gate, 0, len(found))
	for _, c := range found {
		c.Missing = c.missing()
		gates = append(gates, c.Gate)
	}
	return gates
}

func (c candidate) missing() string {
	programs := c.programs
	if len(programs) == 0 {
		first, _, _ := strings.Cut(c.Command, " ")
		programs = []string{first}
	}
	for _, program := range programs {
		if _, err := process.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

func proposed(kind GateKind, command, because string, marks ...string) candidate {
	return candidate{Gate: Gate{Kind: kind, Command: command, Because: because}, marks: marks}
}

func (c candidate) needing(programs ...string) candidate {
	c.programs = programs
	return c
}

// firstFile is the first of the named files that dir has, "" if none.
func firstFile(dir string, names ...string) string {
	for _, name := range names {
		if isFile(dir, name) {
			return name
		}
	}
	return ""
}

func article(name string) string {
	if strings.HasPrefix(name, "e") {
		return "an " + name
	}
	return "a " + name
}

// A script with one of these rewrites what it was to judge.
var mends = lazily(`(?:^|\s)--(?:fix|write|in-place)(?:[\s=]|$)`)

func preCommitGates(dir string) []candidate {
	file := firstFile(dir, ".pre-commit-config.yaml", ".pre-commit-config.yml")
	if file == "" {
		return nil
	}
	return []candidate{proposed(GateLint, "pre-commit run --all-files", "found "+file)}
}

// makeGate is a target that by its name is a gate.
type makeGate struct {
	kind   GateKind
	target string
}

// check comes last: it often stands for all the others.
var makeGateTargets = []makeGate{
	{GateTest, "test"}, {GateLint, "lint"}, {GateTypes, "typecheck"}, {GateTypes, "type-check"},
	{GateFormat, "fmt-check"}, {GateFormat, "format-check"}, {GateFormat, "check-fmt"}, {GateFormat, "check-format"},
	{GateE2E, "e2e"}, {GateE2E, "test-e2e"}, {GateTest, "check"},
}

func makeGates(dir string, before []candidate) []candidate {
	file, text, there := readMakefile(dir)
	if !there {
		return nil
	}
	var marks []string
	for _, c := range before {
		marks = append(marks, c.marks...)
	}
	var gates []candidate
	known := []string{} // targets that are proposed, or need not be
	for _, gate := range makeGateTargets {
		target := findTarget(text, gate.target)
		switch {
		case !target.works:
			continue
		case !target.covered(known, marks) && !slices.ContainsFunc(target.recipe, mends().MatchString):
			gates = append(gates, proposed(gate.kind, "make "+gate.target, "found "+file+" with "+article(gate.target)+" target"))
		}
		known = append(known, gate.target)
	}
	return gates
}

// covered reports whether everything that the target does is proposed already.
func (t makeTarget) covered(known, marks []string) bool {
	for _, need := range t.needs {
		if !slices.Contains(known, need) {
			return false
		}
	}
	for _, line := range t.recipe {
		for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(";&|", r) }) {
			if !runsNothing(part) && !slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(spelledOut(part), mark) }) {
				return false
			}
		}
	}
	return true
}

var makeReference = lazily(`\$[({](\w+)[)}]`)

// spelledOut puts a program in the place of the variable that is usually named after it:
// $(GO) test is go test, $(GOLANGCI_LINT) run is golangci-lint run.
func spelledOut(recipe string) string {
	return makeReference().ReplaceAllStringFunc(recipe, func(reference string) string {
		return strings.ReplaceAll(strings.ToLower(reference[2:len(reference)-1]), "_", "-")
	})
}

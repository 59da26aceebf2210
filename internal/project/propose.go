package project

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
)

// Kind says what a proposed check looks at.
type Kind string

// The kinds of checks, in the order in which they are proposed.
const (
	KindTest   Kind = "test"
	KindLint   Kind = "lint"
	KindTypes  Kind = "types"
	KindFormat Kind = "format"
	KindE2E    Kind = "e2e"
)

var kindOrder = []Kind{KindTest, KindLint, KindTypes, KindFormat, KindE2E}

// Proposal is a check that a project could be held to.
type Proposal struct {
	Kind    Kind   `json:"kind"`
	Command string `json:"command"`
	Because string `json:"because"` // what it was taken from, as "found .golangci.yml"
	// Missing names the program that it needs and that is not on PATH; "" if it could run.
	Missing string `json:"missing"`
}

// candidate is a proposal and how to know it again.
type candidate struct {
	Proposal
	programs []string // that must be on PATH; none: the command's first word
	marks    []string // words that show that another file's recipe runs the same
}

// Propose lists every check that the project in dir has, by the files in its root
// folder: tests first, then lint, types, format and end-to-end tests. Where Detect has an
// answer, that is the first one of kind test. A script that mends what it finds is not
// proposed, nor is a make target that only runs what is proposed already. Propose reads
// files and starts nothing.
func Propose(dir string) []Proposal {
	found := slices.Concat(proposeGo(dir), proposeNode(dir), proposePython(dir), proposeRust(dir))
	found = append(found, proposeMake(dir, found)...)
	found = append(found, proposePreCommit(dir)...)
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Compare(slices.Index(kindOrder, a.Kind), slices.Index(kindOrder, b.Kind))
	})
	proposals := make([]Proposal, 0, len(found))
	for _, c := range found {
		c.Missing = c.missing()
		proposals = append(proposals, c.Proposal)
	}
	return proposals
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

func proposed(kind Kind, command, because string, marks ...string) candidate {
	return candidate{Proposal: Proposal{Kind: kind, Command: command, Because: because}, marks: marks}
}

// proposals are the candidates of one kind of project.
type proposals []candidate

// add proposes a command, if there is one.
func (p *proposals) add(kind Kind, command, because string, marks ...string) {
	if command != "" {
		*p = append(*p, proposed(kind, command, because, marks...))
	}
}

// addSet proposes the command of a tool that is set up in a file; "" is none.
func (p *proposals) addSet(kind Kind, command, file string, marks ...string) {
	if file != "" {
		p.add(kind, command, "found "+file, marks...)
	}
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
var mends = text.LazyRegexp(`(?:^|\s)--(?:fix|write|in-place)(?:[\s=]|$)`)

func proposePreCommit(dir string) (found proposals) {
	found.addSet(
		KindLint,
		"pre-commit run --all-files",
		firstFile(dir, ".pre-commit-config.yaml", ".pre-commit-config.yml"),
	)
	return found
}

// namedTarget is a target whose name says that it is a check.
type namedTarget struct {
	kind   Kind
	target string
}

// check comes last: it often stands for all the others.
var makeTargets = []namedTarget{
	{KindTest, "test"}, {KindLint, "lint"}, {KindTypes, "typecheck"}, {KindTypes, "type-check"},
	{KindFormat, "fmt-check"}, {KindFormat, "format-check"}, {KindFormat, "check-fmt"}, {KindFormat, "check-format"},
	{KindE2E, "e2e"}, {KindE2E, "test-e2e"}, {KindTest, "check"},
}

func proposeMake(dir string, before []candidate) []candidate {
	file, text, there := readMakefile(dir)
	if !there {
		return nil
	}
	var marks []string
	for _, c := range before {
		marks = append(marks, c.marks...)
	}
	var found proposals
	known := []string{} // targets that are proposed, or need not be
	for _, named := range makeTargets {
		target := findTarget(text, named.target)
		switch {
		case !target.works:
			continue
		case !target.covered(known, marks) && !slices.ContainsFunc(target.recipe, mends().MatchString):
			found.add(named.kind, "make "+named.target, "found "+file+" with "+article(named.target)+" target")
		}
		known = append(known, named.target)
	}
	return found
}

// covered reports whether everything that the target does is proposed already.
func (t makeTarget) covered(known, marks []string) bool {
	if slices.ContainsFunc(t.needs, func(need string) bool { return !slices.Contains(known, need) }) {
		return false
	}
	for _, line := range t.recipe {
		for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(";&|", r) }) {
			if !runsNothing(part) &&
				!slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(spelledOut(part), mark) }) {
				return false
			}
		}
	}
	return true
}

var makeReference = text.LazyRegexp(`\$[({](\w+)[)}]`)

// spelledOut puts a program in the place of the variable that is usually named after it:
// $(GO) test is go test, $(GOLANGCI_LINT) run is golangci-lint run.
func spelledOut(recipe string) string {
	return makeReference().ReplaceAllStringFunc(recipe, func(reference string) string {
		return strings.ReplaceAll(strings.ToLower(reference[2:len(reference)-1]), "_", "-")
	})
}

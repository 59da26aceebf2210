package project

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/process"
	"github.com/ralphloop/ralph/internal/text"
)

// Kind is what a proposed check examines.
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

// Proposal is a check that a project could have.
type Proposal struct {
	Kind    Kind   `json:"kind"`
	Command string `json:"command"`
	Because string `json:"because"` // what it was derived from, such as "found .golangci.yml"
	// Missing is the program that the check needs but that is not on PATH; "" if it can run.
	Missing string `json:"missing"`
}

// Used reports whether a run without configured checks uses the check. It uses a test whose runner is missing, so that
// it reports that instead of proving less.
func (p Proposal) Used() bool { return p.Kind == KindTest || p.Missing == "" }

// candidate is a proposal and how to recognize the same check elsewhere.
type candidate struct {
	Proposal
	language string   // "" for make and pre-commit
	programs []string // must be on PATH; default: the command's first word
	marks    []string // words that show that a recipe in another file runs the same
}

// Propose lists every check that the project in dir has: tests first, then lint, types, format and
// end-to-end tests. It does not propose a script that rewrites files, nor a make target that only
// runs what is already proposed.
func Propose(dir string) []Proposal {
	found, _ := survey(dir)
	return found
}

// survey lists the checks of a project, and the kinds of projects it found without a test.
func survey(dir string) (found []Proposal, untested []string) {
	all, untested := inFolder(dir, func(language) bool { return true })
	if !slices.ContainsFunc(all, candidate.isMakeTest) { // a test target at the root covers the folders below
		below, untestedBelow := inSubfolders(dir, all)
		all, untested = append(all, below...), append(untested, untestedBelow...)
	}
	all = append(all, proposePreCommit(dir)...)
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Compare(slices.Index(kindOrder, a.Kind), slices.Index(kindOrder, b.Kind))
	})
	found = make([]Proposal, 0, len(all))
	for _, c := range all {
		c.Missing = c.missing()
		found = append(found, c.Proposal)
	}
	return found, untested
}

// language knows the checks of one kind of project. look finds its tests: it returns no command but
// a reason if dir has a project without tests, and neither if dir has no such project. propose adds
// the other checks to what look found.
type language struct {
	name    string
	look    func(dir string) (command, because string)
	propose func(dir, command, because string) []candidate
}

var languages = []language{
	{"go", lookGo, proposeGo},
	{"node", lookNode, proposeNode},
	{"python", lookPython, proposePython},
	{"rust", lookRust, proposeRust},
}

// inFolder lists the checks of one folder in the wanted languages and in its Makefile.
func inFolder(dir string, wanted func(language) bool) (found []candidate, untested []string) {
	for _, l := range languages {
		if !wanted(l) {
			continue
		}
		command, because := l.look(dir)
		for _, c := range l.propose(dir, command, because) {
			c.language = l.name
			found = append(found, c)
		}
		if command == "" && because != "" {
			untested = append(untested, because)
		}
	}
	found = append(found, proposeMake(dir, found)...)
	if command, because := lookMake(dir); command == "" && because != "" {
		untested = append(untested, because)
	}
	return found, untested
}

// missing is the first program that the check needs and that is not on PATH.
func (c candidate) missing() string {
	for _, program := range c.needs() {
		if _, err := process.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// needs lists the programs that the check needs.
func (c candidate) needs() []string {
	if len(c.programs) > 0 {
		return c.programs
	}
	first, _, _ := strings.Cut(c.Command, " ")
	return []string{first}
}

func (c candidate) isMakeTest() bool { return c.Kind == KindTest && c.language == "" }

func proposed(kind Kind, command, because string, marks ...string) candidate {
	return candidate{Proposal: Proposal{Kind: kind, Command: command, Because: because}, marks: marks}
}

// proposals collects the candidates of one kind of project.
type proposals []candidate

// add adds a command unless it is "".
func (p *proposals) add(kind Kind, command, because string, marks ...string) {
	if command != "" {
		*p = append(*p, proposed(kind, command, because, marks...))
	}
}

// addSet adds the command of a tool that is configured in a file. It adds nothing if file is "".
func (p *proposals) addSet(kind Kind, command, file string, marks ...string) {
	if file != "" {
		p.add(kind, command, "found "+file, marks...)
	}
}

func (c candidate) needing(programs ...string) candidate {
	c.programs = programs
	return c
}

// firstFile returns the first of the named files that dir has, or "" if it has none.
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

// mends matches the flags of scripts that rewrite the code instead of judging it.
var mends = text.LazyRegexp(`(?:^|\s)--(?:fix|write|in-place)(?:[\s=]|$)`)

func proposePreCommit(dir string) (found proposals) {
	found.addSet(
		KindLint,
		"pre-commit run --all-files",
		firstFile(dir, ".pre-commit-config.yaml", ".pre-commit-config.yml"),
	)
	return found
}

// namedTarget is a make target that is a check by its name.
type namedTarget struct {
	kind   Kind
	target string
}

// The target "check" comes last, because it often runs all the others.
var makeTargets = []namedTarget{
	{KindTest, "test"}, {KindLint, "lint"}, {KindTypes, "typecheck"}, {KindTypes, "type-check"},
	{KindFormat, "fmt-check"}, {KindFormat, "format-check"}, {KindFormat, "check-fmt"}, {KindFormat, "check-format"},
	{KindE2E, "e2e"}, {KindE2E, "test-e2e"}, {KindLint, "check"},
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
	known := []string{} // targets that are already proposed or covered
	for _, named := range makeTargets {
		target := findTarget(text, named.target)
		switch {
		case !target.works:
			continue
		case target.covered(known, marks):
		case named.kind == KindTest || !slices.ContainsFunc(target.recipe, mends().MatchString):
			found.add(named.kind, "make "+named.target, "found "+file+" with "+article(named.target)+" target")
		}
		known = append(known, named.target)
	}
	return found
}

// covered reports whether everything that the target does is already proposed.
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

// spelledOut replaces a variable by the program that it is usually named after: $(GO) test becomes
// go test, $(GOLANGCI_LINT) run becomes golangci-lint run.
func spelledOut(recipe string) string {
	return makeReference().ReplaceAllStringFunc(recipe, func(reference string) string {
		return strings.ReplaceAll(strings.ToLower(reference[2:len(reference)-1]), "_", "-")
	})
}

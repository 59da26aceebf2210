package canary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// maxListed limits the tests that a proof names.
const maxListed = 20

// Row holds the runs of one check that a proof compares.
type Row struct {
	// Then is the base before any agent worked; nil if that is not known.
	Then *Outcome
	// Today is the base with planted tests. Claimed is the claimed tree. Canary is the claimed tree with
	// planted tests, Literals that with changed literals.
	Today, Claimed, Canary, Literals Outcome
	// Stops is true if the command may stop at its first failure. Then a test that did not run means
	// nothing. It follows from the command and the base, because the product must not decide it.
	Stops bool
	// Chained is true if the check is more than one command, so that one that fails may keep the next from running.
	Chained bool
	// Changed is true if the claimed tree has other versions of the base's tests. They may have new names,
	// so only their number counts.
	Changed bool
	// Unheard lists test files that name no test on the claimed tree, nor at the base, which could not load something.
	Unheard []string
	// Excused lists tests that passed and failed on one tree, and forms of names that come and go, sorted.
	Excused []string
}

// Judge judges a row. The proof lacks what only several runs of a column can show.
func (r Row) Judge() ralph.Proof {
	proof := ralph.Proof{Tests: max(0, r.Claimed.Total)}
	proof.Canary, proof.Detail = r.judgeCanary()
	switch why := r.judgeLiterals(); {
	case why != "" && proof.Canary != ralph.CanaryGreen:
		proof.Canary, proof.Detail = ralph.CanaryGreen, why
	case proof.Canary == ralph.CanaryNone && len(r.Literals.Failing) > 0 && !r.firedAtBase():
		proof.Canary, proof.Detail = ralph.CanaryRed, "" // a script noticed that its expected value was changed
	}
	if len(r.Unheard) > 0 && proof.Canary != ralph.CanaryGreen {
		proof.Canary = ralph.CanaryGreen
		proof.Detail = fmt.Sprintf(
			"No test of %s ran on the claimed tree; at the base it could not be loaded.", text.List(r.Unheard),
		)
	}
	missing, lost, why := r.missingTests()
	if len(r.Canary.Planted) == 0 && r.firedAtBase() {
		lost = max(1, lost)
	}
	proof.Missing, proof.Lost = missing, lost
	proof.Detail = strings.TrimSpace(proof.Detail + " " + why)
	return proof
}

// Base returns the run that tells which tests the base has.
func (r Row) Base() Outcome {
	if r.Then != nil && (r.Then.Total >= 0 || r.Today.Total < 0) {
		return *r.Then
	}
	return r.Today
}

// judgeCanary judges the run with planted tests.
func (r Row) judgeCanary() (ralph.CanaryState, string) {
	now := r.Canary
	if len(now.Planted) == 0 {
		return r.judgeNoPlace()
	}
	fired := intersect(r.Today.Failing, now.Planted)
	if why := cmp.Or(r.liar(), r.othersFail()); why != "" {
		return ralph.CanaryGreen, why
	}
	switch {
	case now.BrokeOff() && len(fired) > 0 && !r.Today.BrokeOff():
		return ralph.CanaryGreen, fmt.Sprintf(
			"The run with a deliberately failing test stopped with status %d; at the base that test made the check fail.",
			now.Exit,
		)
	case now.BrokeOff():
		return ralph.CanaryMute, fmt.Sprintf(
			"The run with a deliberately failing test stopped with status %d, so it proves nothing.", now.Exit,
		)
	case !now.Red:
		return r.judgePass(fired)
	case len(now.Failing) == 0 && len(fired) > 0:
		return ralph.CanaryGreen, fmt.Sprintf(
			"The check exited with %d without running the deliberately failing test in %s, which it ran at the base.",
			now.Exit, describe(fired[0]),
		)
	case len(now.Failing) == 0:
		return ralph.CanaryMute, "The check failed with a deliberately failing test, but that test was not seen."
	}
	if why := cmp.Or(r.silenced(fired), r.notAsClaimed(now)); why != "" {
		return ralph.CanaryGreen, why
	}
	return ralph.CanaryRed, ""
}

// judgeLiterals judges the run with changed literals. It returns "" if exactly the changed tests failed.
func (r Row) judgeLiterals() string {
	now := r.Literals
	if len(now.Literals) == 0 {
		return ""
	}
	if len(now.Passing) > 0 {
		return "It passed although Ralph had changed an expected value in its copy: " + describe(now.Passing[0]) + "."
	}
	unread := without(now.Literals, now.Failing)
	switch {
	case now.BrokeOff():
		return "" // a test that fails early may leave something open that keeps its process alive
	case now.Counted > 0 && now.Counted < now.Wanted:
		return fmt.Sprintf(
			"Ralph changed an expected value in each of %d tests, and %d of them failed.", now.Wanted, now.Counted,
		)
	case now.ByStatus:
		return "" // what else fails is unknown
	case len(unread) > 0 && !r.Stops && !(r.Chained && len(now.Failing) > 0):
		return fmt.Sprintf("A test did not run when its expected value was changed: %s.", describe(unread[0]))
	case !now.Red && r.firedAtBase():
		return fmt.Sprintf("The check passed although a test failed: %s.", describe(now.Failing[0]))
	}
	return r.notAsClaimed(now)
}

// judgeNoPlace judges a tree that has no place for a canary. If one made the check fail at the base, the
// tests beside it are gone.
func (r Row) judgeNoPlace() (ralph.CanaryState, string) {
	if !r.firedAtBase() {
		return ralph.CanaryNone, "It runs no tests that Ralph knows."
	}
	return ralph.CanaryNone, fmt.Sprintf(
		"The tests next to which Ralph planted a failing one are gone: %s.", describe(r.Today.Failing[0]),
	)
}

// firedAtBase reports whether planted tests made the check fail at the base.
func (r Row) firedAtBase() bool { return r.Today.Red && len(r.Today.Failing) > 0 }

// liar describes a planted test that passed.
func (r Row) liar() string {
	for _, key := range without(r.Canary.Passing, r.Today.Passing) {
		return fmt.Sprintf("A deliberately failing test passed: %s.", describe(key))
	}
	return ""
}

// othersFail describes tests that fail beside a canary, on a claimed tree on which none does, where tests are counted
// and not named. More may fail if more did at the base.
func (r Row) othersFail() string {
	now := r.Canary
	if !now.Red || now.Names() || now.BrokeOff() || r.Claimed.Counted > 0 || !r.countedAtBase() {
		return ""
	}
	if now.Counted <= max(len(now.Planted), r.Today.Counted-r.Then.Counted) {
		return ""
	}
	return fmt.Sprintf(
		"%d tests fail although only %d should; on the claimed tree none does.", now.Counted,
		len(now.Planted),
	)
}

// countedAtBase reports whether the base tells how many tests fail because of the canaries: all of them failed there,
// or none was reached.
func (r Row) countedAtBase() bool {
	counted := r.Then != nil && r.Today.Counted > 0 && (!r.Then.Red || r.Then.Counted > 0)
	all := len(without(r.Canary.Planted, r.Today.Failing)) == 0
	none := len(r.Canary.Failing)+len(r.Today.Failing) == 0
	return counted && (all || none)
}

// judgePass judges a check that passed despite tests that must fail.
func (r Row) judgePass(fired []string) (ralph.CanaryState, string) {
	base, now := r.Today, r.Canary
	switch {
	case base.Red && len(fired) > 0:
		return ralph.CanaryGreen, fmt.Sprintf(
			"The check passed with a deliberately failing test in %s; at the base that test made it fail.",
			describe(fired[0]),
		)
	case len(now.Silent) > 0 && len(intersect(now.Silent, base.Silent)) == 0:
		return ralph.CanaryGreen, fmt.Sprintf(
			"The check passed without running the deliberately failing test in %s.", describe(now.Silent[0]),
		)
	case len(now.Failing) > 0 && base.Red && slices.Contains(slices.Collect(maps.Values(base.Tests)), Failed):
		return ralph.CanaryGreen, "Tests fail inside the check, but it exits with 0; at the base it failed with them."
	case base.Red && r.Then != nil && r.Then.Counted > 0 && now.Counted >= base.Counted:
		return ralph.CanaryGreen, fmt.Sprintf(
			"%d tests fail inside the check, but it exits with 0; at the base it failed with them.", now.Counted,
		)
	case len(now.Failing) > 0:
		return ralph.CanaryMute, "Tests fail inside the check, but it still exits with 0."
	}
	return ralph.CanaryMute, "It does not run the failing test that Ralph planted, and did not before the run."
}

// silenced describes a canary that failed at the base and not now, although the check fails.
func (r Row) silenced(fired []string) string {
	base, now := r.Today, r.Canary
	if hidden := without(intersect(now.Hidden, fired), base.Hidden); len(hidden) > 0 {
		return fmt.Sprintf(
			"A deliberately failing test in %s failed, but its package was reported as passed; at the base it was not.",
			describe(hidden[0]),
		)
	}
	if r.Stops {
		return ""
	}
	if silent := without(fired, now.Failing); len(silent) > 0 {
		return fmt.Sprintf("A deliberately failing test in %s failed at the base and no longer does.", describe(silent[0]))
	}
	if dark := without(without(now.Silent, base.Silent), now.Failing); len(dark) > 0 && base.Red {
		return fmt.Sprintf("The tests of %s passed without running the deliberately failing one.", describe(dark[0]))
	}
	return ""
}

// notAsClaimed describes a test of the project that passes on the claimed tree, and not while another test must
// fail. A test that a canary disturbs at the base, too, does not count.
func (r Row) notAsClaimed(now Outcome) string {
	failed, gone := r.beside(now)
	switch {
	case len(failed) > 0:
		return fmt.Sprintf("%s passes on the claimed tree, but not beside a deliberately failing test.", text.List(failed))
	case len(gone) > 0:
		return fmt.Sprintf("%s ran on the claimed tree, but not beside a deliberately failing test.", text.List(gone))
	}
	return ""
}

// beside returns the project's own tests that pass on the claimed tree and fail, or did not run, where another
// test must fail. Both lists are sorted and have at most as many names as a proof lists.
func (r Row) beside(now Outcome) (failed, gone []string) {
	for name, state := range r.Claimed.Tests {
		if state != Passed || isExcused(r.Excused, name) || r.disturbed(name) || now.skews(name) {
			continue
		}
		switch is, ran := now.Tests[name]; {
		case is == Failed || is == Ran:
			failed = append(failed, name)
		case (!ran || is == Skipped) && !r.Stops && r.Today.ran(name):
			gone = append(gone, name)
		}
	}
	return listed(failed), listed(gone)
}

// skews reports whether a literal was changed in a test.
func (o Outcome) skews(name string) bool { return o.Skewed[name] || o.Skewed[setsOf(name)] }

// setsOf returns what the names of all sets of pytest's parameters begin with. The rest changes with a literal.
func setsOf(name string) string {
	test, _, _ := strings.Cut(name, "[")
	return test + "["
}

// disturbed reports whether a canary keeps a test from passing at the base, too.
func (r Row) disturbed(name string) bool {
	return r.Then != nil && r.Then.Tests[name] == Passed && r.Today.Tests[name] != Passed
}

func listed(names []string) []string {
	slices.Sort(names)
	return names[:min(len(names), maxListed)]
}

// missingTests returns the tests of the base that did not run on the claimed tree.
func (r Row) missingTests() (missing []string, lost int, why string) {
	base, now := r.Base(), r.Claimed
	if base.Total <= 0 || base.BrokeOff() { // a passing check stops nowhere
		return nil, 0, ""
	}
	if r.Changed || !base.Complete || len(base.Tests) == 0 || !base.stableNames() {
		if ran := max(0, now.Total); ran < base.Total {
			return nil, base.Total - ran, fmt.Sprintf("%d tests ran at the base, %d now.", base.Total, ran)
		}
		return nil, 0, ""
	}
	for name, state := range base.Tests {
		if state == Skipped || hasForm(r.Excused, name) {
			continue
		}
		switch is, known := now.Tests[name]; {
		case !known:
			missing = append(missing, name)
		case is == Skipped:
			missing = append(missing, name+" (skipped)")
		}
	}
	return listed(missing), len(missing), ""
}

// describe turns a key into text for people.
func describe(key string) string {
	parts := strings.SplitN(key, " ", 4)
	switch {
	case len(parts) > 3:
		return fmt.Sprintf("%s in %s", parts[3], parts[1])
	case len(parts) == 3 && parts[1] == ".":
		return fmt.Sprintf("the workspace's root (%s)", parts[0])
	case len(parts) == 3:
		return fmt.Sprintf("%s (%s)", parts[1], parts[0])
	}
	return key
}

func intersect(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(key string) bool { return !slices.Contains(b, key) })
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(key string) bool { return slices.Contains(b, key) })
}

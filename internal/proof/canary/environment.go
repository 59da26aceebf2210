package canary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// maxRecorded limits the names of tests that the log has for one check.
const maxRecorded = 2000

// Differences lists what differs between the base before any agent worked and the base today. Both runs have the
// same files and the same command, so a difference comes from their environment. It reports false if the runs
// cannot be compared, because of what was planted today: then the check must run once more, with nothing
// planted. Excused tests passed and failed on one tree.
func Differences(then, today Outcome, stops bool, excused []string) (different []string, comparable bool) {
	planted := len(today.Planted) > 0
	switch {
	case then.Stopped, then.Exit < 0:
		return nil, true // nothing is known about the base
	case then.BrokeOff() && (today.BrokeOff() || today.Red && !planted):
		return nil, true
	case then.BrokeOff() && today.Red: // perhaps only because of what was planted
		return nil, false
	case then.BrokeOff(), today.BrokeOff():
		return []string{fmt.Sprintf("it ended with %s, and today with %s", then.ending(), today.ending())}, !planted
	}
	if then.Sum != "" {
		if planted {
			return nil, false
		}
		return differentSums(then, today, excused), true
	}
	if then.Total < 0 || len(then.Tests)+len(today.Tests) == 0 { // no names are known
		switch {
		case then.Red == today.Red && !(planted && today.Red), countsAs(then, today):
			return nil, true
		case planted && today.Red:
			return nil, false
		}
		return []string{fmt.Sprintf("it ended with %s, and today with %s", then.ending(), today.ending())}, true
	}
	if planted && (today.Unbuilt && !then.Unbuilt || len(today.Tests) == 0) {
		return nil, false
	}
	if len(today.Tests) == 0 {
		return []string{fmt.Sprintf("%d tests were named, and today none", len(then.Tests))}, true
	}
	return differentTests(then, today, stops, excused), true
}

// countsAs reports whether the base passed then, and today exactly the planted tests fail beside as many others. If it
// failed then, only a run with nothing planted tells that it still does.
func countsAs(then, today Outcome) bool {
	planted := len(today.Failing)
	return !then.Red && today.Red && planted > 0 && planted == len(today.Planted) && today.Counted == planted &&
		today.Total == then.Total
}

func differentTests(then, today Outcome, stops bool, excused []string) (different []string) {
	names := maps.Clone(then.Tests)
	if names == nil {
		names = map[string]State{}
	}
	maps.Copy(names, today.Tests)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, ranThen := then.Tests[name]
		now, ranToday := today.Tests[name]
		switch {
		case isExcused(excused, name), then.ended(name) == today.ended(name):
		case !ranThen && !then.Complete, !ranToday && !today.Complete, stops && !(ranThen && ranToday):
		case !ranThen:
			different = append(different, fmt.Sprintf("%s did not run, and today it %s", name, now))
		case !ranToday:
			different = append(different, fmt.Sprintf("%s %s, and today it does not run", name, before))
		default:
			different = append(different, fmt.Sprintf("%s %s, and today it %s", name, before, now))
		}
	}
	return different
}

// differentSums compares runs of which one has no names. If some tests are flaky, only the numbers of tests count.
func differentSums(then, today Outcome, excused []string) []string {
	if today.sum() == then.Sum || len(excused) > 0 && today.Total == then.Total {
		return nil
	}
	return []string{fmt.Sprintf("%d tests ran, and today %d, or other ones fail", then.Total, today.Total)}
}

// FlakyIn returns the tests that ended differently in two runs of one tree, sorted. A test with a number in its
// name that occurs in one of them only, such as TestPort/41234, is listed by its form.
func FlakyIn(a, b Outcome) []string {
	flaky := map[string]bool{}
	for _, runs := range [][2]Outcome{{a, b}, {b, a}} {
		for name := range runs[0].Tests {
			switch _, both := runs[1].Tests[name]; {
			case both && a.ended(name) != b.ended(name):
				flaky[name] = true
			case !both && nameForm(name) != name && len(runs[1].Tests) > 0:
				flaky[nameForm(name)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(flaky))
}

var digits = text.LazyRegexp(`[0-9]+`)

// nameForm returns a test's name without its numbers.
func nameForm(name string) string { return digits().ReplaceAllString(name, "#") }

// isExcused reports whether a test, or the form of its name, is in a sorted list.
func isExcused(excused []string, name string) bool {
	_, byName := slices.BinarySearch(excused, name)
	return byName || hasForm(excused, name)
}

// hasForm reports whether tests with names of the same form come and go.
func hasForm(excused []string, name string) bool {
	_, found := slices.BinarySearch(excused, nameForm(name))
	return found && nameForm(name) != name
}

// Seen returns what the log keeps of an outcome.
func (o Outcome) Seen() *ralph.TestsSeen {
	seen := &ralph.TestsSeen{Total: o.Total, Unstable: o.Unstable}
	if len(o.Tests) > maxRecorded {
		seen.Sum = o.sum()
		return seen
	}
	for name := range o.Tests {
		switch o.ended(name) {
		case Passed:
			seen.Passed = append(seen.Passed, name)
		case Skipped:
			seen.Skipped = append(seen.Skipped, name)
		default:
			seen.Failed = append(seen.Failed, name)
		}
	}
	slices.Sort(seen.Passed)
	slices.Sort(seen.Failed)
	slices.Sort(seen.Skipped)
	return seen
}

// OutcomeOf returns the outcome that the log has of a check.
func OutcomeOf(result ralph.CheckResult) Outcome {
	out := Outcome{Exit: ExitOf(result), Total: -1, Complete: true}
	out.Red = out.Exit != 0
	if result.Tests == nil {
		return out
	}
	out.Total, out.Sum, out.Unstable = result.Tests.Total, result.Tests.Sum, result.Tests.Unstable
	for state, names := range map[State][]string{
		Passed: result.Tests.Passed, Failed: result.Tests.Failed, Skipped: result.Tests.Skipped,
	} {
		for _, name := range names {
			if out.Tests == nil {
				out.Tests = map[string]State{}
			}
			out.Tests[name] = state
		}
	}
	return out
}

// ExitOf returns a check's exit status, or -1 if it did not end by itself.
func ExitOf(result ralph.CheckResult) int {
	switch {
	case result.TimedOut, result.Broken:
		return -1
	case !result.Passed && result.ExitCode == 0:
		return 1
	}
	return result.ExitCode
}

// ended returns how a test ended. One that began and did not end failed.
func (o Outcome) ended(name string) State {
	if o.Tests[name] == Ran {
		return Failed
	}
	return o.Tests[name]
}

// ran reports whether a test ran.
func (o Outcome) ran(name string) bool { return o.Tests[name] != "" && o.Tests[name] != Skipped }

// sum returns a digest of how all tests ended.
func (o Outcome) sum() string {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(o.Tests)) {
		fmt.Fprintf(hash, "%s %s\n", o.ended(name), name)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// ending describes the end of a run.
func (o Outcome) ending() string {
	if o.Exit < 0 {
		return "no exit code, because it was stopped"
	}
	return fmt.Sprintf("exit %d", o.Exit)
}

// BrokeOff reports whether a run may have ended early, so that it names only some of its tests: it crashed, timed out
// or was killed, or the status says so.
func (o Outcome) BrokeOff() bool { return o.Exit < 0 || o.Exit > 125 }

// Names reports whether the runner names all of its tests.
func (o Outcome) Names() bool { return o.Complete && len(o.Tests) > 0 }

// stableNames reports whether few enough names change between runs. If many do, names that look harmless may change,
// too.
func (o Outcome) stableNames() bool { return o.Unstable*100 <= 3*(len(o.Tests)+o.Unstable) }

// Run returns what a table shows of an outcome.
func (o Outcome) Run(column ralph.ProofColumn) ralph.ProofRun {
	run := ralph.ProofRun{
		Column: column, Exit: o.Exit, Tests: o.Total, Planted: len(o.Planted), Fired: len(o.Failing),
	}
	for name := range o.Tests {
		switch o.ended(name) {
		case Passed:
			run.Passed++
		case Skipped:
			run.Skipped++
		default:
			run.Failed++
		}
	}
	return run
}

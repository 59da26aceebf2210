package canary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
)

// maxMissing limits the tests that a proof names.
const maxMissing = 20

// Compare judges a check that was run with canaries at the base and on the claimed tree. inv is how
// it was run now. A base without results is the zero Outcome.
func Compare(base, now Outcome, inv Invocation) ralph.Proof {
	proof := ralph.Proof{Tests: max(0, now.Total)}
	proof.Canary, proof.Detail = judgeCanaries(base, now, inv)
	missing, lost, why := compareTests(base, now, inv)
	proof.Missing, proof.Lost = missing, lost
	if why != "" {
		proof.Detail = strings.TrimSpace(proof.Detail + " " + why)
	}
	return proof
}

// NoPlace judges a tree that has no place for a canary. If a canary made the check fail at the
// base, the tests beside it are gone.
func NoPlace(base Outcome) ralph.Proof {
	fired := without(base.Failing, base.Claims)
	if !base.Red || len(fired) == 0 {
		return ralph.Proof{Canary: ralph.CanaryNone, Detail: "It runs no tests that Ralph knows."}
	}
	return ralph.Proof{Canary: ralph.CanaryNone, Lost: max(1, base.Total),
		Detail: fmt.Sprintf(
			"The tests next to which Ralph planted a failing one are gone: %s.", describe(fired[0]),
		)}
}

// Recount looks again for missing tests, in a run without canaries. They may be missing because a
// canary did its job: it failed before the next command, or broke a build. An inconclusive run
// excuses nothing.
func Recount(proof ralph.Proof, base, bare Outcome, inv Invocation) ralph.Proof {
	if bare.Total < 0 || bare.Cut || bare.BrokeOff() {
		return proof
	}
	proof.Detail = strings.TrimSpace(strings.TrimSuffix(proof.Detail, testCounts(base, proof.Tests)))
	proof.Tests = max(0, bare.Total)
	missing, lost, why := compareTests(base, bare, inv)
	proof.Missing, proof.Lost = missing, lost
	proof.Detail = strings.TrimSpace(proof.Detail + " " + why)
	return proof
}

// judgeCanaries judges what the canaries showed.
func judgeCanaries(base, now Outcome, inv Invocation) (ralph.CanaryState, string) {
	if len(now.Planted) == 0 {
		return ralph.CanaryNone, "It runs no tests that Ralph knows."
	}
	both := intersect(base.Planted, now.Planted)
	if len(both) > 0 {
		if liars := without(now.Passing, base.Passing); len(liars) > 0 {
			return ralph.CanaryGreen, fmt.Sprintf("A deliberately failing test passed: %s.", describe(liars[0]))
		}
	} else if liars := without(now.Passing, now.Claims); len(liars) > 0 {
		return ralph.CanaryGreen, fmt.Sprintf("A deliberately failing test passed: %s.", describe(liars[0]))
	}
	fired := without(intersect(base.Failing, both), now.Claims)
	switch {
	case now.BrokeOff() && len(fired) > 0 && !base.BrokeOff():
		return ralph.CanaryGreen, fmt.Sprintf(
			"The run with a deliberately failing test stopped with status %d; at the base that test made the check fail.",
			now.Exit,
		)
	case now.BrokeOff():
		return ralph.CanaryMute, fmt.Sprintf(
			"The run with a deliberately failing test stopped with status %d, so it proves nothing.", now.Exit,
		)
	case !now.Red:
		return judgePass(base, now, fired)
	case len(now.Failing) == 0:
		return judgeUnseen(now, base, fired)
	}
	return judgeFail(base, now, inv, fired)
}

// judgePass judges a check that passed despite tests that must fail.
func judgePass(base, now Outcome, fired []string) (ralph.CanaryState, string) {
	switch {
	case base.Red && len(fired) > 0:
		return ralph.CanaryGreen, fmt.Sprintf(
			"The check passed with a deliberately failing test in %s; at the base that test made it fail.",
			describe(fired[0]),
		)
	case len(now.Silent) > 0 &&
		!slices.ContainsFunc(now.Silent, func(key string) bool { return slices.Contains(base.Silent, key) }):
		return ralph.CanaryGreen, fmt.Sprintf(
			"The check passed without running the deliberately failing test in %s.", describe(now.Silent[0]),
		)
	case len(now.Failing) > 0:
		return ralph.CanaryMute, "Tests fail inside the check, but it still exits with 0."
	}
	return ralph.CanaryMute, "It does not run the failing test that Ralph planted, and did not before the run."
}

// judgeUnseen judges a check that failed although no canary was seen.
func judgeUnseen(now, base Outcome, fired []string) (ralph.CanaryState, string) {
	switch {
	case len(fired) == 0:
		return ralph.CanaryMute, "The check failed with a deliberately failing test, but that test was not seen."
	case now.Unbuilt || now.Named:
		return ralph.CanaryMute, "The deliberately failing test could not be built or loaded on this tree."
	case !base.Red:
		return ralph.CanaryMute, "The check failed, but the deliberately failing test was not seen."
	}
	return ralph.CanaryGreen, fmt.Sprintf(
		"The check exited with %d without running the deliberately failing test in %s, which it ran at the base.",
		now.Exit, describe(fired[0]),
	)
}

// judgeFail judges a check that some canary made fail. A canary that failed at the base and not now
// was silenced, unless the run may have ended before it.
func judgeFail(base, now Outcome, inv Invocation, fired []string) (ralph.CanaryState, string) {
	if hidden := without(intersect(now.Hidden, fired), base.Hidden); len(hidden) > 0 {
		return ralph.CanaryGreen, fmt.Sprintf(
			"A deliberately failing test in %s failed, but its package was reported as passed; at the base it was not.",
			describe(hidden[0]),
		)
	}
	if !inv.Stops && !now.Cut && !base.Cut && !now.Unbuilt {
		for _, key := range without(fired, now.Failing) {
			ecosystem, _, _ := strings.Cut(key, " ")
			if inv.Known && inv.Runs == ecosystem || keepsGoing(fired, now.Failing, ecosystem) {
				return ralph.CanaryGreen, fmt.Sprintf(
					"A deliberately failing test in %s failed at the base and no longer does.", describe(key),
				)
			}
		}
		if dark := without(without(now.Silent, base.Silent), now.Failing); len(dark) > 0 && base.Red {
			return ralph.CanaryGreen, fmt.Sprintf(
				"The tests of %s passed without running the deliberately failing one.", describe(dark[0]),
			)
		}
	}
	return ralph.CanaryRed, ""
}

// keepsGoing reports whether a run did not stop at the first failure: at the base at least two
// canaries of an ecosystem failed, and one of those fails now.
func keepsGoing(fired, failing []string, ecosystem string) bool {
	own := slices.DeleteFunc(slices.Clone(fired), func(key string) bool { return !strings.HasPrefix(key, ecosystem+" ") })
	return len(own) > 1 && len(intersect(own, failing)) > 0
}

// describe turns a key into text for people.
func describe(key string) string {
	parts := strings.SplitN(key, " ", 4)
	switch {
	case len(parts) > 3:
		name, _, _ := strings.Cut(parts[3], " ")
		return fmt.Sprintf("%s (%s, a project test with a wrong expectation)", parts[1], name)
	case len(parts) == 3 && parts[1] == ".":
		return fmt.Sprintf("the workspace's root (%s)", parts[0])
	case len(parts) == 3:
		return fmt.Sprintf("%s (%s)", parts[1], parts[0])
	}
	return key
}

// compareTests returns the tests of the base that did not run.
func compareTests(base, now Outcome, inv Invocation) (missing []string, lost int, why string) {
	if inv.Stops || base.Cut || now.Cut || base.Total <= 0 || now.BrokeOff() {
		return nil, 0, ""
	}
	if now.Total < 0 && !(inv.Known && !now.Red) {
		return nil, 0, ""
	}
	alike := now.Total < 0 || now.Complete && slices.Equal(base.Formats, now.Formats)
	if !alike || !base.Complete || len(base.Tests) == 0 || !stableNames(base) {
		if ran := max(0, now.Total); ran < base.Total {
			return nil, base.Total - ran, testCounts(base, ran)
		}
		return nil, 0, ""
	}
	for name, state := range base.Tests {
		if state == Skipped {
			continue
		}
		switch is, known := now.Tests[name]; {
		case !known:
			missing = append(missing, name)
		case is == Skipped:
			missing = append(missing, name+" (skipped)")
		}
	}
	slices.Sort(missing)
	lost = len(missing)
	if lost > maxMissing {
		missing = missing[:maxMissing]
	}
	return missing, lost, ""
}

func testCounts(base Outcome, ran int) string {
	return fmt.Sprintf("%d tests ran at the base, %d now.", base.Total, ran)
}

// BrokeOff reports whether a run did not end by itself: it timed out or was killed.
func (o Outcome) BrokeOff() bool { return o.Exit < 0 || o.Exit > 125 }

// stableNames reports whether few enough names change between runs. If many do, names that look
// harmless may change, too.
func stableNames(base Outcome) bool { return base.Unstable*100 <= 3*(len(base.Tests)+base.Unstable) }

func intersect(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(key string) bool { return !slices.Contains(b, key) })
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(key string) bool { return slices.Contains(b, key) })
}

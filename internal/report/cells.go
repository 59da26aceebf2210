package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

var canaryTexts = map[ralph.CanaryState]string{
	ralph.CanaryRed:   "yes, it failed with a test that must fail",
	ralph.CanaryGreen: "**no, it passed with a planted test**",
	ralph.CanaryMute:  "unknown",
	ralph.CanaryNone:  "unknown",
}

func (pr Proof) text() (canary, tests string) {
	canary = cmp.Or(canaryTexts[pr.Canary], prose(string(pr.Canary)))
	if pr.Detail != "" && pr.Canary != ralph.CanaryRed {
		canary += " (" + prose(pr.Detail) + ")"
	}
	if pr.Tests > 0 {
		tests = text.Count(pr.Tests, "test") + " ran"
	}
	if pr.Lost > 0 {
		tests = strings.TrimPrefix(tests+", ", ", ") + fmt.Sprintf("**%d of the original tests did not**", pr.Lost)
	}
	if len(pr.Missing) > 0 {
		tests += ": " + codes(pr.Missing)
	}
	return canary, tests
}

func (c Check) name() string {
	if c.Hidden {
		return prose(c.Name)
	}
	return code(c.Name)
}

// named is the check with the task that it belongs to.
func (c Check) named() string {
	if c.Task == "" {
		return c.name()
	}
	return code(c.Task) + ": " + c.name()
}

func (c Check) result() string {
	result := fmt.Sprintf("**FAIL** (exit %d)", c.ExitCode)
	switch {
	case c.Passed:
		result = "PASS"
	case c.Broken:
		result = "**CANNOT RUN**"
	case c.TimedOut:
		result = "**TIMED OUT**"
	}
	switch {
	case c.Flaked:
		result += fmt.Sprintf(", %d attempts, **flaked**", max(c.Attempts, 2))
	case c.Attempts > 1:
		result += fmt.Sprintf(", %d attempts", c.Attempts)
	}
	return result
}

// canFail tells what a planted test showed, and which tests ran.
func (c Check) canFail() string {
	if c.Proof == nil {
		return "not tried"
	}
	canary, tests := c.Proof.text()
	return joined(canary, tests)
}

// joined is the texts that are not empty.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ", ")
}

func (c Check) isolation() string {
	mode := cmp.Or(prose(c.Isolation), "none")
	if c.NeedsAccess != ralph.AccessIsolated {
		mode += ", weaker: " + prose(string(c.NeedsAccess))
	}
	return mode
}

func (c Check) after() string {
	switch c.TreeAfter {
	case "":
		return "" // it was not recorded
	case c.Tree:
		return "" // as it should be
	}
	return "**" + code(shortTree(c.TreeAfter)) + " afterwards**"
}

// codes formats the first of many texts as code.
func codes(texts []string) string { return first(texts, code) }

func proses(texts []string) string { return first(texts, prose) }

func first(texts []string, how func(string) string) string {
	const shown = 10
	all := text.Mapped(texts[:min(shown, len(texts))], how)
	if n := len(texts) - shown; n > 0 {
		all = append(all, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(all, ", ")
}

// short returns the beginning of a hash, enough to compare by eye. The JSON has the whole hash.
func short(hash string) string {
	return hash[:min(len(hash), 12)]
}

// shortTree shortens both parts of a tree's id.
func shortTree(id string) string {
	commit, rest, ok := strings.Cut(id, "+")
	if !ok {
		return short(id)
	}
	return strings.Trim(short(commit)+"+"+short(rest), "+")
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime) + "Z"
}

func seconds(s ralph.Span) string {
	if s.Duration() >= time.Minute {
		return s.Duration().Truncate(time.Second).String()
	}
	return fmt.Sprintf("%.1fs", s.Seconds())
}

// text is the time and the bill.
func (s Spent) text() string { return joined(seconds(s.Duration), s.bill()) }

// bill is the tokens and the cost.
func (s Spent) bill() string {
	if s.Tokens == nil && s.Cost == nil {
		return "cost unknown"
	}
	return s.tokens() + " tokens, " + s.money()
}

func (s Spent) tokens() string {
	if s.Tokens == nil {
		return "unknown"
	}
	return atLeast[s.TokensPartial] + strconv.FormatInt(s.Tokens.Total(), 10)
}

// money formats the cost. It marks estimates and partial sums.
func (s Spent) money() string {
	switch {
	case s.Cost == nil:
		return "unknown"
	case s.CostEstimated:
		return fmt.Sprintf("%s~$%.4f (estimated)", atLeast[s.CostPartial], *s.Cost)
	}
	return fmt.Sprintf("%s$%.4f", atLeast[s.CostPartial], *s.Cost)
}

var atLeast = map[bool]string{true: "at least "}

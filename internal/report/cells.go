package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

var canaryTexts = map[ralph.CanaryState]string{
	ralph.CanaryRed:   "failed, as it must",
	ralph.CanaryGreen: "**passed: the check cannot fail**",
	ralph.CanaryMute:  "silent: it had no effect at the base either",
	ralph.CanaryNone:  "none",
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

func (c Check) result() string {
	switch {
	case c.Passed:
		return "PASS"
	case c.Broken:
		return "**CANNOT RUN**"
	case c.TimedOut:
		return "**TIMED OUT**"
	}
	return "**FAIL**"
}

func (c Check) attempts() string {
	if c.Flaked {
		return fmt.Sprintf("%d, **flaked**", max(c.Attempts, 2))
	}
	return strconv.Itoa(max(c.Attempts, 1))
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
		return "not checked"
	case c.Tree:
		return "the same"
	}
	return "**" + code(shortTree(c.TreeAfter)) + "**"
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

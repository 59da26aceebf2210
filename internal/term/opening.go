package term

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
)

// opening collects the first lines of a run: the run, its agent and its checks. Notices about one
// of them are added to its line, so that nothing appears twice.
type opening struct {
	resumed   bool
	run       string
	agent     string // "" if none starts
	access    string // what the agent may do, and whether it runs in a sandbox
	checks    string
	detected  string // why the checks were chosen
	isolation string // how checks run
	notes     []string
}

func newOpening(run string, data ralph.RunStarted) *opening {
	return &opening{
		run:    fmt.Sprintf("run %s in %s: %s", run, Clean(data.Workspace), limits(data.Policy)),
		agent:  agentLine(data.Agent, data.Model),
		checks: checksLine(data.Checks),
	}
}

// resumedOpening is the opening of a run that continues.
func resumedOpening(run string, data ralph.RunResumed, checks []string) *opening {
	o := &opening{
		resumed: true,
		run:     fmt.Sprintf("run %s continues: %s", run, limits(data.Policy)),
		agent:   agentLine(data.Agent, data.Model),
		checks:  checksLine(checks),
	}
	if n := data.Interrupted; n > 0 {
		o.note("iteration %d was interrupted before its agent ended; it does not count toward the limit", n)
	}
	if n := data.Judged; n > 0 {
		o.note("iteration %d was interrupted after its agent ended; judging it now", n)
	}
	return o
}

func (o *opening) note(format string, n int) { o.notes = append(o.notes, "  "+fmt.Sprintf(format, n)) }

func limits(p ralph.Policy) string {
	limits := []string{"no iteration limit"}
	if n := p.MaxIterations; n > 0 {
		limits[0] = "at most " + Count(n, "iteration")
	}
	if t := p.MaxTime; t > 0 {
		limits = append(limits, t.String())
	}
	if c := p.MaxCost; c > 0 {
		limits = append(limits, Money(c, false))
	}
	if n := p.MaxTokens; n > 0 {
		limits = append(limits, fmt.Sprintf("%d tokens", n))
	}
	return strings.Join(limits, ", ")
}

func agentLine(agent, model string) string {
	line := "agent: " + Clean(agent)
	if model != "" {
		line += ", model " + Clean(model)
	}
	return line
}

func checksLine(checks []string) string {
	if len(checks) == 0 {
		return ""
	}
	return "checks: " + Clean(strings.Join(checks, "; "))
}

// addNotice adds a notice to the line that it is about, or to the notes.
func (o *opening) addNotice(n ralph.Notice, lines []string) {
	switch n.Code {
	case "permissions":
		o.access = Clean(n.Text)
	case "no_sandbox": // already in the agent's line
	case "check_detected":
		o.detected = Clean(n.Text)
	case "isolation":
		o.isolation = strings.TrimPrefix(Clean(n.Text), "checks ")
	case "unverified", "evaluator_only", "own_checks_only", "hidden_checks_only":
		o.checks = Clean(n.Text)
	default:
		o.notes = append(o.notes, lines...)
	}
}

// lines returns at most three lines, followed by the notes.
func (o *opening) lines() []string {
	agent := joinPhrases(o.agent, o.access)
	if o.agent == "agent: command" && o.access != "" { // access says so already
		agent = "agent: " + o.access
	}
	lines := []string{o.run}
	if o.agent != "" {
		lines = append(lines, agent)
	}
	if checks := joinPhrases(o.checks, o.detected, o.isolation); checks != "" {
		lines = append(lines, checks)
	}
	return append(lines, o.notes...)
}

func joinPhrases(phrases ...string) string {
	var said []string
	for _, phrase := range phrases {
		if phrase != "" {
			said = append(said, phrase)
		}
	}
	return strings.Join(said, ", ")
}

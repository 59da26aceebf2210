package term

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
)

// opening gathers the first lines of a run: the run, its agent, its checks. Notices of the same moment that say more about one of them join its line,
// so that nothing is said twice.
type opening struct {
	run      string
	agent    string
	access   string // what the agent may do, and whether a sandbox is around it
	checks   string
	detected string // why the checks were chosen
	how      string // they run
	notes    []string
}

func newOpening(run string, data ralph.RunStarted) *opening {
	limits := []string{"no iteration limit"}
	if n := data.Policy.MaxIterations; n > 0 {
		limits[0] = "at most " + Count(n, "iteration")
	}
	if t := data.Policy.MaxTime; t > 0 {
		limits = append(limits, t.String())
	}
	if c := data.Policy.MaxCost; c > 0 {
		limits = append(limits, Money(c, false))
	}
	if n := data.Policy.MaxTokens; n > 0 {
		limits = append(limits, fmt.Sprintf("%d tokens", n))
	}
	o := &opening{run: fmt.Sprintf("run %s in %s: %s", run, Clean(data.Workspace), strings.Join(limits, ", "))}
	o.agent = "agent: " + Clean(data.Agent)
	if data.Model != "" {
		o.agent += ", model " + Clean(data.Model)
	}
	if len(data.Checks) > 0 {
		o.checks = "checks: " + Clean(strings.Join(data.Checks, "; "))
	}
	return o
}

// join takes a notice up.
func (o *opening) join(n ralph.Notice, lines []string) {
	switch n.Code {
	case "permissions":
		o.access = Clean(n.Text)
	case "no_sandbox": // the agent's line says it
	case "check_detected":
		o.detected = Clean(n.Text)
	case "isolation":
		o.how = strings.TrimPrefix(Clean(n.Text), "checks ")
	case "unverified", "evaluator_only", "own_checks_only", "hidden_checks_only":
		o.checks = "checks: " + strings.TrimPrefix(Clean(n.Text), "no checks: ")
	default:
		o.notes = append(o.notes, lines...)
	}
}

// lines are what the opening says, at most three and the notes.
func (o *opening) lines() []string {
	agent := joinPhrases(o.agent, o.access)
	if o.agent == "agent: command" && o.access != "" { // which says it again
		agent = "agent: " + o.access
	}
	lines := []string{o.run, agent}
	if checks := joinPhrases(o.checks, o.detected, o.how); checks != "" {
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

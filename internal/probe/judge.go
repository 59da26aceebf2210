package probe

import (
	"fmt"
	"strings"

	"github.com/ralphloop/ralph"
)

// report judges what was seen.
func (p *probing) report() Report {
	r := Report{Stream: p.stream(), Tag: p.tag(), Permission: p.permission(), Isolation: p.isolation(), Settled: true}
	for _, o := range []*ralph.AgentOutcome{p.free, p.edits, p.control} {
		if o != nil && cutShort(*o) {
			r.Settled = false
		}
	}
	return r
}

// cutShort reports whether the run might have ended differently with more time.
func cutShort(o ralph.AgentOutcome) bool {
	return o.End == ralph.EndTimeout || o.End == ralph.EndInterrupted
}

// bypassedModel reports whether the first run succeeded without calling the local model. Then
// nothing that was seen means anything.
func (p *probing) bypassedModel() bool {
	return p.free.End == ralph.EndOK && p.saw.of(free).requests == 0
}

func (p *probing) stream() Aspect {
	if p.bypassedModel() {
		return p.noRun()
	}
	for _, run := range []struct {
		mode    string
		outcome *ralph.AgentOutcome
	}{{"with permissions bypassed", p.free}, {"in edit mode", p.edits}} {
		switch o := run.outcome; {
		case o == nil || o.End == ralph.EndOK:
		case o.End == ralph.EndAuth:
			return Aspect{Unknown, "it requires a login before it calls the local model: " + o.Error}
		case o.End == ralph.EndInterrupted:
			return Aspect{Unknown, "interrupted"}
		case o.End == ralph.EndTimeout:
			return Aspect{Unknown, run.mode + " it did not finish: " + o.Error}
		case p.needsOwnHome:
			return Aspect{
				Unknown,
				"it does not start with a different home folder, which is common for programs installed by a version manager",
			}
		default:
			return Aspect{Failed, fmt.Sprintf("%s the run ended as %s: %s", run.mode, o.Class(), o.Error)}
		}
	}
	return Aspect{State: OK}
}

// noRun is the result of any aspect without a successful run.
func (p *probing) noRun() Aspect {
	if p.bypassedModel() {
		return Aspect{Unknown, "the CLI never called the scripted model"}
	}
	return Aspect{Unknown, "the run did not succeed"}
}

// neverTried is the result for a CLI that finished too early: it may have offered no tool that the
// local model knows how to call, which is not a fault.
var neverTried = Aspect{Unknown, "the local model could not make it run a command"}

// gaveUp reports whether a run ended before the model had finished, and not because something was
// denied.
func (p *probing) gaveUp(scenario string, o *ralph.AgentOutcome) bool {
	return p.saw.of(scenario).turns < p.scene.turns(scenario) && len(o.Denials) == 0
}

func (p *probing) tag() Aspect {
	if p.free.End != ralph.EndOK || p.bypassedModel() {
		return p.noRun()
	}
	said := p.free.Said
	switch {
	case p.saw.of(free).turns < p.scene.turns(free):
		return neverTried
	case !said.Complete:
		return Aspect{Failed, "the tag that the model wrote did not arrive"}
	case said.Blocked != nil && strings.Contains(*said.Blocked, p.scene.noted):
		return Aspect{Failed, "a tag that a tool printed counted as the agent's own"}
	case p.Dialect.About().Meters.Tokens && (p.free.Tokens == nil || p.free.Tokens.Total() == 0):
		return Aspect{Failed, "no tokens were reported"}
	case !p.saw.of(free).holds(p.scene.noted):
		return Aspect{Unknown, "the tool that prints a tag did not run"}
	}
	return Aspect{State: OK}
}

func (p *probing) permission() Aspect {
	switch {
	case p.free.End != ralph.EndOK || p.bypassedModel():
		return p.noRun()
	case p.gaveUp(free, p.free):
		return neverTried
	case !exists(p.scene.ran()):
		return Aspect{Failed, "with permissions bypassed a command did not run" + denials(p.free)}
	case p.edits == nil:
		return Aspect{Unknown, "edit mode was not tried"}
	case exists(p.scene.forbidden()):
		return Aspect{Failed, "in edit mode a forbidden command ran"}
	case p.edits.End != ralph.EndOK:
		return Aspect{Unknown, "in edit mode the run did not succeed"}
	case p.gaveUp(edits, p.edits) && !exists(p.scene.checked()):
		return neverTried
	case !exists(p.scene.edited()):
		return Aspect{Failed, "in edit mode a file was not edited" + denials(p.edits)}
	case !exists(p.scene.checked()):
		return Aspect{Failed, "in edit mode the allowed command did not run" + denials(p.edits)}
	case p.gaveUp(edits, p.edits):
		return Aspect{Unknown, "the forbidden command was never tried"}
	case !p.row.silent && len(p.edits.Denials) == 0:
		return Aspect{Failed, "in edit mode a command was refused, but not reported as such"}
	}
	return Aspect{State: OK}
}

func denials(o *ralph.AgentOutcome) string {
	if len(o.Denials) == 0 {
		return ""
	}
	return " (denied: " + strings.Join(o.Denials, "; ") + ")"
}

func (p *probing) isolation() Aspect {
	if p.bypassedModel() {
		return p.noRun()
	}
	if p.edits == nil || p.edits.End != ralph.EndOK {
		return Aspect{Unknown, "fewer than two runs succeeded"}
	}
	second := p.saw.of(edits)
	switch {
	case second.holds(p.scene.firstPrompt) || second.holds(p.scene.firstAnswer):
		return Aspect{Failed, "the second run started with the conversation of the first"}
	case p.free.Session != "" && p.free.Session == p.edits.Session:
		return Aspect{Failed, "two runs shared one session"}
	case len(p.started) > 0:
		return Aspect{Failed, "a run started the user's own " + strings.Join(p.started, " and ")}
	case p.free.Session == "" || p.edits.Session == "":
		return Aspect{Unknown, "it does not report its session; the second run knew nothing of the first"}
	}
	return p.userPlants()
}

// userPlants reports whether the control run proves that what was not started would have been.
func (p *probing) userPlants() Aspect {
	const apart = "sessions are separate; unknown whether the user's own hooks and MCP servers stay out: "
	switch {
	case len(p.row.plants) == 0:
		return Aspect{Unknown, apart + "it has no known hooks or servers to test with"}
	case p.control == nil || p.control.End != ralph.EndOK:
		return Aspect{Unknown, apart + "the run that inherits them did not succeed"}
	}
	started := p.scene.marked(p.row.plants)
	if len(started) < len(p.row.plants) {
		return Aspect{
			Unknown, fmt.Sprintf("%sa run that inherits them started %d of %d", apart, len(started), len(p.row.plants)),
		}
	}
	return Aspect{State: OK}
}

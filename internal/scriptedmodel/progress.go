package scriptedmodel

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"sync"
)

// progress tracks the state of one scenario.
type progress struct {
	scenario Scenario

	mu        sync.Mutex
	agent     int            // the current fresh agent, counted from 0
	begun     bool           // its first turn was answered without a fault
	served    map[place]int  // faults so far
	mostTools map[string]int // the most tools that each client has offered
	answers   int
}

// place is a turn of an agent's conversation.
type place struct{ agent, turn int }

// step is the answer to one request.
type step struct {
	place
	side   bool
	turn   Turn
	fault  *Fault
	serial int // number of the answer
}

func newProgress(s Scenario) *progress {
	return &progress{scenario: s, served: map[place]int{}, mostTools: map[string]int{}}
}

// next chooses the answer to a client's request.
func (p *progress) next(client string, a ask) step {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers++
	if p.isSide(client, a) {
		return step{
			side: true, turn: Turn{Text: cmp.Or(p.scenario.Side, "Scripted")}, fault: p.lastingFault(), serial: p.answers,
		}
	}
	if a.answers == 0 && p.begun {
		p.agent++
		p.begun = false
	}
	at := place{p.agent, a.answers}
	if agent, ok := agentOf(a.callID); ok && agent <= p.agent {
		at.agent = agent
	}
	s := step{place: at, turn: p.turnAt(at), serial: p.answers}
	s.fault = p.faultAt(at, s.turn)
	return s
}

// isSide recognizes side calls by their tools. It compares with half, because a client may learn of
// more tools while it works.
func (p *progress) isSide(client string, a ask) bool {
	_, mine := agentOf(a.callID)
	if len(a.tools) == 0 || !mine && 2*len(a.tools) < p.mostTools[client] {
		return true
	}
	p.mostTools[client] = max(p.mostTools[client], len(a.tools))
	return false
}

// lastingFault returns the current fault that never ends, if any.
func (p *progress) lastingFault() *Fault {
	turn := p.turnAt(place{agent: p.agent})
	if !turn.failsForever() {
		return nil
	}
	return &turn.Faults[len(turn.Faults)-1]
}

func (p *progress) turnAt(at place) Turn {
	all := p.scenario.Conversations
	turns := all[min(at.agent, len(all)-1)]
	if at.turn < len(turns) {
		return turns[at.turn]
	}
	last := turns[len(turns)-1]
	if len(last.Tools) > 0 {
		return Turn{Text: "The script has no more turns."}
	}
	return last
}

// faultAt returns the next fault of a turn, if one is left.
func (p *progress) faultAt(at place, turn Turn) *Fault {
	left := p.served[at]
	for i := range turn.Faults {
		f := &turn.Faults[i]
		if times := max(f.Times, 1); !f.Forever && left >= times {
			left -= times
			continue
		}
		p.served[at]++
		return f
	}
	return nil
}

// answered records that the client receives a turn. It is called before the last piece is sent,
// because the next agent may connect right after it.
func (p *progress) answered(s step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.side && s.fault == nil && s.place == (place{agent: p.agent}) {
		p.begun = true
	}
}

var callID = regexp.MustCompile(`_n(\d+)t(\d+)i\d+$`)

// newCallID returns an ID for a tool call that identifies the conversation of a later request.
func newCallID(prefix string, s step, index int) string {
	return fmt.Sprintf("%s_n%dt%di%d", prefix, s.agent, s.place.turn, index)
}

// agentOf returns the agent whose conversation a tool call belongs to.
func agentOf(id string) (agent int, ok bool) {
	m := callID.FindStringSubmatch(id)
	if m == nil {
		return 0, false
	}
	agent, err := strconv.Atoi(m[1])
	return agent, err == nil
}

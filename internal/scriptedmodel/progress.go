package scriptedmodel

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"sync"
)

// progress is how far one scenario has come.
type progress struct {
	scenario Scenario

	mu       sync.Mutex
	agent    int            // the present fresh agent, counted from 0
	begun    bool           // its first turn has been answered well
	served   map[place]int  // faults so far
	offering map[string]int // the most tools that a client has offered
	answers  int
}

// place is a turn of an agent's conversation.
type place struct{ agent, turn int }

// step is what one request gets.
type step struct {
	place
	side   bool
	turn   Turn
	fault  *Fault
	serial int // of the answer
}

func newProgress(s Scenario) *progress {
	return &progress{scenario: s, served: map[place]int{}, offering: map[string]int{}}
}

// next decides what a request of that client gets.
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

// isSide knows side calls by their tools. Half, because a client may learn of further tools while it works.
func (p *progress) isSide(client string, a ask) bool {
	_, mine := agentOf(a.callID)
	if len(a.tools) == 0 || !mine && 2*len(a.tools) < p.offering[client] {
		return true
	}
	p.offering[client] = max(p.offering[client], len(a.tools))
	return false
}

// lastingFault is what nobody who asks now can get past.
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

// faultAt takes the next fault of a turn, if one is left.
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

// answered notes that a turn reaches whoever asked for it. It is called before the last piece is sent: the next agent may be there right after it.
func (p *progress) answered(s step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.side && s.fault == nil && s.place == (place{agent: p.agent}) {
		p.begun = true
	}
}

var callID = regexp.MustCompile(`_n(\d+)t(\d+)i\d+$`)

// newCallID names a tool call so that a later request tells whose conversation it belongs to.
func newCallID(prefix string, s step, index int) string {
	return fmt.Sprintf("%s_n%dt%di%d", prefix, s.agent, s.place.turn, index)
}

// agentOf reads whose conversation a tool call belongs to.
func agentOf(id string) (agent int, ok bool) {
	m := callID.FindStringSubmatch(id)
	if m == nil {
		return 0, false
	}
	agent, err := strconv.Atoi(m[1])
	return agent, err == nil
}

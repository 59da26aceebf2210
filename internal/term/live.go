package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
)

const (
	frameEvery = 100 * time.Millisecond
	eraseLine  = "\r\x1b[2K"
	upOneRow   = "\x1b[1A"
)

// Live is the view for a terminal: the plain lines, and under them one line that moves while something is under way.
type Live struct {
	// Verbose prints each message and tool call of the agent above the moving line.
	Verbose bool

	lines Lines
	width func() int

	mu       sync.Mutex
	begun    time.Time
	spent    ralph.Span // by the run before begun
	doing    string
	ordinal  string
	facts    []string // of the state, taken when an event was told: the loop goes on changing it
	deadline time.Time
	frame    int
	drawn    int // columns of the moving line on the screen, 0 if there is none
	done     chan struct{}
	ended    chan struct{}
}

// NewLive starts the moving line; Close ends it.
func NewLive(out io.Writer, style Style, state *fold.State, width func() int) *Live {
	v := &Live{
		lines: Lines{
			Out:   out,
			Style: style,
			State: state,
			Width: width,
		},
		width: width,
		begun: time.Now(),
		spent: state.Elapsed,
		done:  make(chan struct{}),
		ended: make(chan struct{}),
	}
	go v.animate()
	return v
}

// Close erases the moving line and waits until nothing draws any more.
func (v *Live) Close() {
	close(v.done)
	<-v.ended
}

func (v *Live) animate() {
	defer close(v.ended)
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	for {
		select {
		case <-v.done:
			v.mu.Lock()
			v.erase()
			v.mu.Unlock()
			return
		case <-tick.C:
			v.mu.Lock()
			v.draw()
			v.mu.Unlock()
		}
	}
}

// See tells an event above the moving line and changes what that line says.
func (v *Live) See(e ralph.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	v.lines.See(e)
	v.facts = facts(v.lines.State)
	switch data := e.Data.(type) {
	case ralph.IterationStarted:
		v.ordinal, v.doing = v.lines.ordinal(data), "agent running"
	case ralph.AgentOutcome:
		v.doing = "looking at the changes"
	case ralph.CheckStarted:
		v.doing = "check " + Clean(data.Name)
	case ralph.Waiting:
		v.doing, v.deadline = "waiting: "+Clean(data.Detail), time.Now().Add(data.Wait.Duration())
		return
	case ralph.VerdictReached:
		v.doing = ""
	case ralph.RunStopped:
		v.doing, v.ordinal = "", ""
	}
	v.deadline = time.Time{}
}

// Say writes a line of the program's own above the moving line.
func (v *Live) Say(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	v.lines.write([]string{line})
}

// Live takes small news of the agent.
func (v *Live) Live(a ralph.Activity) {
	if a.Kind == "spent" { // told when the iteration ends
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if line := ActivityLine(a); v.Verbose && line != "" {
		v.erase()
		v.lines.write([]string{v.lines.Style.Dim(line)})
	}
	v.doing = Clean(a.Name)
	if detail := Clean(a.Detail); detail != "" {
		v.doing = strings.TrimPrefix(v.doing+": "+detail, ": ")
	}
}

// erase removes the moving line. A terminal that has become narrower since shows it on several rows.
func (v *Live) erase() {
	if v.drawn == 0 {
		return
	}
	fmt.Fprint(v.lines.Out, eraseLine)
	for range (v.drawn - 1) / max(v.width(), 1) {
		fmt.Fprint(v.lines.Out, upOneRow+eraseLine)
	}
	v.drawn = 0
}

func (v *Live) draw() {
	if v.doing == "" {
		v.erase()
		return
	}
	spinner := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	v.frame++
	room := v.width() - len("^C ") // Ctrl-C prints that behind the line
	line := Shorten(string(spinner[v.frame%len(spinner)])+" "+v.text(), room)
	v.erase()
	fmt.Fprint(v.lines.Out, eraseLine+v.lines.Style.Dim(line))
	v.drawn = text.Width(line)
}

func (v *Live) text() string {
	parts := []string{}
	if v.ordinal != "" {
		parts = append(parts, v.ordinal)
	}
	parts = append(parts, Clock(v.spent.Duration()+time.Since(v.begun)))
	parts = append(parts, v.facts...)
	doing := v.doing
	if left := time.Until(v.deadline); left > 0 {
		doing += " (" + Clock(left) + " left)"
	}
	return strings.Join(append(parts, doing), " · ")
}

// facts are the task, the money and the breaker, where there is something to say.
func facts(state *fold.State) []string {
	var parts []string
	if len(state.History.Tasks) > 0 {
		count := state.TaskCount()
		parts = append(
			parts,
			strings.TrimSpace(fmt.Sprintf("%s %d/%d done", state.History.Task, count.Done, count.Done+count.Open)),
		)
	}
	cost := AtLeast(Money(state.History.Cost, state.CostEstimated), state.CostPartial)
	if budget := state.Policy.MaxCost; budget > 0 {
		parts = append(parts, cost+" of "+Money(budget, false))
	} else if state.History.Cost > 0 {
		parts = append(parts, cost)
	}
	if b := state.History.Breaker.State; b != ralph.BreakerClosed && b != "" {
		return append(parts, "breaker "+string(b))
	}
	if n := state.History.NoProgress; n > 0 && state.Policy.Breaker.NoProgress > 0 {
		parts = append(parts, fmt.Sprintf("no progress %d/%d", n, state.Policy.Breaker.NoProgress))
	}
	return parts
}

// ActivityLine is what an agent said or did, in one line; "" if there is nothing to show.
func ActivityLine(a ralph.Activity) string {
	detail := Clean(a.Detail)
	switch a.Kind {
	case "tool":
		return "    " + strings.TrimSuffix(Clean(a.Name)+": "+detail, ": ")
	case "retry":
		return "    retries: " + detail
	case "spent":
		return ""
	}
	return strings.TrimRight("    "+detail, " ")
}

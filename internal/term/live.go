package term

import (
	"fmt"
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

// Live is the view for a terminal: plain lines, and below them a status line that changes while
// something is running.
type Live struct {
	// Verbose prints each message and tool call of the agent above the status line.
	Verbose bool

	lines Lines
	width func() int

	mu       sync.Mutex
	begun    time.Time
	spent    ralph.Span // the run's time before begun
	doing    string
	ordinal  string
	facts    []string // copied from the state at the last event, because the loop keeps changing the state
	deadline time.Time
	frame    int
	drawn    int // columns of the status line on the screen, 0 if there is none
	done     chan struct{}
	ended    chan struct{}
}

// NewLive starts the status line below the lines; Close ends it.
func NewLive(lines Lines) *Live {
	v := &Live{
		lines: lines,
		width: lines.Width,
		begun: time.Now(),
		spent: lines.State.Elapsed,
		done:  make(chan struct{}),
		ended: make(chan struct{}),
	}
	go v.animate()
	return v
}

// Close erases the status line and waits until drawing has stopped.
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

// See prints an event above the status line and updates that line.
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
	case ralph.Notice:
		if data.Code == "tests_first" {
			v.doing = Clean(data.Text)
		}
	case ralph.CheckStarted:
		v.doing = "check " + Clean(data.Name) + columnReason(data.Column)
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

// Say prints a message of the program above the status line.
func (v *Live) Say(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	v.lines.write([]string{line})
}

// Pause erases the status line until the next event, so that the program can ask a question.
func (v *Live) Pause() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.erase()
	v.doing = ""
}

// Live shows an activity of the agent.
func (v *Live) Live(a ralph.Activity) {
	if a.Kind == "spent" { // shown when the iteration ends
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

// erase removes the status line. If the terminal has become narrower, the line covers several
// rows.
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
	room := v.width() - len("^C ") // the terminal prints that after the line on Ctrl-C
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

// facts returns the task, the cost and the state of the breaker, as far as there is something to
// show.
func facts(state *fold.State) []string {
	var parts []string
	if len(state.History.Tasks) > 0 {
		count := state.TaskCount()
		progress := fmt.Sprintf("%s %d/%d done", state.History.Task, count.Done, count.Done+count.Open)
		parts = append(parts, strings.TrimSpace(progress))
	}
	cost := AtLeast(Money(state.History.Cost, state.CostEstimated), state.CostPartial)
	if budget := state.Policy.MaxCost; budget > 0 {
		parts = append(parts, cost+" of "+Money(budget, false))
	} else if state.History.Cost > 0 {
		parts = append(parts, cost)
	}
	if b := state.History.Breaker.State; b != ralph.BreakerClosed && b != "" {
		return append(parts, "breaker "+BreakerText(b))
	}
	if n := state.History.NoProgress; n > 0 && state.Policy.Breaker.NoProgress > 0 {
		parts = append(parts, fmt.Sprintf("no progress %d/%d", n, state.Policy.Breaker.NoProgress))
	}
	return parts
}

// ActivityLine describes an activity of the agent in one line. It is empty if there is nothing to
// show.
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

package term

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
)

// Lines prints a run as plain lines, one for everything that matters to a person. It is the view
// for logs, pipes and CI.
type Lines struct {
	Out   io.Writer
	Style Style
	State *fold.State // of the run, with the shown event already applied
	Width func() int  // of the terminal, to wrap lines at; nil means no wrapping
	// Accepting means that a person accepts the work of a run that ended, and no agent starts.
	Accepting bool

	opening *opening // the first lines of the run, until they are complete
}

// See prints the lines for an event, if it has any.
func (l *Lines) See(e ralph.Event) {
	lines := l.linesFor(e)
	if l.opening != nil {
		switch data := e.Data.(type) {
		case ralph.Notice:
			l.opening.addNotice(data, lines)
			if l.opening.isolation == "" {
				return
			}
			lines = nil
		case ralph.TaskSelected:
			l.opening.notes = append(l.opening.notes, lines...)
			return
		case ralph.RunStarted, ralph.RunResumed, ralph.TreeState, ralph.CheckStarted:
			return // how checks run is known when the first one has started
		}
		if l.opening.resumed && l.State.Asked != nil && !l.Accepting {
			l.opening.notes = append(l.opening.notes, "  continues without an answer to: "+Clean(*l.State.Asked))
		}
		lines = append(l.opening.lines(), lines...)
		l.opening = nil
	}
	l.write(lines)
}

func (l *Lines) write(lines []string) {
	for _, line := range lines {
		prefix := ""
		if l.State.Started.Demo {
			prefix = l.Style.Yellow("DEMO ")
		}
		for _, row := range l.wrapped(line, text.Width(prefix)) {
			fmt.Fprintln(l.Out, prefix+row)
		}
	}
}

// wrapped breaks a line between words and indents the rows after the first. taken is the width of the prefix.
func (l *Lines) wrapped(line string, taken int) []string {
	const hanging = "    "
	if l.Width == nil || taken+text.Width(line) <= l.Width() {
		return []string{line}
	}
	words := strings.TrimLeft(line, " ")
	indent := strings.Repeat(" ", len(line)-len(words))
	rows := text.Wrap(words, max(l.Width()-taken-len(indent+hanging), 20))
	for i := range rows {
		rows[i] = indent + rows[i]
		if i > 0 {
			rows[i] = hanging + rows[i]
		}
	}
	return rows
}

func (l *Lines) linesFor(e ralph.Event) []string {
	switch data := e.Data.(type) {
	case ralph.RunStarted:
		l.opening = newOpening(e.Run, data)
	case ralph.SessionBound:
		return []string{"session: " + Clean(data.Agent+" "+data.Session)}
	case ralph.RunResumed:
		if data.InSession { // the session comes back after every turn
			return nil
		}
		if l.opening != nil { // the run was killed before it did anything
			l.write(l.opening.lines())
		}
		l.opening = resumedOpening(e.Run, data, l.State.Started.Checks)
		if l.Accepting {
			l.opening.run, l.opening.agent = "run "+e.Run+": you accept its work; no agent starts", ""
		}
	case ralph.IterationStarted:
		heading := l.Style.Bold(l.ordinal(data)) + numberOf(e, data)
		return []string{heading + l.task() + l.agentName(data) + l.attemptNote(data)}
	case ralph.AgentOutcome:
		return l.agentEnded(data)
	case ralph.CheckResult:
		return append([]string{l.check(e.Iteration, data) + l.leftovers(data)}, l.hints(e.Iteration, data)...)
	case ralph.VerdictReached:
		return slices.Concat(l.claimedTasks(data.Verdict), l.verdict(data.Verdict), l.unclaimed(), l.question(data.Verdict),
			l.cooldown(data))
	case ralph.Waiting:
		return []string{"  " + l.waiting(data)}
	case ralph.BreakerMoved:
		return []string{"  breaker: " + BreakerText(data.To) + reasonOf(data.Reason)}
	case ralph.TreeQuiet:
		names := Clean(strings.Join(data.Names, ", "))
		switch {
		case data.Killed > 0 && endedByRalph(l.State.History.Now.Agent.End):
			return []string{"  killed the agent and everything it had started: " + names}
		case data.Killed > 0:
			count := Count(data.Killed, "process")
			return []string{"  " + l.Style.Yellow("killed "+count+" that the agent left behind: "+names)}
		}
	case ralph.OutputTruncated:
		return []string{fmt.Sprintf("  %s was too long (%d bytes); kept its beginning and end", data.What, data.Bytes)}
	case ralph.Notice:
		return l.notice(e.Type, data)
	default:
		return l.taskLines(e)
	}
	return nil
}

// BreakerText names the state of a breaker. In the log a tripped one is "open", as in electronics.
func BreakerText(state ralph.BreakerState) string {
	switch state {
	case ralph.BreakerOpen:
		return "tripped"
	case ralph.BreakerHalfOpen:
		return "half-open"
	case ralph.BreakerDiagnose:
		return "diagnosing"
	}
	return string(state)
}

func (l *Lines) ordinal(data ralph.IterationStarted) string {
	if data.Of > 0 {
		return fmt.Sprintf("iteration %d of %d", data.Ordinal, data.Of)
	}
	return fmt.Sprintf("iteration %d", data.Ordinal)
}

// numberOf returns the iteration's number in the log if it differs from the ordinal: diff, restore
// and explain take the number in the log.
func numberOf(e ralph.Event, data ralph.IterationStarted) string {
	if e.Iteration == data.Ordinal {
		return ""
	}
	return fmt.Sprintf(" (number %d in the log)", e.Iteration)
}

// agentName names the agent of an iteration in a run that has several.
func (l *Lines) agentName(data ralph.IterationStarted) string {
	if agents := l.State.Policy.Agents; data.Agent < len(agents) {
		return ", agent " + Clean(agents[data.Agent])
	}
	return ""
}

func (l *Lines) attemptNote(data ralph.IterationStarted) string {
	switch {
	case data.Diagnose:
		return ": no progress; diagnosing only"
	case data.Probe:
		return ": one attempt while the breaker is half-open"
	}
	return ""
}

func (l *Lines) agentEnded(data ralph.AgentOutcome) []string {
	parts := []string{Seconds(data.Duration)}
	if data.Steps != nil {
		parts = append(parts, Count(*data.Steps, "step"))
	}
	if data.Cost != nil {
		parts = append(parts, AtLeast(Money(*data.Cost, data.CostEstimated), data.CostPartial))
	}
	line := fmt.Sprintf("  agent ended after %s", strings.Join(parts, ", "))
	if data.End != ralph.EndOK {
		line += ": " + l.Style.Red(Clean(data.Error))
	}
	lines := []string{line}
	for _, d := range data.Denials {
		lines = append(lines, "  "+l.Style.Yellow("denied: ")+Clean(d))
	}
	for _, allow := range data.Allow {
		lines = append(lines, "  to allow it: ralph run … "+Clean(allow))
	}
	switch {
	case data.Hint == "":
	case data.End == ralph.EndOK:
		lines = append(lines, "  "+l.Style.Yellow("note: ")+Clean(data.Hint))
	case data.End == ralph.EndBroken:
		lines = append(lines, "  what to do: "+Clean(data.Hint))
	}
	if data.Said.Blocked != nil {
		lines = append(lines, "  agent said BLOCKED"+reasonOf(Clean(*data.Said.Blocked)))
	}
	if data.Said.Decide != nil {
		lines = append(lines, "  agent said DECIDE"+reasonOf(Clean(*data.Said.Decide)))
	}
	if data.Said.Untestable != nil {
		lines = append(lines, "  agent said UNTESTABLE"+reasonOf(Clean(*data.Said.Untestable)))
	}
	return lines
}

func (l *Lines) check(iteration int, data ralph.CheckResult) string {
	name := Clean(data.Name)
	if data.Task != "" {
		name = data.Task + ": " + name
	}
	where := "  check "
	if iteration == 0 || !l.State.History.Judging {
		where = "baseline check "
	}
	check, took := where+name, Seconds(data.Duration)
	if data.Reused != "" {
		took = "from run " + Clean(data.Reused)
	}
	switch {
	case data.Flaked:
		pass := l.Style.Yellow("PASS")
		return fmt.Sprintf("%s: %s after %d tries on one tree (%s)", check, pass, data.Attempts, took)
	case data.Passed:
		return fmt.Sprintf("%s: %s (%s)", check, l.Style.Green("PASS"), took)
	case data.Broken:
		return fmt.Sprintf("%s: %s: %s", check, l.Style.Red("CANNOT RUN"), Clean(lastLine(data.Printed())))
	case data.TimedOut:
		return fmt.Sprintf("%s: %s: %s", check, l.Style.Red("FAIL"), Clean(lastLine(data.Printed())))
	}
	reason := reasonOf(Shorten(Clean(failureLine(data.Printed())), 100))
	return fmt.Sprintf("%s: %s (exit %d, %s)%s", check, l.Style.Red("FAIL"), data.ExitCode, took, reason)
}

// hints are whole: a person copies the options from them.
func (l *Lines) hints(iteration int, data ralph.CheckResult) (lines []string) {
	indent := "    "
	if iteration == 0 || !l.State.History.Judging {
		indent = "  " // of a baseline
	}
	for _, hint := range data.Hints {
		lines = append(lines, indent+l.Style.Yellow("hint: ")+Clean(hint))
	}
	return lines
}

// leftovers says that a check left processes behind. After a timeout they are what Ralph stopped.
func (l *Lines) leftovers(data ralph.CheckResult) string {
	if data.Survivors == 0 || data.TimedOut {
		return ""
	}
	return l.Style.Yellow("; killed " + Count(data.Survivors, "process") + " that it left behind")
}

// endedByRalph reports whether Ralph ended the agent. Then leftover processes are not the agent's
// fault.
func endedByRalph(end ralph.EndClass) bool {
	switch end {
	case ralph.EndTimeout, ralph.EndIdle, ralph.EndOutOfTime, ralph.EndInterrupted, ralph.EndAuth, ralph.EndCut:
		return true
	}
	return false
}

func (l *Lines) verdict(v ralph.Verdict) []string {
	if v.Action == ralph.Stop && v.Reason == ralph.Unverified {
		return []string{"  " + l.Style.Yellow("claim accepted, unverified")}
	}
	if v.Action == ralph.Stop && ralph.StatusOf(v.Reason) == ralph.StatusCompleted {
		return []string{"  " + l.Style.Green(provenWord(v))}
	}
	var lines []string
	for _, r := range v.Tasks.Unconfirmed {
		open := l.Style.Yellow(r.Task + " unconfirmed")
		lines = append(lines, fmt.Sprintf("  %s %s: %s", open, r.Code, Clean(r.Detail)))
	}
	for i, r := range v.Tasks.Refused {
		if i == mostClaims {
			lines = append(lines, fmt.Sprintf("  %s (ralph explain)",
				l.Style.Red(fmt.Sprintf("%d more claims refused", len(v.Tasks.Refused)-i))))
			break
		}
		refused := l.Style.Red("claim for " + r.Task + " refused")
		lines = append(lines, fmt.Sprintf("  %s %s: %s", refused, r.Code, Clean(r.Detail)))
	}
	for _, r := range v.Refusals() {
		lines = append(lines, fmt.Sprintf("  %s %s: %s", l.Style.Red("claim refused"), r.Code, Clean(r.Detail)))
	}
	return lines
}

// unclaimed says that only the agent's claim is missing.
func (l *Lines) unclaimed() []string {
	if !lacksClaim(l.State) || l.State.Stopped != nil {
		return nil
	}
	return []string{"  " + l.Style.Yellow(noClaim(l.State))}
}

// cooldownReasons say why an agent pauses, or is not used again.
var cooldownReasons = map[ralph.EndClass]string{
	ralph.EndLimit:    "reached its usage limit",
	ralph.EndProvider: "could not reach its model",
	ralph.EndAuth:     "is not logged in",
	ralph.EndMissing:  "was not found",
}

// cooldown says that an agent of the run pauses, why, and for how long, or that a stronger one takes
// over.
func (l *Lines) cooldown(v ralph.VerdictReached) []string {
	rest, agents := v.Verdict.Cooldown, l.State.Policy.Agents
	if v.Verdict.Escalates {
		return []string{"  " + l.Style.Yellow(Clean(v.Verdict.Detail))}
	}
	if rest == nil || rest.Agent >= len(agents) {
		return nil
	}
	why := cmp.Or(cooldownReasons[rest.Because], "failed too often")
	line := "  " + l.Style.Yellow(Clean(agents[rest.Agent])+" "+why+" and is not used")
	if rest.Until > 0 {
		line += " for " + Seconds(rest.Until-v.At.Elapsed)
	} else {
		line += " again in this run"
	}
	if v.Verdict.Action == ralph.GoOn {
		line += reasonOf(Clean(v.Verdict.Detail))
	}
	if v.Verdict.Hint != "" && v.Verdict.Action != ralph.Stop { // after a stop, the final screen shows the hint
		return []string{line, "  what to do: " + Clean(v.Verdict.Hint)}
	}
	return []string{line}
}

func (l *Lines) notice(kind ralph.EventType, data ralph.Notice) []string {
	if data.Code == ralph.NoticeHookAllows { // only for the log
		return nil
	}
	if kind == ralph.EvWarning {
		return []string{l.Style.Yellow("warning: ") + Clean(data.Text)}
	}
	return []string{Clean(data.Text)}
}

func (l *Lines) waiting(w ralph.Waiting) string {
	switch w.For {
	case ralph.WaitPause:
		return l.Style.Yellow("paused") + ": " + w.Detail
	case ralph.WaitAnswer:
		line := l.Style.Yellow("waiting for an answer") + reasonOf(Clean(w.Detail))
		if open := fold.OpenQuestions(l.State); len(open) > 0 {
			return line + "  (" + AnswerCommand(open[0]) + ")"
		}
		return line + `  (ralph answer "…")`
	}
	return fmt.Sprintf("%s %s: %s", l.Style.Yellow("waiting"), Seconds(w.Wait), Clean(w.Detail))
}

// AnswerCommand returns the command that answers a question. It names the task, because another one may ask next.
func AnswerCommand(asked fold.Question) string {
	if asked.Task == "" {
		return `ralph answer "…"`
	}
	return fmt.Sprintf(`ralph answer --task %s "…"`, asked.Task)
}

// question says that a task waits for an answer while the others go on.
func (l *Lines) question(v ralph.Verdict) []string {
	if v.Tasks.Question == "" || v.Action != ralph.GoOn {
		return nil
	}
	waits := l.Style.Yellow(v.Tasks.Current + " waits for an answer")
	answer := AnswerCommand(fold.Question{Task: v.Tasks.Current})
	return []string{fmt.Sprintf("  %s: %s  (%s)", waits, Clean(v.Tasks.Question), answer)}
}

func reasonOf(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// failureLine returns the first line that names a failure, together with the indented line below
// it. Without one, it returns the last line. Test programs often end with a summary that says
// nothing.
func failureLine(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		namesFailure := slices.ContainsFunc(failureSigns, func(sign string) bool { return strings.Contains(line, sign) })
		if !namesFailure {
			continue
		}
		line = strings.TrimPrefix(line, "E   ") // of pytest
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    ") {
			return strings.TrimSpace(line) + " " + strings.TrimSpace(lines[i+1])
		}
		return line
	}
	return lastLine(text)
}

// failureSigns are how test programs mark a failure.
var failureSigns = []string{
	"--- FAIL", "FAILED", "Error:", "Error [", "error:", "panic:", "not ok ", "✗", "✕", "✖",
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

package term

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/fold"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// NextCommand returns the command that makes sense next.
func NextCommand(s *fold.State) string { return inSession(s, nextCommand(s)) }

// inSession names the commands for the goal of a live session in place of those for a run.
func inSession(s *fold.State, command string) string {
	if s.Started.InSession {
		return strings.NewReplacer("ralph resume", "ralph goal resume", "a new ralph run", "a new ralph goal",
			"start a new run with", "set a new goal with").Replace(command)
	}
	return command
}

func nextCommand(s *fold.State) string {
	if reason := s.Stopped.Reason; s.Started.Demo && (reason == ralph.Blocked || reason == ralph.NeedsDecision) {
		return "in a run of your own: " + nextCommands[reason]
	}
	if s.Started.Demo {
		return `ralph run "what you want done" --check "the command that proves it"`
	}
	if settingsRefused(s) {
		return otherSettings(s)
	}
	if open := fold.OpenQuestions(s); len(open) > 0 && open[0].Task != "" && endedFromOutside(s) {
		return AnswerCommand(open[0]) + ", then: " + ResumeCommand(s)
	}
	switch reason, of := s.Stopped.Reason, s.Policy.MaxIterations; {
	case s.Started.InSession && reason == ralph.Interrupted: // cleared, so there is nothing to continue
		return `set a new goal: ralph goal "what to do"`
	case reason == ralph.Unconfirmed && len(s.History.Tasks) > 0:
		return strings.Replace(nextCommands[reason], "ralph accept -m", "ralph accept --all -m", 1)
	case reason == ralph.CheckBroken && s.History.Started == 0 && anyTimedOut(s.History.Baseline):
		return "a new ralph run with a higher --check-timeout; or ralph resume, if the check is faster now"
	case reason == ralph.Blocked && s.History.Moment.Blocked != "":
		return "fix what the hook reports, then: ralph resume"
	case s.Verdict.BlockedByBreaker():
		return nextCommands[ralph.CircuitOpen]
	case nextCommands[reason] != "":
		return nextCommands[reason]
	case ralph.StatusOf(reason) == ralph.StatusCompleted:
		return ""
	case of > 0 && s.History.Counted >= of:
		return nextCommands[ralph.MaxIterations]
	}
	return "ralph resume"
}

// endedFromOutside reports whether a limit or a person ended the run, and not what it found.
func endedFromOutside(s *fold.State) bool {
	return s.Stopped.Status == ralph.StatusExhausted || s.Stopped.Status == ralph.StatusInterrupted
}

// ResumeCommand returns the command that continues a run: with a higher limit if the run used one up.
func ResumeCommand(s *fold.State) string { return inSession(s, resumeCommand(s)) }

func resumeCommand(s *fold.State) string {
	switch p := s.Policy; {
	case p.MaxIterations > 0 && s.History.Counted >= p.MaxIterations:
		return nextCommands[ralph.MaxIterations]
	case p.MaxTime > 0 && s.Elapsed >= p.MaxTime:
		return nextCommands[ralph.Timeout]
	case s.Stopped != nil && s.Stopped.Status == ralph.StatusExhausted:
		return nextCommands[s.Stopped.Reason]
	}
	return "ralph resume"
}

func anyTimedOut(checks []ralph.CheckResult) bool {
	return slices.ContainsFunc(checks, func(c ralph.CheckResult) bool { return c.TimedOut })
}

// OtherWays returns what else ends a run whose last claim was refused: changes that are the user's own, a person's yes,
// or a new run that asks for less.
func OtherWays(s *fold.State) string {
	if s.Started.Demo || s.Stopped.Reason == ralph.Unconfirmed || s.Stopped.Status == ralph.StatusCompleted {
		return ""
	}
	ways := ""
	if files := AcceptFiles(s); files != "" {
		ways = "; if you changed " + Clean(text.List(s.Tampered)) + " yourself, first: " + files
	}
	switch may := acceptable(s); {
	case len(may) == 0:
	case may[0] == "":
		ways = `; or, if the work is done: ralph accept -m "why"`
	default:
		ways = "; to accept what is unconfirmed: ralph accept " + strings.Join(may, " ")
	}
	if unbrokenWouldPass(s) {
		ways += "; or, if passing checks are enough: a new ralph run with --proof unbroken"
	}
	return inSession(s, ways)
}

// AcceptFiles returns the command that makes changes of protected files the user's own, or "" if the last claim was
// not refused for such changes.
func AcceptFiles(s *fold.State) string {
	if len(s.Tampered) == 0 || len(s.History.Now.Tampered) == 0 {
		return ""
	}
	return Clean(text.AcceptFiles(s.Tampered))
}

// acceptable returns the tasks that ralph accept would settle, or "" for the goal.
func acceptable(s *fold.State) []string {
	may := judge.Acceptable(s.Policy, s.History, s.Verdict)
	mustPass := func(c ralph.CheckResult) bool {
		t, _ := judge.FindTask(s.History.Tasks, c.Task)
		return c.Task == "" || t.Status == ralph.TaskDone || slices.Contains(may, c.Task)
	}
	fails := func(c ralph.CheckResult) bool { return !c.Passed && mustPass(c) }
	refuses := s.Policy.Shown == ralph.ShownRefuse || len(s.History.Now.Tampered) > 0
	if refuses || s.Phase != fold.PhaseNone || slices.ContainsFunc(s.History.Now.Checks, fails) {
		return nil
	}
	return may
}

// unbrokenWouldPass reports whether the last claim, or that for a task, was refused only because nothing shows it.
func unbrokenWouldPass(s *fold.State) bool {
	refusals := ralph.RefusalsOf(s.Verdict.Gates)
	other := func(r ralph.Refusal) bool { return r.Code != ralph.RefusedNotShown }
	if len(s.History.Tasks) == 0 {
		return s.Verdict.Claimed && len(refusals) > 0 && !slices.ContainsFunc(refusals, other)
	}
	return slices.ContainsFunc(s.Verdict.Tasks.Refused, func(r ralph.TaskRefusal) bool {
		t, _ := judge.FindTask(s.History.Tasks, r.Task)
		return r.Code == ralph.RefusedNotShown && t.Proof == ""
	})
}

var nextCommands = map[ralph.StopReason]string{
	ralph.MaxIterations:  "ralph resume --add-iterations 10",
	ralph.CheckBroken:    "make the check run, then: ralph resume; or start a new run with another --check",
	ralph.ProgramMissing: "install it, then: ralph resume; or ralph resume --agent NAME, or --agent-cmd CMD",
	ralph.Internal:       "ralph resume; please report this message with the output of ralph version",
	ralph.CircuitOpen:    `see why with ralph explain, help with ralph steer "…", then: ralph resume`,
	ralph.Timeout:        "ralph resume --add-time 30m",
	ralph.MaxCost:        "ralph resume --add-cost 5",
	ralph.MaxTokens:      "ralph resume --add-tokens 1000000",
	ralph.Blocked:        `fix the blocker or explain with ralph answer "…", then: ralph resume`,
	ralph.NeedsDecision:  `ralph answer "your decision", then: ralph resume`,
	ralph.Unconfirmed: `look at it with ralph diff, then: ralph accept -m "why"; ` +
		`or ralph accept --reject "what is missing", then: ralph resume`,
}

// settingsRefused reports whether the run ended because of its recorded settings, which a resume
// keeps.
func settingsRefused(s *fold.State) bool {
	return s.Stopped.Status != ralph.StatusCompleted &&
		(s.Stopped.Hint == ralph.HintSettings || s.History.Now.Agent.Hint == ralph.HintSettings)
}

// otherSettings says how to continue with a changed setting. A resume can change the agent's
// model. Any other change needs a new run.
func otherSettings(s *fold.State) string {
	if s.History.Now.Agent.Hint != ralph.HintSettings { // the evaluator's setting
		return "change the setting and start a new run: ralph run"
	}
	return "change the setting: ralph resume --model M for another model, a new ralph run for anything else"
}

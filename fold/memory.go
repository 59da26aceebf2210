package fold

import (
	"maps"
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
	"github.com/ralphloop/ralph/judge"
)

// These limits bound what a run remembers of people and agents, and so the size of its prompts.
const (
	maxAnswers   = 10
	maxLearnings = 200
	maxMessages  = 50
)

// remember applies the events that Apply does not handle itself: changes of the task list and the
// stash, evidence and cases, and what people and agents wrote.
func (s *State) remember(what any) {
	switch data := what.(type) {
	case ralph.TaskSelected:
		s.History.Task = data.Task
		if data.List != nil {
			s.History.Tasks = data.List
		}
	case ralph.SessionBound:
		s.Session, s.Agent = &data, data.Agent
	case ralph.WorkStashed:
		s.stashWork(data)
	case ralph.WorkRestored:
		s.restoreWork(data)
	case ralph.SignalSeen, ralph.PlanRead, ralph.BaseTestsRun, ralph.WorkSeen, ralph.WorkUndone:
		observe(&s.History.Now, data)
	case ralph.FilesTampered:
		s.noteTampering(data)
	case ralph.Proof:
		s.addProof(data)
	case ralph.WorkAccepted:
		s.noteDelivered(data.Message)
		if len(data.Files) > 0 {
			s.takeOver(data.Files)
			return
		}
		s.History.Accept(data)
		s.Asked = nil
	case ralph.TestsWritten:
		s.History.Spend(data.Spending())
		s.notePartialSpending(data.Spending())
		s.useTests(data)
	case ralph.Evaluation:
		s.addEvaluation(data)
	case ralph.Turn:
		s.noteSpending(data.Spent)
	case ralph.CaseSubmitted:
		s.submitCase(data)
	case ralph.CaseAnswered:
		s.answerCase(data)
	case ralph.SteeringSeen:
		s.steer(data)
	case ralph.AnswerGiven:
		s.Asked = nil
		s.History.Tasks = judge.SettleQuestions(s.History.Tasks, func(t ralph.TaskState) bool {
			return t.ID == data.Task || t.Question == data.Question
		})
		s.Answers = text.LastOf(append(slices.Clip(s.Answers), data), maxAnswers)
		s.noteDelivered(data.Message)
	case ralph.LimitsRaised:
		s.Policy = data.Raise(s.Policy)
		s.noteDelivered(data.Message)
	case ralph.LearningProposed:
		known := slices.ContainsFunc(s.Learnings, func(l ralph.LearningProposed) bool { return l.ID == data.ID })
		if !known && len(s.Learnings) < maxLearnings {
			s.Learnings = append(slices.Clip(s.Learnings), data)
		}
	}
}

// steer applies an item of steering that was delivered or removed.
func (s *State) steer(seen ralph.SteeringSeen) {
	same := func(item ralph.SteeringSeen) bool { return item.Text == seen.Text && item.File == seen.File }
	s.Steering = slices.DeleteFunc(slices.Clone(s.Steering), same)
	if seen.State != ralph.SteeringRemoved {
		s.Steering = append(s.Steering, seen)
	}
	if seen.State == ralph.SteeringDelivered {
		s.Asked = nil // the user read the question and wrote this
		s.History.Tasks = judge.SettleQuestions(s.History.Tasks, func(ralph.TaskState) bool { return true })
	}
	s.noteDelivered(seen.Message)
}

// Question is a question that waits for a person's answer.
type Question struct {
	Task string `json:"task,omitempty"` // the task that waits for the answer; "" for the run itself
	Text string `json:"question"`
}

// OpenQuestions returns the open questions of a run: those of its tasks, and that of its last iteration.
func OpenQuestions(s *State) []Question {
	var open []Question
	for _, t := range s.History.Tasks {
		if t.Question != "" {
			open = append(open, Question{t.ID, t.Question})
		}
	}
	if s.Asked != nil {
		open = append(open, Question{Text: *s.Asked})
	}
	return open
}

// observe adds what the harness saw of the current iteration.
func observe(now *judge.Observation, what any) {
	switch data := what.(type) {
	case ralph.SignalSeen:
		id, isDone := strings.CutSuffix(data.Kind, ":DONE")
		if isDone && data.From == ralph.FromList && !slices.Contains(now.Listed, id) {
			now.Listed = append(slices.Clip(now.Listed), id)
		}
	case ralph.PlanRead:
		now.Plan = &data
	case ralph.BaseTestsRun:
		now.BaseTests = &data
	case ralph.WorkSeen:
		now.Work = &data
	case ralph.WorkUndone:
		now.Undone = data.Tasks
	}
}

// useTests makes tests part of the run that were written before any work. They are protected, unless the working
// agent never sees them.
func (i *Identity) useTests(tests ralph.TestsWritten) {
	if !tests.Used {
		return
	}
	i.Tests = &tests
	if !tests.Hidden {
		i.Policy.Protects = tests.Protects(i.Policy.Protects)
	}
}

// HiddenTestChecks returns the checks of the run that also run as hidden checks, with tests that the agent never
// sees.
func (i *Identity) HiddenTestChecks() []string {
	if i.Tests == nil || !i.Tests.Hidden {
		return nil
	}
	return i.Started.Checks
}

// NewLearning returns a learning whose ID is derived from its text.
func NewLearning(said string) ralph.LearningProposed {
	return ralph.LearningProposed{ID: text.Digest(said)[:8], Text: said}
}

// noteListDamage records what the harness repaired in the list. It skips details that a judgement found
// before it was cut.
func (s *State) noteListDamage(details []string) {
	problems := &s.Last.ListProblems // if the iteration was cut
	if s.History.Judging {
		problems = &s.History.Now.ListDamage
	}
	for _, detail := range details {
		if !slices.Contains(*problems, detail) {
			*problems = append(slices.Clip(*problems), detail)
		}
	}
}

func (s *State) noteDelivered(message string) {
	if message != "" {
		s.Messages = text.LastOf(append(slices.Clip(s.Messages), message), maxMessages)
	}
}

// takeOver forgets that files were tampered with: their changes are the user's own.
func (s *State) takeOver(files []string) {
	isTheirs := func(name string) bool { return slices.Contains(files, name) }
	s.Tampered = slices.DeleteFunc(slices.Clone(s.Tampered), isTheirs)
	s.Weakened = slices.DeleteFunc(slices.Clone(s.Weakened), isTheirs)
	s.Unowned = slices.DeleteFunc(slices.Clone(s.Unowned), isTheirs)
	if refused := s.Started.Refused; refused != nil {
		left := *refused
		left.Files = slices.DeleteFunc(slices.Clone(refused.Files), isTheirs)
		s.Started.Refused = &left
	}
}

// UnfinishedYes returns a person's yes that completes the run, if a process died before it could end the run. Otherwise
// it returns nil.
func UnfinishedYes(s *State) *ralph.WorkAccepted {
	if s.Stopped != nil || s.Phase != PhaseNone || len(judge.OpenTasks(s.History.Tasks)) > 0 {
		return nil
	}
	return s.History.Accepted
}

// RefusedFiles returns the files whose changes the run refuses: protected files, tests that were weakened, and
// what an earlier run refused. A completed run refuses only the latter, because it may not have judged them; it judged
// tests that the earlier run added. If tests were weakened in a completed run, a person accepted that.
func (s *State) RefusedFiles() []string {
	var files []string
	if s.Started.Refused != nil {
		files = slices.Clone(s.Started.Refused.Files)
	}
	if s.LiveStatus() == ralph.StatusCompleted {
		isAccepted := func(name string) bool {
			return slices.Contains(s.Weakened, name) || slices.Contains(s.Started.Refused.Added, name)
		}
		return slices.DeleteFunc(files, isAccepted)
	}
	files = slices.Concat(files, s.Tampered, s.Weakened)
	slices.Sort(files)
	return slices.Compact(files)
}

// RefusedLists returns the task lists among the files that an earlier run refused.
func RefusedLists(s *State) []string {
	refused := s.Started.Refused
	if refused == nil {
		return nil
	}
	isList := func(name string) bool { return slices.Contains(refused.Lists, name) || name == refused.List }
	return slices.DeleteFunc(slices.Clone(refused.Files), func(name string) bool { return !isList(name) })
}

// noteWeakened remembers the tests that a claim was refused for. An iteration in which the tests of the base
// did not run, such as one without a claim, says nothing about them.
func (d *Distrusted) noteWeakened(tests *ralph.BaseTestsRun, v ralph.Verdict) {
	if tests == nil {
		return
	}
	refusals := ralph.RefusalsOf(v.Gates)
	for _, r := range slices.Concat(v.Tasks.Refused, v.Tasks.Unconfirmed) {
		refusals = append(refusals, ralph.Refusal{Code: r.Code})
	}
	d.Weakened = nil
	for _, r := range refusals {
		switch r.Code {
		case ralph.RefusedTestsChanged:
			d.Weakened = append(d.Weakened, tests.Files...)
		case ralph.RefusedTestAware:
			for _, line := range tests.Aware {
				name, _, _ := strings.Cut(line, ": ")
				d.Weakened = append(d.Weakened, name)
			}
		}
	}
}

// noteUntestable remembers why no test can show the work on a task. A later iteration without a reason withdraws it.
func (m *Memory) noteUntestable(task string, why *string) {
	reasons := maps.Clone(m.Untestable) // copies of the state share the old one
	delete(reasons, task)
	if why != nil && reasons == nil {
		reasons = map[string]string{}
	}
	if why != nil {
		reasons[task] = *why
	}
	m.Untestable = reasons
}

package fold

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
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
	case ralph.WorkStashed:
		s.stashWork(data)
	case ralph.WorkRestored:
		s.restoreWork(data)
	case ralph.SignalSeen:
		id, isDone := strings.CutSuffix(data.Kind, ":DONE")
		if listed := s.History.Now.Listed; isDone && data.From == ralph.FromList && !slices.Contains(listed, id) {
			s.History.Now.Listed = append(slices.Clip(listed), id)
		}
	case ralph.PlanRead:
		s.History.Now.Plan = &data
	case ralph.FilesTampered:
		s.noteTampering(data)
	case ralph.Proof:
		s.addProof(data)
	case ralph.BaseTestsRun:
		s.History.Now.BaseTests = &data
	case ralph.WorkSeen:
		s.History.Now.Work = &data
	case ralph.WorkAccepted:
		s.History.Accept(data)
		s.Asked = nil
	case ralph.Evaluation:
		s.addEvaluation(data)
	case ralph.Turn:
		s.noteSpending(data.Spent)
	case ralph.CaseSubmitted:
		s.submitCase(data)
	case ralph.CaseAnswered:
		s.answerCase(data)
	case ralph.SteeringSeen:
		same := func(item ralph.SteeringSeen) bool { return item.Text == data.Text && item.File == data.File }
		s.Steering = slices.DeleteFunc(slices.Clone(s.Steering), same)
		if data.State == ralph.SteeringDelivered {
			s.Steering = append(s.Steering, data)
		}
		s.noteDelivered(data.Message)
	case ralph.AnswerGiven:
		s.Asked = nil
		s.Answers = text.LastOf(append(slices.Clip(s.Answers), data), maxAnswers)
		s.noteDelivered(data.Message)
	case ralph.LearningProposed:
		known := slices.ContainsFunc(s.Learnings, func(l ralph.LearningProposed) bool { return l.ID == data.ID })
		if !known && len(s.Learnings) < maxLearnings {
			s.Learnings = append(slices.Clip(s.Learnings), data)
		}
	}
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

package fold

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// What a run remembers of its people and agents is bounded, so that its prompts are.
const (
	maxAnswers   = 10
	maxLearnings = 200
	maxLetters   = 50
)

// remember takes into the state what happened to the list, and what people and agents wrote.
func (s *State) remember(what any) {
	switch data := what.(type) {
	case ralph.TaskSelected:
		s.History.Task = data.Task
		if data.List != nil {
			s.History.Tasks = data.List
		}
	case ralph.WorkSetAside:
		s.setAside(data)
	case ralph.WorkBroughtBack:
		s.broughtBack(data)
	case ralph.SignalSeen:
		if id, ok := strings.CutSuffix(data.Kind, ":DONE"); ok && data.From == ralph.FromList && !slices.Contains(s.History.Now.Listed, id) {
			s.History.Now.Listed = append(slices.Clip(s.History.Now.Listed), id)
		}
	case ralph.FilesTampered:
		s.tampered(data)
	case ralph.Proof:
		s.proven(data)
	case ralph.TestsWeighed:
		s.History.Now.Weighed = &data
	case ralph.Evaluation:
		s.evaluated(data)
	case ralph.Turn:
		s.spent(data.Spent)
	case ralph.CaseSubmitted:
		s.submitted(data)
	case ralph.CaseAnswered:
		s.answered(data)
	case ralph.SteeringSeen:
		same := func(item ralph.SteeringSeen) bool { return item.Text == data.Text && item.File == data.File }
		s.Steering = slices.DeleteFunc(slices.Clone(s.Steering), same)
		if data.State == ralph.SteeringDelivered {
			s.Steering = append(s.Steering, data)
		}
		s.took(data.Letter)
	case ralph.AnswerGiven:
		s.Asked = nil
		s.Answers = text.LastOf(append(slices.Clip(s.Answers), data), maxAnswers)
		s.took(data.Letter)
	case ralph.LearningProposed:
		known := slices.ContainsFunc(s.Learnings, func(l ralph.LearningProposed) bool { return l.ID == data.ID })
		if !known && len(s.Learnings) < maxLearnings {
			s.Learnings = append(slices.Clip(s.Learnings), data)
		}
	}
}

// NewLearning is a learning with the id that its text has.
func NewLearning(said string) ralph.LearningProposed {
	return ralph.LearningProposed{ID: text.Digest(said)[:8], Text: said}
}

// injured notes what had to be put back in the list. A judgement that was cut may have found it before.
func (s *State) injured(details []string) {
	problems := &s.Last.ListProblems // of an iteration that was cut
	if s.History.Judging {
		problems = &s.History.Now.Injuries
	}
	for _, detail := range details {
		if !slices.Contains(*problems, detail) {
			*problems = append(slices.Clip(*problems), detail)
		}
	}
}

func (s *State) took(letter string) {
	if letter != "" {
		s.Letters = text.LastOf(append(slices.Clip(s.Letters), letter), maxLetters)
	}
}

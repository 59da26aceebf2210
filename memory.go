package ralph

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

// FromList is the From of a signal that was not said, but marked in the task list.
const FromList = "list"

// What a run remembers of its people and agents is bounded, so that its prompts are.
const (
	maxAnswers   = 10
	maxLearnings = 200
	maxLetters   = 50
)

// remember takes into the state what happened to the list, and what people and agents wrote.
func (s *State) remember(what any) {
	switch data := what.(type) {
	case TaskSelected:
		s.History.Task = data.Task
		if data.List != nil {
			s.History.Tasks = data.List
		}
	case WorkSetAside:
		s.setAside(data)
	case WorkBroughtBack:
		s.broughtBack(data)
	case SignalSeen:
		if id, ok := strings.CutSuffix(data.Kind, ":DONE"); ok && data.From == FromList && !slices.Contains(s.History.Now.Listed, id) {
			s.History.Now.Listed = append(s.History.Now.Listed, id)
		}
	case FilesTampered:
		s.tampered(data)
	case Proof:
		s.proven(data)
	case TestsWeighed:
		s.History.Now.Weighed = &data
	case Evaluation:
		s.evaluated(data)
	case Turn:
		s.spent(data.Spent)
	case CaseSubmitted:
		s.submitted(data)
	case CaseAnswered:
		s.answered(data)
	case SteeringSeen:
		same := func(item SteeringSeen) bool { return item.Text == data.Text && item.File == data.File }
		s.Steering = slices.DeleteFunc(slices.Clone(s.Steering), same)
		if data.State == SteeringDelivered {
			s.Steering = append(s.Steering, data)
		}
		s.took(data.Letter)
	case AnswerGiven:
		s.Asked = nil
		s.Answers = text.LastOf(append(slices.Clip(s.Answers), data), maxAnswers)
		s.took(data.Letter)
	case LearningProposed:
		known := slices.ContainsFunc(s.Learnings, func(l LearningProposed) bool { return l.ID == data.ID })
		if !known && len(s.Learnings) < maxLearnings {
			s.Learnings = append(s.Learnings, data)
		}
	}
}

// learned is a learning with the id that its text has.
func learned(said string) LearningProposed {
	return LearningProposed{ID: text.Digest(said)[:8], Text: said}
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

// SteeringItems takes the text of a STEERING.md apart: each list item, with what is indented below it, and each paragraph is one item.
// Headings, rules and comments are none.
func SteeringItems(text string) []string {
	var items []string
	var item []string
	gap := false // a blank line in a list item: only what is indented goes on with it
	end := func() {
		if joined := strings.TrimSpace(strings.Join(item, "\n")); joined != "" {
			items = append(items, joined)
		}
		item, gap = nil, false
	}
	comment := false
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		line = strings.TrimRight(line, " \t\n")
		bare := strings.TrimSpace(line)
		switch {
		case comment || strings.HasPrefix(bare, "<!--"):
			comment = !strings.Contains(bare, "-->")
		case bare == "":
			if gap = len(item) > 0; gap && !isListItem(item[0]) {
				end()
			}
		case strings.HasPrefix(bare, "#"), strings.Trim(bare, "-*_= ") == "":
			end()
		case line == bare && isListItem(bare):
			end()
			item = append(item, bare)
		default:
			if gap && line == bare {
				end()
			}
			item, gap = append(item, line), false
		}
	}
	end()
	var open []string
	for _, item := range items {
		item = unlisted(item)
		if !strings.HasPrefix(item, "[x] ") && !strings.HasPrefix(item, "[X] ") { // done
			open = append(open, item)
		}
	}
	return open
}

func isListItem(line string) bool { return unlisted(line) != line }

// unlisted takes the mark of a list item away.
func unlisted(line string) string {
	for _, mark := range []string{"- [ ] ", "* [ ] ", "- ", "* ", "+ "} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return rest
		}
	}
	digits := strings.TrimLeft(line, "0123456789")
	if digits != line && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") ")) {
		return digits[2:]
	}
	return line
}

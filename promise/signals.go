package promise

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Signals collect what an agent reports with tool calls instead of words. They count as if the agent
// had printed them, with the same rules and limits. They are not safe for concurrent use.
type Signals struct {
	said    findings
	status  *Status
	learned learnings
	phrases *phraseCounter // of a COMPLETE status
	given   bool
}

// NewSignals returns a collection for one iteration.
func NewSignals(o Options) *Signals {
	s := &Signals{phrases: blockCounter()}
	if !AreDefaultPhrases(o.Phrases) {
		s.phrases = newPhraseCounter(o.Phrases)
	}
	return s
}

// Given reports whether the agent has signaled anything.
func (s *Signals) Given() bool { return s.given }

// Complete claims that everything is done. name says how it was claimed.
func (s *Signals) Complete(name, text string) { s.accept(tag{completeTag, name, content(text)}) }

// Blocked says that the agent cannot continue without a person.
func (s *Signals) Blocked(reason string) { s.accept(tag{blockedTag, "BLOCKED", content(reason)}) }

// Decide asks a person for a decision.
func (s *Signals) Decide(question string) { s.accept(tag{decideTag, "DECIDE", content(question)}) }

// Untestable says why no test can show the work.
func (s *Signals) Untestable(reason string) {
	s.accept(tag{untestableTag, "UNTESTABLE", content(reason)})
}

// TaskDone claims that one task is done.
func (s *Signals) TaskDone(id string) error {
	if !isTaskID(id) {
		return fmt.Errorf("%q is not the id of a task", shown(tidied([]byte(id))))
	}
	s.accept(tag{kind: taskDoneTag, name: id})
	return nil
}

// Learn passes one line of text on to later iterations.
func (s *Signals) Learn(text string) {
	s.given = true
	s.learned.add(firstCharacters(tidied([]byte(text)), maxLearning))
}

// ReportStatus takes the place of a status block. The error says what makes the status invalid; then
// it does not count.
func (s *Signals) ReportStatus(given Status) error {
	var b statusBlock
	b.begin()
	for i, value := range []string{
		given.State, strconv.Itoa(given.TasksCompleted), strconv.Itoa(given.FilesModified), given.Tests, given.WorkType,
		strconv.FormatBool(given.ExitSignal), given.Recommendation,
	} {
		b.line([]byte(statusFields[i].name+": "+value), wholeLine)
	}
	status, problem := b.end()
	if problem != "" {
		return errors.New(problem)
	}
	s.given, s.status = true, &status
	return nil
}

func (s *Signals) accept(t tag) {
	s.given = true
	s.said.accept(t)
}

func content(text string) string { return firstCharacters(tidied([]byte(text)), maxContent) }

// AddTo adds the signals to what the agent said. They count as said last.
func (s *Signals) AddTo(r Report) Report {
	if !s.given {
		return r
	}
	r.Text = true
	if s.status != nil {
		r.dropStatus()
		r.Status, r.StatusProblem = s.status, ""
		r.Phrases += s.status.phrases(s.phrases)
	}
	if s.said.complete {
		r.Complete, r.CompleteTag, r.CompleteText = true, s.said.completeTag, s.said.completeText
	}
	if s.said.blocked != nil {
		r.Blocked = s.said.blocked
	}
	if s.said.decide != nil {
		r.Decide = s.said.decide
	}
	if s.said.untestable != nil {
		r.Untestable = s.said.untestable
	}
	tasks := findings{tasks: slices.Clone(r.TasksDone)}
	tasks.merge(&s.said)
	r.TasksDone = tasks.tasks
	learned := learnings(slices.Clone(r.Learnings))
	for _, text := range s.learned {
		learned.add(text)
	}
	r.Learnings = learned
	if s.status != nil {
		r.readStatus()
	}
	return r
}

// dropStatus takes back what the report has only from its status block.
func (r *Report) dropStatus() {
	if r.Status == nil {
		return
	}
	r.Complete = r.Complete && r.CompleteTag != ""
	if r.Status.State == "BLOCKED" && r.Blocked != nil && *r.Blocked == r.Status.Recommendation {
		r.Blocked = nil
	}
	r.Status, r.Contradictions = nil, nil
}

// phrases counts the completion phrases of a COMPLETE status.
func (s Status) phrases(counter *phraseCounter) int {
	if s.State != "COMPLETE" {
		return 0
	}
	said := []byte(s.Recommendation)
	return asserted(said, counter.find(nil, said, 0, len(said)), sentenceState{})
}

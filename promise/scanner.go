package promise

import (
	"cmp"
	"fmt"
	"slices"
)

// Options says which words count in a run.
type Options struct {
	CompletionTags []string // none: COMPLETE and DONE
	Prompt         string   // what the agent was told; set for plain output only, where it may be echoed
	Phrases        []string // completion phrases; none: DefaultPhrases
}

// Scanner reads the agent's own words as they come, in pieces of any size, and needs the same small memory for a line as for a gigabyte. It is not safe for
// use by several goroutines at once.
type Scanner struct {
	input   terminalCleaner
	lines   lineReader
	scratch [4 << 10]byte
}

// NewScanner returns a scanner for the words of one iteration.
func NewScanner(o Options) *Scanner {
	s := &Scanner{lines: lineReader{phrases: defaultCounter()}}
	if len(o.Phrases) > 0 {
		s.lines.phrases = newPhraseCounter(o.Phrases)
	}
	var first textSink = &tagFinder{out: &s.lines, completionTags: completionTags(o.CompletionTags)}
	if o.Prompt != "" {
		first = newEchoFilter(o.Prompt, first)
	}
	s.input.next = first
	return s
}

// Write reads more of the message under way. It never fails.
func (s *Scanner) Write(p []byte) (int, error) {
	s.input.text(p)
	return len(p), nil
}

// WriteString is Write for a string.
func (s *Scanner) WriteString(p string) (int, error) {
	for rest := p; rest != ""; {
		n := copy(s.scratch[:], rest)
		s.input.text(s.scratch[:n])
		rest = rest[n:]
	}
	return len(p), nil
}

// EndMessage ends the message under way, and with it every tag, fence, clause, status block and terminal sequence that it left open.
func (s *Scanner) EndMessage() { s.input.endMessage() }

// Report ends the message under way and says what was said so far.
func (s *Scanner) Report() Report {
	s.EndMessage()
	said := &s.lines.said
	r := Report{
		Complete: said.complete, CompleteTag: said.completeTag, CompleteText: said.completeText,
		Blocked: said.blocked, Decide: said.decide, TasksDone: slices.Clone(said.tasks),
		Status: s.lines.status, StatusProblem: s.lines.problem,
		Mentions: slices.Clone(said.mentions), Unknown: slices.Clone(said.unknown),
		Learnings: slices.Clone(s.lines.learned), Phrases: said.phrases, Text: s.lines.spoke,
	}
	if r.Status != nil {
		r.readStatus()
	}
	return r
}

// readStatus adds what the status block claims; a tag says it better.
func (r *Report) readStatus() {
	status := *r.Status
	r.Status = &status
	r.Complete = r.Complete || status.Claims()
	if status.State != "BLOCKED" {
		return
	}
	r.Blocked = cmp.Or(r.Blocked, &status.Recommendation)
	if status.ExitSignal {
		r.Contradictions = []string{fmt.Sprintf("%s: STATUS is BLOCKED, but EXIT_SIGNAL is true", ContradictionBlockedExit)}
	}
}

// ContradictionBlockedExit begins the entry in Report.Contradictions of a status block that is BLOCKED and asks for the end as well.
const ContradictionBlockedExit = "blocked_exit_signal"

// Parse reads a text that is one whole message.
func Parse(text string, o Options) Report {
	s := NewScanner(o)
	s.input.text([]byte(text))
	return s.Report()
}

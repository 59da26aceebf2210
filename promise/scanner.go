package promise

import (
	"cmp"
	"fmt"
	"slices"
)

// Options configure what counts as a claim in a run.
type Options struct {
	CompletionTags []string // default: COMPLETE and DONE
	Prompt         string   // the agent's prompt; set only for plain output, which may echo it
	Phrases        []string // completion phrases; default: DefaultPhrases
}

// Scanner reads the agent's output as it arrives, in pieces of any size. It needs the same small
// amount of memory for a line as for a gigabyte. It is not safe for concurrent use.
type Scanner struct {
	input   terminalCleaner
	lines   lineReader
	scratch [4 << 10]byte
}

// NewScanner returns a scanner for the agent's output in one iteration.
func NewScanner(o Options) *Scanner {
	s := &Scanner{lines: lineReader{phrases: defaultCounter(), blockPhrases: blockCounter()}}
	if !AreDefaultPhrases(o.Phrases) {
		s.lines.phrases = newPhraseCounter(o.Phrases)
		s.lines.blockPhrases = s.lines.phrases
	}
	var first textSink = &thinkingFilter{
		out: &tagFinder{out: &s.lines, completionTags: completionTags(o.CompletionTags)},
	}
	if o.Prompt != "" {
		first = newEchoFilter(o.Prompt, first)
	}
	s.input.next = first
	return s
}

// Write reads more of the current message. It never fails.
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

// EndMessage ends the current message, with every thought, tag, fence, clause, status block and terminal
// sequence left open in it.
func (s *Scanner) EndMessage() { s.input.endMessage() }

// Report ends the current message and returns everything reported so far.
func (s *Scanner) Report() Report {
	s.EndMessage()
	said := &s.lines.said
	r := Report{
		Complete: said.complete, CompleteTag: said.completeTag, CompleteText: said.completeText,
		Blocked: said.blocked, Decide: said.decide, Untestable: said.untestable,
		TasksDone: slices.Clone(said.tasks),
		Status:    s.lines.status, StatusProblem: s.lines.problem,
		Mentions: slices.Clone(said.mentions), Unknown: slices.Clone(said.unknown),
		Learnings: slices.Clone(s.lines.learned), Phrases: said.phrases, Text: s.lines.hasText,
	}
	if r.Status != nil {
		r.readStatus()
	}
	return r
}

// readStatus adds the claims of the status block. Tags take precedence over it.
func (r *Report) readStatus() {
	status := *r.Status
	r.Status = &status
	r.Complete = r.Complete || status.Claims()
	if status.State != "BLOCKED" {
		return
	}
	r.Blocked = cmp.Or(r.Blocked, &status.Recommendation)
	if status.ExitSignal {
		contradiction := fmt.Sprintf("%s: STATUS is BLOCKED, but EXIT_SIGNAL is true", ContradictionBlockedExit)
		r.Contradictions = []string{contradiction}
	}
}

// ContradictionBlockedExit starts the entry in Report.Contradictions for a status block that is
// BLOCKED but also signals an exit.
const ContradictionBlockedExit = "blocked_exit_signal"

// Parse reads a text that is one whole message.
func Parse(text string, o Options) Report {
	s := NewScanner(o)
	s.input.text([]byte(text))
	return s.Report()
}

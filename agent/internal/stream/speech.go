package stream

import (
	"strings"

	"github.com/ralphloop/ralph/promise"
)

// maxAnswer limits the last message that is kept; of a longer one the end is kept.
const maxAnswer = 256 << 10 // a long task list must fit

// Speech is what the agent itself says. It is scanned for promises, and its last message is kept if
// requested.
type Speech struct {
	*promise.Scanner
	answer *lastMessage // nil if not requested
}

// Write adds to the current message. It never fails.
func (s *Speech) Write(p []byte) (int, error) {
	if s.answer != nil {
		s.answer.add(p)
	}
	return s.Scanner.Write(p)
}

// WriteString is Write for a string.
func (s *Speech) WriteString(p string) (int, error) {
	if s.answer != nil {
		s.answer.add([]byte(p))
	}
	return s.Scanner.WriteString(p)
}

// EndMessage ends the current message.
func (s *Speech) EndMessage() {
	if s.answer != nil {
		s.answer.end()
	}
	s.Scanner.EndMessage()
}

// lastWords returns the last message that was not blank, or "" if it was not kept.
func (s *Speech) lastWords() string {
	if s.answer == nil {
		return ""
	}
	s.answer.end()
	return strings.ToValidUTF8(string(s.answer.whole), "")
}

// lastMessage keeps the last message that is not blank.
type lastMessage struct{ current, whole []byte }

func (l *lastMessage) add(p []byte) {
	l.current = append(l.current, p...)
	if len(l.current) > 2*maxAnswer { // rarely, so that a long message is not moved for every piece
		l.shorten()
	}
}

func (l *lastMessage) shorten() {
	l.current = append(l.current[:0], l.current[max(len(l.current)-maxAnswer, 0):]...)
}

func (l *lastMessage) end() {
	l.shorten()
	if promise.Answer(string(l.current)) != "" { // a message that only claims is no answer
		l.current, l.whole = l.whole, l.current
	}
	l.current = l.current[:0]
}

package canary

import (
	"slices"
	"strings"
)

// segment is one simple command of a shell command line.
type segment struct {
	words  []word // assignments aside
	plain  bool   // nothing in it but words: no redirection, no bracket, no pipe on either side
	before string // what joins it to the one before: "", "&&", "||", ";", "|", "&", "("
	after  string
}

// word is one word of a command, unquoted, and where it ends in the text.
type word struct {
	text string
	end  int
}

func (s segment) texts() []string {
	texts := make([]string, len(s.words))
	for i, w := range s.words {
		texts[i] = w.text
	}
	return texts
}

// split takes a command line apart. It is no shell parser: what it is not sure of makes a segment that is not plain, and those are left alone.
func split(command string) []segment {
	s := splitter{text: command, current: segment{plain: true}}
	for s.at < len(command) {
		s.step()
	}
	s.endWord()
	s.endSegment("")
	return s.segments
}

type splitter struct {
	text     string
	at       int
	word     strings.Builder
	inWord   bool
	current  segment
	segments []segment
	assigned bool // the first word that is no assignment was seen
}

func (s *splitter) step() {
	c := s.text[s.at]
	switch {
	case c == '\'':
		s.quoted('\'')
	case c == '"':
		s.quoted('"')
	case c == '\\' && s.at+1 < len(s.text):
		s.add(s.text[s.at+1])
		s.at += 2
	case c == ' ' || c == '\t':
		s.endWord()
		s.at++
	case c == '`' || strings.HasPrefix(s.text[s.at:], "$("):
		s.current.plain = false
		s.add(c)
		s.at++
	case strings.IndexByte("<>", c) >= 0:
		// In 2>&1 and >&2 the ampersand joins nothing.
		s.current.plain = false
		s.endWord()
		for s.at < len(s.text) && strings.IndexByte("<>&", s.text[s.at]) >= 0 {
			s.at++
		}
	case strings.IndexByte(";&|()\n", c) >= 0:
		s.operator()
	case c == '#' && !s.inWord:
		for s.at < len(s.text) && s.text[s.at] != '\n' {
			s.at++
		}
	default:
		s.add(c)
		s.at++
	}
}

func (s *splitter) add(c byte) {
	s.word.WriteByte(c)
	s.inWord = true
}

func (s *splitter) quoted(mark byte) {
	s.inWord = true
	closing := strings.IndexByte(s.text[s.at+1:], mark)
	if closing < 0 {
		s.current.plain = false
		s.at = len(s.text)
		return
	}
	inner := s.text[s.at+1 : s.at+1+closing]
	if mark == '"' && strings.ContainsAny(inner, "\\`") || mark == '"' && strings.Contains(inner, "$(") {
		s.current.plain = false
	}
	s.word.WriteString(inner)
	s.at += closing + 2
}

func (s *splitter) operator() {
	s.endWord()
	text := s.text[s.at : s.at+1]
	if doubled := s.text[s.at:]; strings.HasPrefix(doubled, "&&") || strings.HasPrefix(doubled, "||") || strings.HasPrefix(doubled, ";;") {
		text = doubled[:2]
	}
	s.at += len(text)
	if text == "\n" {
		text = ";"
	}
	s.endSegment(text)
}

var assignment = lazily(`^[A-Za-z_][A-Za-z0-9_]*=`)

func (s *splitter) endWord() {
	if !s.inWord {
		return
	}
	text := s.word.String()
	s.word.Reset()
	s.inWord = false
	if !s.assigned && assignment().MatchString(text) {
		return
	}
	s.assigned = true
	s.current.words = append(s.current.words, word{text: text, end: s.at})
}

func (s *splitter) endSegment(joint string) {
	s.current.after = joint
	if joint != "" && joint != "&&" && joint != "||" && joint != ";" {
		s.current.plain = false
	}
	s.assigned = false
	if len(s.current.words) == 0 {
		// A line break after && or an empty line joins nothing new, a bracket does.
		if joint != ";" || s.current.before == "" {
			s.current = segment{plain: joint != "(" && joint != ")", before: joint}
		}
		return
	}
	s.segments = append(s.segments, s.current)
	s.current = segment{plain: joint == "" || joint == "&&" || joint == "||" || joint == ";", before: joint}
}

// insertion puts text into a command behind a word.
type insertion struct {
	at   int
	text string
}

func insert(command string, insertions []insertion) string {
	slices.SortStableFunc(insertions, func(a, b insertion) int { return b.at - a.at })
	for _, i := range insertions {
		command = command[:i.at] + i.text + command[i.at:]
	}
	return command
}

// quote makes one word of a text for the shell.
func quote(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

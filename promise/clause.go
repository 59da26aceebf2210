package promise

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// clauseWords says which kinds of words in a clause show that it only talks about a tag.
type clauseWords uint8

const (
	negation  clauseWords = 1 << iota // not, n't, never, cannot
	condition                         // once, if, should and the like
)

const clauseEnds = ".!?;:"

// clause is the part of a line around a tag that may talk about it.
type clause struct {
	words    clauseWords
	question bool
	tags     int // how many of the line's first tags are in it or before it
}

// clauseOf examines the clause around the line's tag number i.
func (l *line) clauseOf(i int) clause {
	at := l.tags[i].at
	start := bytes.LastIndexAny(l.text[:at], clauseEnds) + 1
	end := len(l.text)
	if n := bytes.IndexAny(l.text[at:], clauseEnds); n >= 0 {
		end = at + n
	}
	c := clause{tags: i, question: end < len(l.text) && l.text[end] == '?'}
	if start == 0 {
		c.words = l.before.clause
	}
	for ; c.tags < len(l.tags) && l.tags[c.tags].at <= end; c.tags++ {
		c.words |= wordsOf(l.text[start:l.tags[c.tags].at])
		start = l.tags[c.tags].at
	}
	c.words |= wordsOf(l.text[start:end])
	return c
}

// talksAbout reports whether the clause makes the tag a mention. A negation before BLOCKED or
// DECIDE does not, since it leads into them naturally.
func (c clause) talksAbout(k tagKind) bool {
	if k == blockedTag || k == decideTag {
		return c.question || c.words&condition != 0
	}
	return c.question || c.words != 0
}

func wordsOf(text []byte) clauseWords {
	var found clauseWords
	for end := 0; ; {
		n := bytes.IndexFunc(text[end:], inWord)
		if n < 0 {
			return found
		}
		start := end + n
		end = len(text) - len(bytes.TrimLeftFunc(text[start:], inWord))
		found |= meaning(text, start, end)
	}
}

// inWord includes the underscore, so that the parts of an identifier are not words.
func inWord(r rune) bool { return r == '_' || isLetterOrDigit(r) }

func isLetterOrDigit(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiAlphanumeric(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func meaning(text []byte, start, end int) clauseWords {
	var lower [len("whenever")]byte
	if end-start > len(lower) {
		return 0
	}
	for i, b := range text[start:end] {
		lower[i] = byte(foldRune(rune(b)))
	}
	switch string(lower[:end-start]) {
	case "not", "never", "cannot":
		return negation
	case "t":
		if endsInN(text[:start]) {
			return negation
		}
	case "once", "when", "whenever", "if", "until", "unless", "after", "before",
		"should", "would", "will", "must", "shall":
		return condition
	}
	return 0
}

// endsInN reports whether text could come before the t of n't.
func endsInN(text []byte) bool {
	for _, apostrophe := range []string{"'", "’"} {
		if head, ok := bytes.CutSuffix(text, []byte(apostrophe)); ok {
			return bytes.HasSuffix(head, []byte("n")) || bytes.HasSuffix(head, []byte("N"))
		}
	}
	return false
}

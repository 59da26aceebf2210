package promise

import (
	"bytes"
	"slices"
)

const (
	learningWord = "LEARNING"
	maxLearning  = 500 // characters
	maxLearnings = 20
)

// learnings are kept apart from the other findings: neither a fence nor a valid status block can
// hold one, so a learning is taken back only with its whole message.
type learnings []string

func (l *learnings) add(text string) {
	if text != "" && len(*l) < maxLearnings && !slices.Contains(*l, text) {
		*l = append(*l, text)
	}
}

// mayTeach rules out nearly every line by its first byte.
func (p piece) mayBeLearning() bool {
	return p.indent < p.end && (p.text[p.indent] == 'L' || p.text[p.indent] == '*')
}

// learning returns the text that the piece passes on to later iterations, or "". That is the rest
// of a line that begins with LEARNING and a colon, after any indent and list marker, in plain or
// bold type.
func (p piece) learning() string {
	first := p.firstPart(p.indent)
	if p.before.began {
		return ""
	}
	rest, bold := bytes.CutPrefix(first, []byte("**"))
	rest, ok := bytes.CutPrefix(rest, []byte(learningWord))
	if !ok {
		return ""
	}
	if !bytes.HasPrefix(rest, []byte(":")) && !(bold && bytes.HasPrefix(rest, []byte("**:"))) {
		return ""
	}
	// A tag on the line is replaced by its content, so that the learning holds no tag.
	said := p.withTags()[p.indent+len(first)-len(rest):]
	if bold {
		said = unbold(said)
	}
	return firstCharacters(tidied(bytes.TrimPrefix(said, []byte(":"))), maxLearning)
}

// unbold removes the closing bold marks after the word: **LEARNING:** text, **LEARNING**: text or
// **LEARNING: text**.
func unbold(said []byte) []byte {
	for _, marks := range []string{":**", "**:"} {
		if rest, ok := bytes.CutPrefix(said, []byte(marks)); ok {
			return rest
		}
	}
	return bytes.TrimSuffix(bytes.TrimSpace(said), []byte("**"))
}

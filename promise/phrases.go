package promise

import (
	"bytes"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// DefaultPhrases returns the completion phrases that the status gate counts by default, the most
// common ones first.
func DefaultPhrases() []string {
	return []string{
		"all done", "all tasks complete", "everything passes", "no remaining work",
		"all tasks completed", "all tasks are complete", "all tasks are completed",
		"all tasks done", "all tasks are done",
		"all work is complete", "all work is done",
		"everything is complete", "everything is done", "everything is finished",
		"no remaining tasks", "no work remains", "no tasks remain",
		"nothing left to do", "nothing remains to be done",
		"project complete", "project is complete",
	}
}

// AreDefaultPhrases reports whether phrases are those that count by default.
func AreDefaultPhrases(phrases []string) bool {
	return len(phrases) == 0 || slices.Equal(phrases, DefaultPhrases())
}

// BlockPhrase is a completion phrase only in the RECOMMENDATION of a COMPLETE block, and only beside
// the default phrases. In other text it often describes a single step.
const BlockPhrase = "tests passing"

var (
	defaultCounter = sync.OnceValue(func() *phraseCounter { return newPhraseCounter(DefaultPhrases()) })
	blockCounter   = sync.OnceValue(func() *phraseCounter {
		return newPhraseCounter(append(DefaultPhrases(), BlockPhrase))
	})
)

// phraseCounter finds phrases by whole words, in any case, with any white space between the words.
// If phrases overlap, the first and longest counts.
type phraseCounter struct {
	// uses rules out nearly all text by three bytes: the one before a phrase, its first and its second.
	uses   [1 << 8]byteUse
	groups map[rune][][]rune // the phrases by their first character, longest first
}

// byteUse says what a byte may be. The order of the bits lets find compare the uses of neighboring
// bytes in one expression.
type byteUse uint8

const (
	firstByte  byteUse = 1 << iota // of a phrase
	secondByte                     // of a phrase
	wordByte                       // an ASCII letter, digit or underscore
)

func newPhraseCounter(phrases []string) *phraseCounter {
	c := &phraseCounter{groups: map[rune][][]rune{}}
	for _, p := range phrases {
		folded := []rune(tidied([]byte(p)))
		if len(folded) == 0 {
			continue
		}
		for i, r := range folded {
			folded[i] = foldRune(r)
		}
		c.mark(folded)
		c.groups[folded[0]] = append(c.groups[folded[0]], folded)
	}
	for _, group := range c.groups {
		slices.SortStableFunc(group, func(a, b []rune) int { return len(b) - len(a) })
	}
	return c
}

// mark records which bytes the phrase may begin with.
func (c *phraseCounter) mark(phrase []rune) {
	for b := range c.uses {
		if mayBegin(byte(b), phrase[0]) {
			c.uses[b] |= firstByte
		}
		if len(phrase) == 1 || phrase[0] >= utf8.RuneSelf || mayBegin(byte(b), phrase[1]) {
			c.uses[b] |= secondByte
		}
		if b < utf8.RuneSelf && inWord(rune(b)) {
			c.uses[b] |= wordByte
		}
	}
}

// mayBegin reports whether b may be the first byte of the folded character r in either case, or of
// white space in its place. Non-ASCII characters are checked later, once they are decoded.
func mayBegin(b byte, r rune) bool {
	if b >= utf8.RuneSelf {
		return r >= utf8.RuneSelf || r == ' '
	}
	return foldRune(rune(b)) == r || r == ' ' && unicode.IsSpace(rune(b))
}

// find appends the phrases that begin in text[from:until] to found.
func (c *phraseCounter) find(found []phraseSpan, text []byte, from, until int) []phraseSpan {
	var before byteUse
	if from > 0 {
		before = c.uses[text[from-1]]
	}
	for i := from; i < until; i++ {
		now, next := c.uses[text[i]], secondByte
		if i+1 < len(text) {
			next = c.uses[text[i+1]]
		}
		begins := now & (next >> 1) &^ (before & now >> 2) & firstByte // and not in the middle of a word
		before = now
		if begins == 0 {
			continue
		}
		if stop := c.match(text, i); stop > 0 {
			found = append(found, phraseSpan{i, stop})
			before, i = c.uses[text[stop-1]], stop-1
		}
	}
	return found
}

// match returns the end of the longest phrase that begins at i, or 0.
func (c *phraseCounter) match(text []byte, i int) int {
	if splitsWord(text, i) {
		return 0
	}
	first, _ := utf8.DecodeRune(text[i:])
	for _, phrase := range c.groups[foldRune(first)] {
		if end := matchPhrase(text, i, phrase); end > 0 && !splitsWord(text, end) {
			return end
		}
	}
	return 0
}

func splitsWord(text []byte, at int) bool {
	if at == 0 || at == len(text) {
		return false
	}
	before, _ := utf8.DecodeLastRune(text[:at])
	after, _ := utf8.DecodeRune(text[at:])
	return inWord(before) && inWord(after)
}

// matchPhrase returns where the phrase at text[i:] ends, or 0 if text[i:] does not begin with it.
func matchPhrase(text []byte, i int, phrase []rune) int {
	for _, want := range phrase {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case want == ' ' && unicode.IsSpace(r):
			i = len(text) - len(bytes.TrimLeftFunc(text[i:], unicode.IsSpace))
		case size > 0 && foldRune(r) == want:
			i += size
		default:
			return 0
		}
	}
	return i
}

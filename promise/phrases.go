package promise

import (
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// DefaultPhrases are the completion phrases that the status gate counts unless others are configured.
func DefaultPhrases() []string {
	return []string{
		"all done",
		"all tasks complete", "all tasks completed", "all tasks are complete", "all tasks are completed", "all tasks done", "all tasks are done",
		"all work is complete", "all work is done",
		"everything passes", "everything is complete", "everything is done", "everything is finished",
		"no remaining work", "no remaining tasks", "no work remains", "no tasks remain",
		"nothing left to do", "nothing remains to be done",
		"project complete", "project is complete",
	}
}

var defaultCounter = sync.OnceValue(func() *phraseCounter { return newPhraseCounter(DefaultPhrases()) })

// phraseCounter finds phrases by whole words, in any case, with any blanks between the words. Of phrases that overlap, the first and longest counts.
//
// Nearly all text is passed over by looking at three bytes: the one before, the first and the second.
type phraseCounter struct {
	begins [1 << 16]bool // two bytes, at the second of which a phrase may begin
	second [1 << 8]bool  // the byte after that
	groups map[rune]*phraseGroup
}

// phraseGroup holds the phrases with the same first character.
type phraseGroup struct {
	common  []rune   // what they all begin with
	endings [][]rune // what follows that, the longest first
}

func newPhraseCounter(phrases []string) *phraseCounter {
	c := &phraseCounter{groups: map[rune]*phraseGroup{}}
	for _, p := range phrases {
		folded := []rune(tidied([]byte(p)))
		if len(folded) == 0 {
			continue
		}
		for i, r := range folded {
			folded[i] = foldRune(r)
		}
		c.markBeginning(folded)
		if c.groups[folded[0]] == nil {
			c.groups[folded[0]] = &phraseGroup{}
		}
		group := c.groups[folded[0]]
		group.endings = append(group.endings, folded)
	}
	for _, g := range c.groups {
		g.factorOut()
	}
	return c
}

func (g *phraseGroup) factorOut() {
	slices.SortStableFunc(g.endings, func(a, b []rune) int { return len(b) - len(a) })
	g.common = g.endings[0]
	for _, e := range g.endings {
		n := 0
		for n < min(len(g.common), len(e)) && g.common[n] == e[n] {
			n++
		}
		g.common = g.common[:n]
	}
	for i := range g.endings {
		g.endings[i] = g.endings[i][len(g.common):]
	}
}

// markBeginning notes which bytes may stand where the phrase begins.
func (c *phraseCounter) markBeginning(phrase []rune) {
	first := phrase[0]
	for at := range 1 << 8 {
		if mayBegin(byte(at), first) { // few may, and this is done before the first agent starts
			c.markBefore(byte(at), first)
		}
		if len(phrase) == 1 || first >= utf8.RuneSelf || mayBegin(byte(at), phrase[1]) {
			c.second[at] = true
		}
	}
}

// markBefore notes what may stand before the byte at, with which a phrase that begins with first may begin.
func (c *phraseCounter) markBefore(at byte, first rune) {
	word := inWord(first)
	for before := range 1 << 8 {
		if inside := word && before < utf8.RuneSelf && inWord(rune(before)); !inside {
			c.begins[before<<8|int(at)] = true
		}
	}
}

// mayBegin reports whether b may be the first byte of the folded character r in either case, or of a blank in its place. What is not ASCII is only looked at
// once it is decoded.
func mayBegin(b byte, r rune) bool {
	if b >= utf8.RuneSelf {
		return r >= utf8.RuneSelf || r == ' '
	}
	return foldRune(rune(b)) == r || r == ' ' && unicode.IsSpace(rune(b))
}

// count counts the phrases that begin in text[from:until] and returns where the last of them ends.
func (c *phraseCounter) count(text []byte, from, until int) (n, end int) {
	before := uint16(' ')
	if from > 0 {
		before = uint16(text[from-1])
	}
	for i := from; i < until; i++ {
		pair := before<<8 | uint16(text[i])
		before = uint16(text[i])
		if !c.begins[pair] || i+1 < len(text) && !c.second[text[i+1]] {
			continue
		}
		if stop := c.match(text, i); stop > 0 {
			n, end = n+1, stop
			before, i = uint16(text[stop-1]), stop-1
		}
	}
	return n, end
}

// match returns the end of the longest phrase that begins at i, or 0.
func (c *phraseCounter) match(text []byte, i int) int {
	first, _ := utf8.DecodeRune(text[i:])
	group := c.groups[foldRune(first)]
	if group == nil {
		return 0
	}
	if before, _ := utf8.DecodeLastRune(text[:i]); i > 0 && inWord(before) && inWord(first) {
		return 0
	}
	i = matchPhrase(text, i, group.common)
	if i == 0 {
		return 0
	}
	for _, e := range group.endings {
		if end := matchPhrase(text, i, e); end > 0 && !splitsWord(text, end) {
			return end
		}
	}
	return 0
}

func splitsWord(text []byte, at int) bool {
	before, _ := utf8.DecodeLastRune(text[:at])
	after, _ := utf8.DecodeRune(text[at:])
	return at < len(text) && inWord(before) && inWord(after)
}

// matchPhrase returns where phrase, which text[i:] must begin with, ends; 0 if it does not.
func matchPhrase(text []byte, i int, phrase []rune) int {
	for _, want := range phrase {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case want == ' ' && unicode.IsSpace(r):
			i = blanksEnd(text, i)
		case size > 0 && foldRune(r) == want:
			i += size
		default:
			return 0
		}
	}
	return i
}

func blanksEnd(text []byte, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRune(text[i:])
		if !unicode.IsSpace(r) {
			break
		}
		i += size
	}
	return i
}

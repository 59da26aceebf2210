package promise

import (
	"slices"
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

// phraseCounter finds phrases by whole words, in any case, with any blanks between the words. Of phrases that overlap, the first and longest counts.
type phraseCounter struct {
	phrases [][]rune // folded, the longest first
	begins  [256]bool
}

func newPhraseCounter(phrases []string) *phraseCounter {
	c := &phraseCounter{}
	for _, p := range phrases {
		folded := []rune(tidied([]byte(p)))
		if len(folded) == 0 {
			continue
		}
		for i, r := range folded {
			folded[i] = foldRune(r)
		}
		c.phrases = append(c.phrases, folded)
		c.markBeginning(folded[0])
	}
	slices.SortStableFunc(c.phrases, func(a, b []rune) int { return len(b) - len(a) })
	return c
}

func (c *phraseCounter) markBeginning(r rune) {
	if r < utf8.RuneSelf {
		c.begins[r] = true
		c.begins[unicode.ToUpper(r)] = true
		return
	}
	// The other case of a letter may begin with another byte.
	for b := utf8.RuneSelf; b < len(c.begins); b++ {
		c.begins[b] = true
	}
}

// count counts the phrases that begin in text[from:until] and returns where the last of them ends.
func (c *phraseCounter) count(text []byte, from, until int) (n, end int) {
	for i := from; i < until; i++ {
		if !c.begins[text[i]] {
			continue
		}
		if stop := c.match(text, i); stop > 0 {
			n, end = n+1, stop
			i = stop - 1
		}
	}
	return n, end
}

// match returns the end of the longest phrase that begins at i, or 0.
func (c *phraseCounter) match(text []byte, i int) int {
	if i > 0 {
		before, _ := utf8.DecodeLastRune(text[:i])
		first, _ := utf8.DecodeRune(text[i:])
		if inWord(before) && inWord(first) {
			return 0
		}
	}
	for _, p := range c.phrases {
		if end := matchPhrase(text, i, p); end > 0 {
			return end
		}
	}
	return 0
}

func matchPhrase(text []byte, i int, phrase []rune) int {
	var r rune
	for _, want := range phrase {
		size := 0
		r, size = utf8.DecodeRune(text[i:])
		if size == 0 {
			return 0
		}
		if want == ' ' && unicode.IsSpace(r) {
			i = blanksEnd(text, i)
			continue
		}
		if foldRune(r) != want {
			return 0
		}
		i += size
	}
	if next, _ := utf8.DecodeRune(text[i:]); i < len(text) && inWord(r) && inWord(next) {
		return 0
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

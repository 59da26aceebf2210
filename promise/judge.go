package promise

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// quotationMarks may each open or close a quotation: languages differ.
const quotationMarks = `"'` + "“”„‟‘’‚‛«»‹›"

// judge records the tags of the piece: as claims if they count, as mentions if they are only talked
// about.
func (p piece) judge(into *findings) {
	if p.settled == 0 {
		return
	}
	firstWord, lastWord := p.wordBounds()
	spans := p.codeSpans()
	for i := 0; i < p.settled; {
		clause := p.clauseOf(i)
		for ; i < min(clause.tags, p.settled); i++ {
			t := p.tags[i]
			for len(spans) > 0 && spans[0].to < t.at {
				spans = spans[1:]
			}
			inCode := len(spans) > 0 && spans[0].from <= t.at && spans[0].other
			amidWords := firstWord < t.at && lastWord >= t.at
			if inCode || amidWords || p.citedAt(t.at) || clause.talksAbout(t.kind) {
				into.mention(t.tag)
			} else {
				into.accept(t.tag)
			}
		}
	}
}

// wordBounds returns the offsets of the line's first and last letter or digit.
func (l *line) wordBounds() (first, last int) {
	switch first = bytes.IndexFunc(l.text, isLetterOrDigit); {
	case l.before.word:
		first = -1
	case first < 0:
		first = len(l.text)
	}
	return first, bytes.LastIndexFunc(l.text, isLetterOrDigit)
}

// citedAt reports whether the offset is directly inside quotation marks, or escaped.
func (l *line) citedAt(at int) bool {
	before, size := utf8.DecodeLastRune(l.text[:at])
	if size == 0 {
		before = l.before.last
	}
	after, _ := utf8.DecodeRune(l.text[at:])
	quoted := strings.ContainsRune(quotationMarks, before) && strings.ContainsRune(quotationMarks, after)
	return before == '\\' || quoted
}

// codeSpan is the inside of `…`.
type codeSpan struct {
	from, to int
	other    bool // it holds something other than tags and white space
}

// codeSpans pairs each run of backticks with the next one of the same length; a run without a
// partner is text.
func (l *line) codeSpans() []codeSpan {
	runs := l.backtickRuns()
	partner, next := make([]int, len(runs)), map[int]int{}
	for i := len(runs) - 1; i >= 0; i-- {
		length := runs[i].to - runs[i].from
		partner[i], next[length] = next[length], i
	}
	var spans []codeSpan
	for i := 0; i < len(runs); i++ {
		if partner[i] == 0 {
			continue
		}
		s := codeSpan{from: runs[i].to, to: runs[partner[i]].from}
		s.other = len(bytes.TrimSpace(l.text[s.from:s.to])) > 0
		spans = append(spans, s)
		i = partner[i]
	}
	return spans
}

type backticks struct{ from, to int }

// backtickRuns finds the runs of backticks. A tag between two backticks separates them.
func (l *line) backtickRuns() []backticks {
	var runs []backticks
	tags := l.tags
	for at := 0; ; {
		n := bytes.IndexByte(l.text[at:], '`')
		if n < 0 {
			return runs
		}
		run := backticks{at + n, at + n + 1}
		for len(tags) > 0 && tags[0].at < run.to {
			tags = tags[1:]
		}
		for run.to < len(l.text) && l.text[run.to] == '`' && (len(tags) == 0 || tags[0].at > run.to) {
			run.to++
		}
		runs, at = append(runs, run), run.to
	}
}

// withTags returns the line's text with the content of its tags put back in.
func (l *line) withTags() []byte {
	if len(l.tags) == 0 {
		return l.text
	}
	var all []byte
	from := 0
	for _, t := range l.tags {
		all = append(append(all, l.text[from:t.at]...), t.String()...)
		from = t.at
	}
	return append(all, l.text[from:]...)
}

package promise

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// fold judges and drops the first half of a line that is too long, so that a line may hold any
// amount of text and tags.
func (r *lineReader) fold() {
	l := &r.line
	r.hasText = r.hasText || len(bytes.TrimSpace(l.text)) > 0 || len(l.tags) > 0
	r.indent = l.indentEnd(r.indent)
	end, settled := r.half()
	before := l.prefix(end, r.indent)
	r.found = r.found[:0]
	r.read(piece{line: l, end: end, settled: settled, indent: r.indent})

	before.sentence = stateAt(l.text, end, r.found, l.startState(r.indent))
	l.before = before
	l.text = append(l.text[:0], l.text[end:]...)
	for _, t := range l.tags[:settled] {
		r.tagBytes -= t.expense()
	}
	l.tags = slices.Delete(l.tags, 0, settled)
	for i := range l.tags {
		l.tags[i].at -= end
	}
	r.indent = max(0, r.indent-end)
}

// half returns how much of the current line to fold: half of its text or half of its tags,
// whichever takes more room.
func (r *lineReader) half() (end, settled int) {
	l := &r.line
	if r.tagBytes > len(l.text) {
		settled = (len(l.tags) + 1) / 2
		return l.tags[settled-1].at, settled
	}
	end = fitting(l.text, len(l.text)/2)
	if blank := bytes.LastIndexByte(l.text[:end], ' '); blank > 0 {
		end = blank
	}
	for settled < len(l.tags) && l.tags[settled].at < end {
		settled++
	}
	return end, settled
}

// prefix summarizes the line's first end bytes, and what was folded before them, for judging the
// rest of the line.
func (l *line) prefix(end, indent int) linePrefix {
	folded, p := l.text[:end], l.before
	if !p.began && (indent < end || len(l.tags) > 0) {
		p.quoted, p.began = l.quoted(indent), true
	}
	p.cut = true
	p.word = p.word || bytes.ContainsFunc(folded, isLetterOrDigit)
	if i := bytes.LastIndexAny(folded, clauseEnds); i >= 0 {
		p.clause = wordsOf(folded[i+1:])
	} else {
		p.clause |= wordsOf(folded)
	}
	if len(folded) > 0 {
		p.last, _ = utf8.DecodeLastRune(folded)
	}
	return p
}

// firstPart returns the text between the line's indent and its first tag.
func (l *line) firstPart(indent int) []byte {
	if len(l.tags) > 0 {
		return l.text[indent:l.tags[0].at]
	}
	return l.text[indent:]
}

func (l *line) quoted(indent int) bool {
	if l.before.began {
		return l.before.quoted
	}
	first := l.firstPart(indent)
	return len(first) > 0 && first[0] == '>'
}

// lead returns how many bytes at the start of the line are indent and list markers, given that the
// first from bytes are.
func (l *line) indentEnd(from int) int {
	if l.before.began {
		return 0
	}
	text := l.firstPart(0)
	for from < len(text) {
		n := markerLength(text[from:])
		if n == 0 {
			break
		}
		from += n
	}
	return from
}

// markerLength returns the length of the leading space, or of the leading list marker with its
// space.
func markerLength(text []byte) int {
	marker := 1
	switch b := text[0]; {
	case b == ' ' || b == '\t':
		return 1
	case b == '-' || b == '*' || b == '+':
	case b >= '0' && b <= '9':
		for marker < len(text) && marker < maxCountDigits && text[marker] >= '0' && text[marker] <= '9' {
			marker++
		}
		if marker == len(text) || text[marker] != '.' && text[marker] != ')' {
			return 0
		}
		marker++
	default:
		return 0
	}
	if marker < len(text) && (text[marker] == ' ' || text[marker] == '\t') {
		return marker + 1
	}
	return 0
}

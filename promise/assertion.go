package promise

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordUse says what a word does to a completion phrase in the same sentence.
type wordUse uint8

const (
	deniesPart     wordUse = 1 << iota // what follows, up to a comma or dash: "not all done"
	deniesSentence                     // what follows, up to the end of the sentence: "if it works, all done"
	limitsPart                         // what comes before it, since a comma or dash: "all done once it works"
	limitsSentence                     // what comes before it in the sentence: "all tasks complete, except one"
)

var wordUses = usesOfWords(map[wordUse]string{
	deniesPart: "not never cannot no nothing none nobody neither nor nowhere without hardly barely scarcely " +
		"almost nearly mostly partly partially yet unable doubt doubtful unlikely unclear unsure whether false untrue " +
		"after before aint arent cant couldnt didnt doesnt dont hasnt havent isnt wasnt werent wont wouldnt",
	deniesSentence:              "should would will must shall may might",
	deniesSentence | limitsPart: "if once when whenever until till unless assuming provided soon",
	limitsSentence:              "but except excepting excluding apart aside besides barring",
})

const longestUsedWord = len("excepting")

func usesOfWords(lists map[wordUse]string) map[string]wordUse {
	uses := map[string]wordUse{}
	for use, words := range lists {
		for word := range strings.FieldsSeq(words) {
			uses[word] = use
		}
	}
	return uses
}

// phraseSpan is where a phrase begins and ends in a text.
type phraseSpan struct{ from, to int }

// sentenceState is what the words before a place in a line do to a phrase at that place.
type sentenceState struct {
	unchecked bool // the line is an unchecked box of a checklist
	sentence  bool // denied up to the end of the sentence
	part      bool // denied up to the next comma or dash
}

// assertions counts the phrases of a line that are asserted: not denied, limited, asked or quoted.
// It reads the line once, word by word.
type assertions struct {
	text       []byte
	code       []codeSpan // that do not end before the current place
	state      sentenceState
	inPart     int // phrases in the current part of the sentence
	inSentence int // phrases in its other parts
	total      int
}

// asserted counts the phrases found in text that are asserted, given the state at its beginning.
func asserted(text []byte, found []phraseSpan, before sentenceState) int {
	a := assertions{text: text, code: (&line{text: text}).codeSpans(), state: before}
	a.read(found, len(text))
	a.endSentence()
	return a.total
}

// stateAt returns the state at text[at:], given the state at its beginning. The words of the phrases
// found in it do not count.
func stateAt(text []byte, at int, found []phraseSpan, before sentenceState) sentenceState {
	a := assertions{text: text, state: before}
	a.read(found, at)
	return a.state
}

func (a *assertions) read(found []phraseSpan, until int) {
	for i := 0; i < until; {
		if len(found) > 0 && i >= found[0].from {
			a.phrase(found[0])
			i, found = found[0].to, found[1:]
			continue
		}
		r, size := utf8.DecodeRune(a.text[i:])
		if !inWord(r) {
			a.mark(r, i)
			i += size
			continue
		}
		end := len(a.text) - len(bytes.TrimLeftFunc(a.text[i:], inWord))
		a.word(i, end)
		i = end
	}
}

func (a *assertions) phrase(p phraseSpan) {
	if a.state != (sentenceState{}) || a.quoted(p) || a.answeredNo(p.to) {
		return
	}
	a.inPart++
}

// word applies the word at text[from:to].
func (a *assertions) word(from, to int) {
	use := a.use(from, to)
	a.state.part = a.state.part || use&deniesPart != 0
	a.state.sentence = a.state.sentence || use&deniesSentence != 0
	if use&(limitsPart|limitsSentence) != 0 {
		a.inPart = 0
	}
	if use&limitsSentence != 0 {
		a.inSentence = 0
		a.endPart()
	}
}

func (a *assertions) use(from, to int) wordUse {
	var lower [longestUsedWord]byte
	if to-from > len(lower) {
		return 0
	}
	for i, b := range a.text[from:to] {
		lower[i] = byte(foldRune(rune(b)))
	}
	word := string(lower[:to-from])
	switch {
	case word == "t" && endsInN(a.text[:from]),
		word == "far" && a.nextWord(to) == "from",
		(word == "close" || word == "closer") && a.nextWord(to) == "to":
		return deniesPart
	}
	return wordUses[word]
}

// nextWord returns the word after the offset in lower case, or "" if there is none nearby.
func (a *assertions) nextWord(from int) string {
	near := a.text[from:min(len(a.text), from+2*longestUsedWord)]
	near = bytes.TrimLeftFunc(near, func(r rune) bool { return !inWord(r) })
	return strings.ToLower(string(near[:len(near)-len(bytes.TrimLeftFunc(near, inWord))]))
}

// mark applies a character between words.
func (a *assertions) mark(r rune, at int) {
	switch {
	case r == ',' || r == '(' || r == ')' || r == '–' || r == '—':
		a.endPart()
	case strings.ContainsRune(clauseEnds, r):
		if next, size := utf8.DecodeRune(a.text[at+1:]); r == '.' && size > 0 && inWord(next) {
			return // inside a name, as in main.go
		}
		if r == '?' {
			a.inPart, a.inSentence = 0, 0
		}
		a.endSentence()
	}
}

func (a *assertions) endPart() {
	a.inSentence, a.inPart = a.inSentence+a.inPart, 0
	a.state.part = false
}

func (a *assertions) endSentence() {
	a.endPart()
	a.total, a.inSentence = a.total+a.inSentence, 0
	a.state.sentence = false
}

// quoted reports whether the phrase is directly inside quotation marks, or in a code span: then the
// agent talks about it.
func (a *assertions) quoted(p phraseSpan) bool {
	for len(a.code) > 0 && a.code[0].to <= p.from {
		a.code = a.code[1:]
	}
	if len(a.code) > 0 && a.code[0].from <= p.from {
		return true
	}
	before, _ := utf8.DecodeLastRune(a.text[:p.from])
	after, _ := utf8.DecodeRune(a.text[p.to:])
	return strings.ContainsRune(quotationMarks, before) && strings.ContainsRune(quotationMarks, after)
}

// answeredNo reports whether the phrase before the offset is a label with a negative answer, as in
// "All done: no".
func (a *assertions) answeredNo(at int) bool {
	rest := bytes.TrimLeft(a.text[at:], " *_`")
	return len(rest) > 0 && rest[0] == ':' && wordUses[a.nextWord(len(a.text)-len(rest))]&deniesPart != 0
}

// startState returns the state at the beginning of the line's text.
func (l *line) startState(indent int) sentenceState {
	if l.before.began {
		return l.before.sentence
	}
	unchecked := bytes.HasPrefix(bytes.TrimLeftFunc(l.firstPart(indent), unicode.IsSpace), []byte("[ ]"))
	return sentenceState{unchecked: unchecked}
}

package promise

import (
	"strings"
	"unicode"
)

const promiseOpener, promiseCloser = "<promise>", "</promise>"

// Answer returns a message of the agent as people read it: without thoughts, promise tags, terminal sequences
// and control characters. A line that holds only tags goes with them.
func Answer(message string) string {
	var plain answerText
	cleaner := terminalCleaner{next: &thinkingFilter{out: &plain}}
	cleaner.text([]byte(message))
	cleaner.endMessage()
	var lines []string
	for line := range strings.SplitSeq(withoutTags(plain.String()), "\n") {
		rest := strings.ReplaceAll(line, tagPlace, "")
		if rest != line && strings.TrimSpace(rest) == "" {
			continue
		}
		lines = append(lines, strings.TrimRightFunc(strings.Map(printable, rest), unicode.IsSpace))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// answerText collects the text of a message that is no thought.
type answerText struct{ cleanText }

func (a *answerText) forgetMessage() { a.Reset() }

// tagPlace marks where a tag was. Text of an agent has lost its control characters by the time it is shown.
const tagPlace = "\x00"

// withoutTags replaces each tag with its mark.
func withoutTags(text string) string {
	text = strings.ReplaceAll(text, tagPlace, "")
	var b strings.Builder
	for {
		from := indexFold(text, promiseOpener)
		if from < 0 {
			break
		}
		length := indexFold(text[from:], promiseCloser)
		if length < 0 {
			break
		}
		b.WriteString(text[:from] + tagPlace)
		text = text[from+length+len(promiseCloser):]
	}
	b.WriteString(text)
	return b.String()
}

// indexFold finds an ASCII word, in upper or lower case.
func indexFold(text, word string) int {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], word[0])
		if next < 0 || len(text)-at-next < len(word) {
			return -1
		}
		if at += next; foldEqual(text[at:at+len(word)], word) {
			return at
		}
	}
}

func printable(r rune) rune {
	if r != '\t' && !unicode.IsPrint(r) {
		return -1
	}
	return r
}

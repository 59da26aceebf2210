package gitrepo

import (
	"strings"
	"unicode"

	"github.com/ralphloop/ralph/internal/text"
)

// subjectChars is the longest subject; most tools cut off more.
const subjectChars = 72

// Trailer is one "Key: value" at the end of a message, for programs to read.
type Trailer struct{ Key, Value string }

// Trailers that mark a commit of the harness.
const (
	TrailerRun       = "Ralph-Run"
	TrailerIteration = "Ralph-Iteration"
	TrailerTask      = "Ralph-Task"
)

// Message builds a commit message: a subject of at most 72 characters, cut at a word; the body
// unchanged; the trailers in one block at the end, where `git interpret-trailers` and `git log
// --format=%(trailers)` find them. Trailers without a value are left out. The texts may be an
// agent's: nothing in them can hide a trailer or join the block.
func Message(subject, body string, trailers ...Trailer) string {
	parts := []string{subjectLine(subject)}
	if body = bodyText(body); body != "" {
		parts = append(parts, body)
	}
	var block []string
	for _, t := range trailers {
		key, value := trailerKey(t.Key), text.OneLine(t.Value)
		if key != "" && value != "" {
			block = append(block, key+": "+value)
		}
	}
	if len(block) > 0 {
		parts = append(parts, strings.Join(block, "\n"))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

func subjectLine(s string) string {
	s = text.OneLine(s)
	if s == "" {
		return "work in progress"
	}
	chars := []rune(s)
	if len(chars) <= subjectChars {
		return s
	}
	short := string(chars[:subjectChars-1])
	// Cut a word that is longer than half of the line, or little would be left.
	if end := strings.LastIndexByte(short, ' '); chars[subjectChars-1] != ' ' && end > len(short)/2 {
		short = short[:end]
	}
	return strings.TrimRight(short, " ,;:.-") + "…"
}

func bodyText(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		// Git ends the message at a line of three dashes, and would look for the trailers before it.
		if line == "---" || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "---\t") {
			line = " " + line
		}
		lines[i] = line
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

func trailerKey(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			return c
		}
		return -1
	}, text)
}

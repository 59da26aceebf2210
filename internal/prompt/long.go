package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

// A text that is too long for a prompt, but has a file, is reduced to its head and an outline of the
// rest. Both together are shorter than a whole text may be.
const (
	headCap    = 45_000
	outlineCap = 10_000
)

// TooLong reports whether a goal or a prompt file is too long for a prompt.
func TooLong(words string) bool {
	return len(words) > goalCap && utf8.RuneCountInString(words) > goalCap
}

// shorten returns a text of the user as it is in the prompt, and whether that is all of it. file has
// the whole text; without one, the middle is lost.
func shorten(words, file string) (short string, truncated bool) {
	words = strings.ToValidUTF8(words, "\uFFFD")
	switch {
	case !TooLong(words):
		return words, false
	case file == "":
		return text.Cut(words, goalCap)
	}
	head := wholeLines(words, headCap)
	lines := strings.Count(words, "\n") + 1
	var b strings.Builder
	fmt.Fprintf(&b, "This text is too long for a prompt: it has %s. Its beginning is below. All of it is in %s. Read "+
		"the parts of that file that matter for your work before you start, and do not claim that the work is done "+
		"before you have read all of it.\n\n%s\n[… continued in %s, line %d …]\n",
		text.Count(lines, "line"), code(file), head, inline(file), strings.Count(head, "\n")+1)
	if headings := outline(words[len(head):], strings.Count(head, "\n")); headings != "" {
		b.WriteString("\nHeadings in the rest:\n\n" + headings)
	}
	return b.String(), true
}

// wholeLines returns the first lines of a text that fit into that many characters. A very long line
// that does not fit is cut.
func wholeLines(words string, limit int) string {
	end := 0
	for range limit {
		_, size := utf8.DecodeRuneInString(words[end:])
		end += size
	}
	if at := strings.LastIndexByte(words[:end], '\n'); at >= end/2 {
		return words[:at+1]
	}
	return words[:end]
}

// outline lists the Markdown headings of a text with their lines; before is the number of lines that
// come before it. Text in code fences has none.
func outline(words string, before int) string {
	var b strings.Builder
	left, dropped, fenced := outlineCap, 0, false
	number := before
	for line := range strings.Lines(words) {
		number++
		if mark := strings.TrimSpace(line); strings.HasPrefix(mark, "```") || strings.HasPrefix(mark, "~~~") {
			fenced = !fenced
		}
		title := strings.TrimLeft(line, "#")
		if fenced || !strings.HasPrefix(line, "#") || !strings.HasPrefix(title, " ") {
			continue
		}
		item := fmt.Sprintf("%s- line %d: %s\n", strings.Repeat("  ", len(line)-len(title)-1), number, inline(title))
		if left -= utf8.RuneCountInString(item); left < 0 {
			dropped++
			continue
		}
		b.WriteString(item)
	}
	if dropped > 0 {
		fmt.Fprintf(&b, "- … and %s\n", text.Count(dropped, "more heading"))
	}
	return b.String()
}

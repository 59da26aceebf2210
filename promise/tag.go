package promise

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxContent = 2000 // characters of content that are kept, as the contract says
	maxBody    = 2 * maxContent
	maxTaskID  = 128
	maxShown   = 80 // characters of text that is only recorded
)

type tagKind int

const (
	unknownTag tagKind = iota
	completeTag
	blockedTag
	decideTag
	untestableTag
	taskDoneTag
)

// tag is one whole <promise>…</promise>.
type tag struct {
	kind tagKind
	// name is the completion tag as configured, the task's id, BLOCKED, DECIDE, UNTESTABLE, or all of
	// an unknown tag.
	name string
	text string // the content after the colon
}

func (t tag) String() string {
	switch {
	case t.kind == taskDoneTag:
		return t.name + ":DONE"
	case t.text == "":
		return t.name
	default:
		return t.name + ":" + t.text
	}
}

// readTag interprets the tidied text between <promise> and </promise>.
func readTag(body string, completionTags []string) tag {
	name, text, colon := strings.Cut(body, ":")
	name, text = strings.TrimSpace(name), firstCharacters(strings.TrimSpace(text), maxContent)
	switch {
	case foldEqual(name, "BLOCKED"):
		return tag{blockedTag, "BLOCKED", text}
	case foldEqual(name, "DECIDE"):
		return tag{decideTag, "DECIDE", text}
	case foldEqual(name, "UNTESTABLE"):
		return tag{untestableTag, "UNTESTABLE", text}
	}
	for _, want := range completionTags {
		if foldEqual(body, want) {
			return tag{kind: completeTag, name: want}
		}
		if len(body) > len(want) && foldEqual(body[:len(want)], want) {
			if rest := strings.TrimSpace(body[len(want):]); strings.HasPrefix(rest, ":") {
				return tag{completeTag, want, firstCharacters(strings.TrimSpace(rest[1:]), maxContent)}
			}
		}
	}
	if colon && foldEqual(text, "DONE") && isTaskID(name) {
		return tag{kind: taskDoneTag, name: name}
	}
	return tag{kind: unknownTag, name: body}
}

func isTaskID(s string) bool {
	if s == "" || len(s) > maxTaskID || !asciiAlphanumeric(s[0]) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r >= utf8.RuneSelf || !asciiAlphanumeric(byte(r)) && !strings.ContainsRune("._-", r)
	})
}

func asciiAlphanumeric(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z'
}

// foldEqual compares ignoring case. Unlike strings.EqualFold it never equates a non-ASCII character
// with an ASCII letter (the Kelvin sign is not a K).
func foldEqual(a, b string) bool {
	for len(a) > 0 && len(b) > 0 {
		r, n := utf8.DecodeRuneInString(a)
		s, m := utf8.DecodeRuneInString(b)
		if foldRune(r) != foldRune(s) {
			return false
		}
		a, b = a[n:], b[m:]
	}
	return a == b
}

func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			r |= 0x20
		}
		return r
	}
	if lower := unicode.ToLower(r); lower >= utf8.RuneSelf {
		return lower
	}
	return r
}

func firstCharacters(s string, n int) string {
	for i := range s {
		if n == 0 {
			return strings.TrimSpace(s[:i])
		}
		n--
	}
	return s
}

// shown shortens text that is recorded but not acted upon.
func shown(s string) string {
	if short := firstCharacters(s, maxShown); short != s {
		return short + "…"
	}
	return s
}

// tidyText collects text. It trims white space at both ends, reduces white space inside to one
// space, drops control characters, and cuts off everything beyond maxBody characters.
type tidyText struct {
	kept       []byte
	characters int
	blank      bool // a space is due before the next character
	lineBreak  bool // a line ended since the last character
	lines      bool // the text spans more than one line
}

func (t *tidyText) add(p []byte) {
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		switch {
		case unicode.IsSpace(r):
			t.blank = true
			t.lineBreak = t.lineBreak || r == '\n'
		case !unicode.IsControl(r):
			t.character(p[:size])
		}
		p = p[size:]
	}
}

func (t *tidyText) character(raw []byte) {
	started := t.characters > 0
	t.lines = t.lines || started && t.lineBreak
	if t.blank && started {
		t.keep([]byte{' '})
	}
	t.keep(raw)
	t.blank, t.lineBreak = false, false
}

func (t *tidyText) keep(raw []byte) {
	if t.characters < maxBody {
		t.kept = append(t.kept, raw...)
		t.characters++
	}
}

func (t *tidyText) String() string { return strings.TrimSpace(string(t.kept)) }

func tidied(p []byte) string {
	var t tidyText
	t.add(p)
	return t.String()
}

func completionTags(given []string) []string {
	tags := make([]string, 0, len(given))
	for _, g := range given {
		if t := tidied([]byte(g)); t != "" {
			tags = append(tags, t)
		}
	}
	if len(tags) == 0 {
		return []string{"COMPLETE", "DONE"}
	}
	// A longer tag first: with A and A:B configured, A:B is not A with content B.
	slices.SortStableFunc(tags, func(a, b string) int { return len(b) - len(a) })
	return tags
}

package plan

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"

	"github.com/ralphloop/ralph/internal/text"
)

// role is the effect of a heading or label on the boxes under it.
type role struct {
	kind     roleKind
	priority int // of priorityRole
}

type roleKind int

const (
	noRole roleKind = iota
	optionalRole
	humanRole
	criteriaRole // not tasks, but criteria of the containing task
	proseRole    // notes and similar
	priorityRole
)

var roles = map[string]roleKind{
	"optional":            optionalRole,
	"future":              optionalRole,
	"future enhancements": optionalRole,
	"nice to have":        optionalRole,
	"nice to haves":       optionalRole,
	"backlog":             optionalRole,
	"stretch":             optionalRole,
	"later":               optionalRole,
	"ideas":               optionalRole,
	"out of scope":        optionalRole,
	"someday":             optionalRole,
	"icebox":              optionalRole,
	"wishlist":            optionalRole,
	"deferred":            optionalRole,

	"manual":              humanRole,
	"manual testing":      humanRole,
	"manual tests":        humanRole,
	"manual test":         humanRole,
	"manual verification": humanRole,
	"manual validation":   humanRole,
	"manual qa":           humanRole,
	"human":               humanRole,
	"humans":              humanRole,
	"for a person":        humanRole,
	"for a human":         humanRole,
	"for humans":          humanRole,
	"for people":          humanRole,
	"human only":          humanRole,
	"human review":        humanRole,

	"success criteria":      criteriaRole,
	"acceptance criteria":   criteriaRole,
	"acceptance":            criteriaRole,
	"definition of done":    criteriaRole,
	"validation":            criteriaRole,
	"validation commands":   criteriaRole,
	"verification":          criteriaRole,
	"verification commands": criteriaRole,
	"done when":             criteriaRole,
	"completion criteria":   criteriaRole,
	"exit criteria":         criteriaRole,
	"success metrics":       criteriaRole,

	"overview": proseRole,
	"notes":    proseRole,
	"note":     proseRole,
}

// fillers are words without meaning at the end of a name: "optional tasks", "future work", "stretch
// goals".
var fillers = map[string]bool{
	"tasks":        true,
	"items":        true,
	"goals":        true,
	"features":     true,
	"work":         true,
	"ideas":        true,
	"enhancements": true,
	"improvements": true,
	"steps":        true,
	"additions":    true,
	"extras":       true,
	"section":      true,
	"list":         true,
	"checklist":    true,
}

// groups are words that number a group: in "Phase 3: Optional" the name comes after the colon.
var groups = map[string]bool{
	"phase":     true,
	"stage":     true,
	"part":      true,
	"section":   true,
	"milestone": true,
	"step":      true,
	"sprint":    true,
}

// roleNamed matches only whole names. "Validation layer" or "Notes API" is the name of work to do:
// treating it as notes would silently drop tasks.
func roleNamed(name string) role {
	name, aside := cutParentheses(name)
	head, tail, split := cutName(name)
	if split {
		words := nameWords(head)
		if len(words) == 2 && groups[words[0]] {
			return roleOfWords(nameWords(tail))
		}
		if r := roleOfWords(words); r.marksWork() {
			return r
		}
	}
	if r := roleOfWords(nameWords(name)); r.kind != noRole {
		return r
	}
	if r := roleOfWords(nameWords(aside)); r.marksWork() { // "Polish (optional)"
		return r
	}
	return role{}
}

// marksWork reports whether the boxes are still tasks.
func (r role) marksWork() bool {
	return r.kind == optionalRole || r.kind == humanRole || r.kind == priorityRole
}

func roleOfWords(words []string) role {
	for len(words) > 0 {
		name := strings.Join(words, " ")
		if kind := roles[name]; kind != noRole {
			return role{kind: kind}
		}
		if n, ok := priorityOfName(name); ok {
			return role{kind: priorityRole, priority: n}
		}
		if !fillers[words[len(words)-1]] {
			break
		}
		words = words[:len(words)-1]
	}
	return role{}
}

// priorityOfName parses "high priority", "priority 2" and "P0".
func priorityOfName(name string) (int, bool) {
	word, ok := strings.CutSuffix(name, " priority")
	if !ok {
		word, ok = strings.CutPrefix(name, "priority ") // otherwise the word is the name itself
	}
	if !ok && (len(name) != 2 || name[0] != 'p') {
		return 0, false
	}
	return priorityIn(word)
}

var priorityWords = map[string]int{
	"critical": 0,
	"urgent":   0,
	"highest":  0,
	"high":     1,
	"medium":   2,
	"normal":   2,
	"low":      3,
	"lowest":   4,
}

// priorityIn parses the value of a priority: a number, P1 or a word.
func priorityIn(value string) (int, bool) {
	value = strings.ToLower(strings.TrimSpace(value))
	if n, ok := priorityWords[value]; ok {
		return n, true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(value, "p"))
	return n, err == nil
}

// nameWords returns the words of a heading in lower case, without punctuation, emoji and a leading
// number.
func nameWords(name string) []string {
	words := strings.FieldsFunc(
		strings.ToLower(name),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) },
	)
	for len(words) > 1 && strings.Trim(words[0], "0123456789") == "" {
		words = words[1:]
	}
	return words
}

// cutParentheses separates a name from trailing parentheses.
func cutParentheses(name string) (rest, aside string) {
	begin := strings.IndexByte(name, '(')
	if begin <= 0 || !strings.HasSuffix(strings.TrimSpace(name), ")") {
		return name, ""
	}
	return name[:begin], name[begin:]
}

// cutName splits a heading at its colon or dash.
func cutName(name string) (head, tail string, ok bool) {
	at, size := -1, 0
	for _, sep := range []string{":", " - ", " – ", " — "} {
		if i := strings.Index(name, sep); i >= 0 && (at < 0 || i < at) {
			at, size = i, len(sep)
		}
	}
	if at < 0 {
		return name, "", false
	}
	return name[:at], name[at+size:], true
}

// Forms of ids in a list. A form that could also be a word with a number (UTF-8, SHA-256) counts
// only if a colon or markup sets it off.
var (
	loudID  = text.LazyRegexp(`^(?i:task|us|story|t)[-_]?\d+(?:[.-]\d+)*[a-z]?$`)
	plainID = text.LazyRegexp(`^(?:(?i:task|us|story|t)-\d+(?:[.-]\d+)*[a-z]?|T\d{3,})$`)
	setOff  = text.LazyRegexp(`^[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*[-_]\d+(?:\.\d+)*[a-z]?$|^[A-Z]{1,8}\d{3,}$`)
)

// leadingID splits an id from the title that follows it. raw is the title's rows as written.
func leadingID(raw []string, text string) (id, rest string) {
	body, closing := text, ""
	if text != "" && strings.IndexByte("[(", text[0]) >= 0 {
		closing = map[byte]string{'[': "]", '(': ")"}[text[0]]
		body = text[1:]
	}
	token := leadingToken(body)
	rest, closed := strings.CutPrefix(body[len(token):], closing)
	if token == "" || !closed {
		return "", text
	}
	off := closing != "" || isMarkedUp(raw, token)
	trimmed, separated := cutSeparator(rest)
	switch {
	case rest != "" && !separated && rest[0] != ' ':
		return "", text
	case loudID().MatchString(token) && (off || separated || rest == ""), plainID().MatchString(token):
	case setOff().MatchString(token) && (off || separated):
	default:
		return "", text
	}
	return token, cmp.Or(trimmed, token)
}

func leadingToken(s string) string {
	end := 0
	for end < len(s) && (strings.IndexByte("._-", s[end]) >= 0 || isWord(s[end]) && s[end] < 0x80) {
		end++
	}
	return strings.TrimRight(s[:end], "._-")
}

// cutSeparator removes the separator between an id and a title.
func cutSeparator(s string) (string, bool) {
	trimmed := strings.TrimSpace(s)
	for _, sep := range []string{":", ".", ")", "- ", "– ", "— "} {
		if after, ok := strings.CutPrefix(trimmed, sep); ok {
			return strings.TrimSpace(after), true
		}
	}
	return trimmed, false
}

// isMarkedUp reports whether a token by itself is bold, code or a link.
func isMarkedUp(raw []string, token string) bool {
	if len(raw) == 0 {
		return false
	}
	inner := strings.TrimLeft(raw[0], "*_`[")
	after, ok := strings.CutPrefix(inner, token)
	if !ok || inner == raw[0] {
		return false
	}
	after = strings.TrimPrefix(after, ":")
	return after != "" && strings.IndexByte("*_`]", after[0]) >= 0
}

var (
	sectionWord   = text.LazyRegexp(`^(?i:(task|iteration))[ \t#-]*([A-Za-z0-9][A-Za-z0-9._-]*)`)
	sectionNumber = text.LazyRegexp(`^\d+(?:[.-]\d+)*[a-z]?$`)
	// "Task 1-3 overview" is about tasks.
	sectionRange = text.LazyRegexp(`^\d+(?:[-–]| to | and | & |, ?|/)\d+(?:[^:\d]|$)`)
)

// sectionNamed parses a heading that makes its section a task: "Task 3: title", "Task T-3 - title",
// "Iteration 2" and "US-001: title". The id is "" for any other heading.
func sectionNamed(doc *markdownDoc, h *ast.Heading) (id string, t title) {
	rows := doc.rows(h)
	if box, ok := doc.boxed(h); ok {
		rows = afterBox(rows, box)
	}
	t = readTitle(doc, rows)
	text := strings.TrimLeftFunc(t.text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if id, t.text = leadingID(nil, text); id != "" && loudID().MatchString(id) {
		return id, t
	}
	m := sectionWord().FindStringSubmatchIndex(text)
	if m == nil {
		return "", title{}
	}
	word, token := text[m[2]:m[3]], strings.TrimRight(text[m[4]:m[5]], "._-")
	numbered := sectionNumber().MatchString(token) && !sectionRange().MatchString(text[m[4]:])
	if !numbered && !loudID().MatchString(token) && !setOff().MatchString(token) {
		return "", title{}
	}
	rest, _ := cutSeparator(text[m[4]+len(token):])
	t.text = cmp.Or(rest, strings.TrimSpace(text[:m[4]+len(token)]))
	if numbered {
		token = strings.ToUpper(word[:1]) + strings.ToLower(word[1:]) + "-" + token
	}
	return token, t
}

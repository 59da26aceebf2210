package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const maxSlug = 40

// nameTasks gives every task an id and resolves dependencies. An id comes from the file or from the
// title alone, never from the position in the list, so that it stays the same when other tasks are
// added, removed or moved.
func (r *checklistReader) nameTasks() {
	// Maps each id to the line of its task. Ids made from titles are also reserved, so that no suffix
	// takes the id of another title.
	reserved := map[string]int{}
	for i := range r.tasks {
		t := &r.tasks[i]
		if !t.givenID {
			t.ID = slug(t.Title)
			if _, taken := reserved[t.ID]; !taken {
				reserved[t.ID] = 0
			}
			continue
		}
		reserved[t.ID] = t.line // crossCheck reports duplicates
	}
	next := map[string]int{}
	for i := range r.tasks {
		t := &r.tasks[i]
		if t.givenID {
			continue
		}
		if reserved[t.ID] == 0 {
			reserved[t.ID] = t.line
			continue
		}
		t.ID = freeSlug(t.ID, reserved, next)
		reserved[t.ID] = t.line
	}
	r.resolveDependencies()
}

// freeSlug appends the first number that makes an id unique. next remembers where to continue, per
// id.
func freeSlug(base string, taken map[string]int, next map[string]int) string {
	for n := max(next[base], 2); ; n++ {
		suffix := "-" + strconv.Itoa(n)
		id := strings.TrimRight(base[:min(len(base), maxSlug-len(suffix))], "-") + suffix
		if _, used := taken[id]; !used {
			next[base] = n + 1
			return id
		}
	}
}

var unaccented = strings.NewReplacer(
	"ä", "a", "à", "a", "á", "a", "â", "a", "ã", "a", "å", "a", "æ", "ae", "ç", "c", "è", "e",
	"é", "e", "ê", "e", "ë", "e", "ì", "i", "í", "i", "î", "i", "ï", "i", "ñ", "n", "ò", "o",
	"ó", "o", "ô", "o", "õ", "o", "ö", "o", "ø", "o", "œ", "oe", "ß", "ss", "ù", "u", "ú", "u",
	"û", "u", "ü", "u", "ý", "y", "ÿ", "y", "ł", "l", "ś", "s", "š", "s", "ž", "z", "ż", "z",
	"ź", "z", "č", "c", "ć", "c", "ę", "e", "ą", "a", "ń", "n", "ř", "r", "ů", "u", "ě", "e",
	"ğ", "g", "ş", "s", "ı", "i",
)

// slug makes an id from a title. A title with mostly non-Latin letters would lose what
// distinguishes it, so it gets a hash.
func slug(title string) string {
	folded := unaccented.Replace(strings.ToLower(title))
	latin, other := 0, 0
	for _, c := range folded {
		switch {
		case c < 0x80 && isWord(byte(c)):
			latin++
		case unicode.IsLetter(c):
			other++
		}
	}
	words := strings.FieldsFunc(folded, func(c rune) bool { return c == '_' || c >= 0x80 || !isWord(byte(c)) })
	if len(words) == 0 || other > latin {
		sum := sha256.Sum256([]byte(title))
		return "item-" + hex.EncodeToString(sum[:4])
	}
	out := words[0][:min(len(words[0]), maxSlug)]
	for _, w := range words[1:] {
		if len(out)+1+len(w) > maxSlug {
			break
		}
		out += "-" + w
	}
	return out
}

// resolveDependencies converts the text after "Depends on" to ids: "T-1, T-2", "Task 3", "#3" or a
// title. Text that matches no task stays as it is, for the linter to report.
func (r *checklistReader) resolveDependencies() {
	if !slices.ContainsFunc(r.tasks, func(t checklistTask) bool { return len(t.DependsOn) > 0 }) {
		return
	}
	known := map[string]string{}
	for _, t := range r.tasks {
		for _, key := range []string{t.ID, strings.ToLower(t.ID), slug(t.Title)} {
			if _, taken := known[key]; !taken {
				known[key] = t.ID
			}
		}
	}
	for i := range r.tasks {
		t := &r.tasks[i]
		written := t.DependsOn
		t.DependsOn = nil
		seen := map[string]bool{}
		for _, text := range written {
			for _, id := range dependencies(text, known) {
				if !seen[id] {
					t.DependsOn = append(t.DependsOn, id)
				}
				seen[id] = true
			}
		}
	}
}

func dependencies(text string, known map[string]string) []string {
	var out []string
	if id, ok := dependency(text, known); ok && id != "" {
		return []string{id}
	}
	for _, part := range strings.FieldsFunc(text,
		func(c rune) bool { return c == ',' || c == ';' || c == '&' || c == '\n' }) {
		id, ok := dependency(part, known)
		if first, second, two := strings.Cut(part, " and "); !ok && two {
			out = append(append(out, dependencies(first, known)...), dependencies(second, known)...)
			continue
		}
		if id != "" {
			out = append(out, id)
		}
	}
	return out
}

// dependency returns the task that a text refers to; "" means none.
func dependency(text string, known map[string]string) (string, bool) {
	text = strings.Trim(oneLine(text), ". ")
	switch strings.ToLower(text) {
	case "", "-", "–", "—", "none", "nothing", "n/a":
		return "", true
	}
	head, _, _ := cutName(text)
	head, _ = cutParentheses(head)
	bare := strings.TrimPrefix(strings.TrimSpace(head), "#")
	for _, key := range []string{text, strings.ToLower(text), strings.ToLower(bare),
		strings.ToLower(strings.ReplaceAll(bare, " ", "-")),
		"task-" + strings.ToLower(bare), slug(text)} {
		if id, ok := known[key]; ok {
			return id, true
		}
	}
	return text, false
}

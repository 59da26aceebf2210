package prompt

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/internal/text"
)

// smallNames are the placeholders of single values, not of parts.
var smallNames = []string{"i", "n", "project_root", "task_id", "task_title"}

func smallValues(in ralph.PromptInput) map[string]string {
	n := "unlimited"
	if in.Of > 0 {
		n = strconv.Itoa(in.Of)
	}
	var own ralph.Task
	if in.Task != nil {
		own = *in.Task
	}
	return map[string]string{
		"i": strconv.Itoa(in.Ordinal), "n": n, "project_root": projectRoot(in), "task_id": inline(own.ID),
		"task_title": inline(own.Title),
	}
}

// projectRoot is one line, whatever the folder's name contains.
func projectRoot(in ralph.PromptInput) string {
	root, _ := text.KeepHead(clean(in.Dir), rootCap)
	return strings.ReplaceAll(root, "\n", "")
}

// Placeholders lists what a prompt file may name, braces included, sorted.
func Placeholders() []string {
	names := slices.Concat(smallNames, text.Mapped(kinds, func(k kind) string { return k.name }))
	slices.Sort(names)
	return text.Mapped(names, func(name string) string { return "{{" + name + "}}" })
}

func isKnown(name string) bool {
	return slices.Contains(smallNames, name) || slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name })
}

// neverLeftOut are the parts that follow a filled prompt file that does not name them: without them
// the agent works in vain. Steering comes before it.
var neverLeftOut = []string{"goal", "task", "signals", "diagnose", "failed_checks", lastTime, "answers"}

var placeholder = text.LazyRegexp(`\{\{(\s*)([A-Za-z][A-Za-z0-9_-]*)(\s*)\}\}`)

// piece is a stretch of a prompt file: its own text or a known placeholder.
type piece struct{ text, name string }

// splitTemplate returns a single piece if the file names no placeholder.
func splitTemplate(template string) []piece {
	var all []piece
	from := 0
	for _, at := range placeholder().FindAllStringSubmatchIndex(template, -1) {
		name, blanks := template[at[4]:at[5]], at[2] < at[3] || at[6] < at[7]
		if blanks || !isKnown(name) || isForeign(template, at[0], at[1]) {
			continue
		}
		all = append(all, piece{text: template[from:at[0]]}, piece{name: name})
		from = at[1]
	}
	return append(all, piece{text: template[from:]})
}

// isForeign detects ${{x}} and {{{x}}}, which belong to other languages.
func isForeign(template string, from, to int) bool {
	return from > 0 && strings.ContainsRune("${", rune(template[from-1])) || to < len(template) && template[to] == '}'
}

// goWords are keywords of Go's templates, which are not meant as placeholders.
var goWords = []string{"end", "else", "break", "continue"}

// Unknown lists what looks like a placeholder in a prompt file but is not one: an unknown name, or
// a known name with spaces inside the braces. Each is listed once, unchanged, in the order of the
// file.
func Unknown(template string) []string {
	var unknown []string
	for _, at := range placeholder().FindAllStringSubmatchIndex(template, -1) {
		found, name, blanks := template[at[0]:at[1]], template[at[4]:at[5]], at[2] < at[3] || at[6] < at[7]
		if isKnown(name) == blanks && !slices.Contains(goWords, name) && !isForeign(template, at[0], at[1]) &&
			!slices.Contains(unknown, found) {
			unknown = append(unknown, found)
		}
	}
	return unknown
}

// withFile puts a prompt file without placeholders before our parts; only steering comes before it.
func withFile(ours []part, in ralph.PromptInput) []part {
	if strings.TrimSpace(in.Template) == "" {
		return ours
	}
	words, truncated := shorten(in.Template, in.TemplateFile)
	if in.Dir != "" {
		words = "PROJECT_ROOT=" + projectRoot(in) + "\n\n" + words
	}
	at := 0
	if len(ours) > 0 && ours[0].name == "steering" {
		at = 1
	}
	return slices.Insert(ours, at, part{name: "prompt_file", text: words, truncated: truncated})
}

// fill makes the prompt from a prompt file with placeholders.
func fill(file []piece, ours []part, in ralph.PromptInput) []part {
	f, values := filling{left: ours, room: goalCap, file: in.TemplateFile}, smallValues(in)
	if !slices.Contains(file, piece{name: "steering"}) {
		f.parts = f.take("steering")
	}
	f.start = len(f.parts)
	for _, p := range file {
		switch value, small := values[p.name]; {
		case p.name == "":
			f.write(p.text)
		case small:
			f.write(value)
		default:
			f.flush()
			for _, named := range f.take(p.name) {
				f.put(named)
			}
		}
	}
	f.flush()
	if in.Task != nil &&
		(slices.Contains(file, piece{name: "task_id"}) || slices.Contains(file, piece{name: "task_title"})) {
		f.take("task")
	}
	for _, name := range neverLeftOut {
		f.parts = append(f.parts, f.take(name)...)
	}
	return f.parts
}

// filling is a prompt file that is being filled in.
type filling struct {
	parts []part
	left  []part          // parts that no placeholder has named yet
	start int             // index of the file's first part
	text  strings.Builder // the file's own text since the last part
	room  int             // characters of its own text that still fit
	lost  int             // characters that did not fit, since the last part
	lead  string          // white space before the next part
	file  string          // has all of the text; "" for none
}

// take returns the part with that name, or nothing if it is empty or was taken before.
func (f *filling) take(name string) []part {
	for i, p := range f.left {
		if p.name == name {
			f.left = slices.Delete(f.left, i, i+1)
			return []part{p}
		}
	}
	return nil
}

// write adds to the file's own text.
func (f *filling) write(words string) {
	n := utf8.RuneCountInString(words)
	for n > f.room {
		_, size := utf8.DecodeLastRuneInString(words)
		words = words[:len(words)-size]
		n, f.lost = n-1, f.lost+1
	}
	f.room -= n
	f.text.WriteString(words)
}

// flush makes a part of the file's own text; white space goes between parts.
func (f *filling) flush() {
	words, lost := f.text.String(), f.lost
	f.text.Reset()
	f.lost = 0
	switch {
	case lost > 0:
		mark := text.CutMark(lost)
		if f.file != "" {
			mark += "\nThe whole text is in " + code(f.file) + ". Read it before you start."
		}
		f.put(part{name: "prompt_file", text: strings.TrimLeft(words+"\n"+mark, "\n"), truncated: true})
	case strings.TrimSpace(words) == "":
		f.lead += words
	default:
		f.put(part{name: "prompt_file", text: words})
	}
}

func (f *filling) put(p part) {
	if len(f.parts) > f.start {
		p.inline, p.lead = true, f.lead
	}
	f.parts = append(f.parts, p)
	f.lead = ""
}

package prompt

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// smallNames are the placeholders that stand for no part.
var smallNames = []string{"i", "n", "project_root", "task_id", "task_title"}

func smallValues(in Input) map[string]string {
	n := "unlimited"
	if in.Of > 0 {
		n = strconv.Itoa(in.Of)
	}
	var own Task
	if in.Task != nil {
		own = *in.Task
	}
	return map[string]string{"i": strconv.Itoa(in.Ordinal), "n": n, "project_root": projectRoot(in), "task_id": inline(own.ID), "task_title": inline(own.Title)}
}

// projectRoot is one line, whatever the folder is called.
func projectRoot(in Input) string {
	root, _ := keepHead(clean(in.ProjectRoot), rootCap)
	return strings.ReplaceAll(root, "\n", "")
}

// partOf names the part that a placeholder stands for.
var partOf = map[string]string{
	"steering": "steering", "goal": "goal", "task": "task", "iteration": "iteration", "commits": "commits", "signals": "signals", "checks": "checks",
	"plan": "plan", "diff": "diff", "diagnose": "diagnose", "failed_checks": "failed_checks", "last_time": "refusals", "recommendation": "recommendation",
	"progress": "progress", "learnings": "learnings", "answers": "answers",
}

// Placeholders lists what a prompt file may name, braces included, sorted.
func Placeholders() []string {
	names := slices.Concat(smallNames, slices.Collect(maps.Keys(partOf)))
	slices.Sort(names)
	for i, name := range names {
		names[i] = "{{" + name + "}}"
	}
	return names
}

func isKnown(name string) bool {
	return slices.Contains(smallNames, name) || partOf[name] != ""
}

// neverLeftOut are the parts that follow a filled prompt file which does not name them: without them the agent works in vain. Steering comes before it.
var neverLeftOut = []string{"goal", "task", "signals", "diagnose", "failed_checks", "refusals", "answers"}

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{([A-Za-z][A-Za-z0-9_-]*)\}\}`) })

// piece is a stretch of a prompt file: its own text, or a placeholder that we know.
type piece struct{ text, name string }

type pieces []piece

func (ps pieces) anyKnown() bool {
	return slices.ContainsFunc(ps, func(p piece) bool { return p.name != "" })
}

func splitTemplate(template string) pieces {
	var ps pieces
	from := 0
	for _, at := range placeholder().FindAllStringSubmatchIndex(template, -1) {
		name := template[at[2]:at[3]]
		if !isKnown(name) || foreign(template, at[0], at[1]) {
			continue
		}
		ps = append(ps, piece{text: template[from:at[0]]}, piece{name: name})
		from = at[1]
	}
	return append(ps, piece{text: template[from:]})
}

// foreign tells ${{x}} and {{{x}}}, which belong to other languages.
func foreign(template string, from, to int) bool {
	return from > 0 && strings.ContainsRune("${", rune(template[from-1])) || to < len(template) && template[to] == '}'
}

// goWords are what Go's templates put between two braces on each side; nobody meant a placeholder.
var goWords = []string{"end", "else", "break", "continue"}

// blanked is a placeholder with blanks inside.
var blanked = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\{\s+([a-z_]+)\s*\}\}|\{\{([a-z_]+)\s+\}\}`) })

// Unknown lists what looks like a placeholder in a prompt file but is none: an unknown name, or a known one with blanks inside the braces. Each is given as
// it stands, once, in the order of the file.
func Unknown(template string) []string {
	type find struct {
		at   int
		text string
	}
	var found []find
	for _, at := range placeholder().FindAllStringSubmatchIndex(template, -1) {
		name := template[at[2]:at[3]]
		if !isKnown(name) && !slices.Contains(goWords, name) && !foreign(template, at[0], at[1]) {
			found = append(found, find{at[0], template[at[0]:at[1]]})
		}
	}
	for _, at := range blanked().FindAllStringIndex(template, -1) {
		text := template[at[0]:at[1]]
		if isKnown(strings.TrimSpace(strings.Trim(text, "{}"))) && !foreign(template, at[0], at[1]) {
			found = append(found, find{at[0], text})
		}
	}
	slices.SortFunc(found, func(a, b find) int { return a.at - b.at })
	var unknown []string
	for _, f := range found {
		if !slices.Contains(unknown, f.text) {
			unknown = append(unknown, f.text)
		}
	}
	return unknown
}

// withFile puts a prompt file without placeholders before our parts; only steering goes before it.
func withFile(ours []Part, in Input) []Part {
	if strings.TrimSpace(in.Template) == "" {
		return ours
	}
	text, truncated := Cut(strings.ToValidUTF8(in.Template, "\uFFFD"), goalCap)
	if in.ProjectRoot != "" {
		text = "PROJECT_ROOT=" + projectRoot(in) + "\n\n" + text
	}
	at := 0
	if len(ours) > 0 && ours[0].Name == "steering" {
		at = 1
	}
	return slices.Insert(ours, at, Part{Name: "prompt_file", Text: text, Truncated: truncated})
}

// fill makes the prompt of a prompt file with placeholders.
func fill(file pieces, ours []Part, in Input) []Part {
	left := map[string]Part{}
	for _, p := range ours {
		left[p.Name] = p
	}
	f, values := filling{room: goalCap}, smallValues(in)
	if !slices.Contains(file, piece{name: "steering"}) {
		f.add(left, "steering", placeAlone)
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
			f.add(left, partOf[p.name], placeInline)
		}
	}
	f.flush()
	if in.Task != nil && (slices.Contains(file, piece{name: "task_id"}) || slices.Contains(file, piece{name: "task_title"})) {
		delete(left, "task")
	}
	for _, name := range neverLeftOut {
		f.add(left, name, placeAlone)
	}
	return f.parts
}

type placing int

const (
	placeAlone  placing = iota // with a blank line around it
	placeInline                // where the placeholder stood
)

// filling is a prompt file that is being filled in.
type filling struct {
	parts []Part
	start int             // where the file begins among them
	text  strings.Builder // the file's own text since the last part
	room  int             // characters of its own text that still fit
	lost  int             // those that did not, since the last part
	lead  string          // blanks that are due before the next part
}

// write adds to the file's own text.
func (f *filling) write(text string) {
	n := utf8.RuneCountInString(text)
	for n > f.room {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
		n, f.lost = n-1, f.lost+1
	}
	f.room -= n
	f.text.WriteString(text)
}

// flush makes a part of the file's own text; what is blank goes between parts.
func (f *filling) flush() {
	text, lost := f.text.String(), f.lost
	f.text.Reset()
	f.lost = 0
	switch {
	case lost > 0:
		f.put(Part{Name: "prompt_file", Text: strings.TrimLeft(text+"\n"+cutMark(lost), "\n"), Truncated: true})
	case strings.TrimSpace(text) == "":
		f.lead += text
	default:
		f.put(Part{Name: "prompt_file", Text: text})
	}
}

func (f *filling) put(p Part) {
	if len(f.parts) > f.start {
		p.inline, p.lead = true, f.lead
	}
	f.parts = append(f.parts, p)
	f.lead = ""
}

// add places a part unless it stands already or is empty.
func (f *filling) add(left map[string]Part, name string, where placing) {
	p, ok := left[name]
	if !ok {
		return
	}
	delete(left, name)
	if where == placeInline {
		f.put(p)
		return
	}
	f.parts = append(f.parts, p)
}

package deny

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
)

// reading expands words with one of the combinations of the values that variables may have.
type reading struct {
	g      *guard
	st     *state
	choice map[string]int // the index of the value, by variable
	size   map[string]int // how many there are
	order  []string
}

// readings calls do with every combination.
func (g *guard) readings(st *state, do func(*reading)) {
	r := &reading{g: g, st: st, choice: map[string]int{}, size: map[string]int{}}
	for count := 1; ; count++ {
		do(r)
		if !r.next() {
			return
		}
		if count == readingLimit || g.tired() {
			g.unsure("variables may have too many values")
			return
		}
	}
}

// next selects the next combination.
func (r *reading) next() bool {
	for _, name := range r.order {
		if r.choice[name]++; r.choice[name] < r.size[name] {
			return true
		}
		r.choice[name] = 0
	}
	return false
}

// choose returns one of several values.
func (r *reading) choose(name string, values []shell.Value) shell.Value {
	if len(values) == 1 {
		return values[0]
	}
	if _, ok := r.size[name]; !ok {
		r.order = append(r.order, name)
	}
	r.size[name] = max(r.size[name], len(values))
	return values[min(r.choice[name], len(values)-1)]
}

// Variable implements shell.Scope.
func (r *reading) Variable(name string, hasDefault bool) shell.Value {
	number, err := strconv.Atoi(name)
	positional := err == nil && number > 0
	if positional || name == "*" || name == "#" {
		all := r.choose("@", r.st.get("@"))
		switch {
		case !all.Array:
			return open(name)
		case name == "*":
			return all
		case name == "#":
			return scalar(strconv.Itoa(len(all.Items)))
		case number > len(all.Items):
			return unset
		}
		return scalar(all.Items[number-1])
	}
	v := r.choose(name, r.st.get(name))
	if hasDefault && !v.Known() { // it may also be empty, or not set
		return r.choose(name+"-", []shell.Value{unset, v})
	}
	return v
}

// Assign implements shell.Scope.
func (r *reading) Assign(name string, v shell.Value) { r.st.set(name, v) }

// Output implements shell.Scope.
func (r *reading) Output(p shell.Part) string {
	l := p.Commands
	switch {
	case len(l) == 0:
		return ""
	case r.g.fetching[&l[0]]:
		return downloaded
	case p.Text == "" && len(l) == 1 && len(l[0]) == 1:
		if in := r.g.says(l[0][0], r.st.clone()); in.kind == known && len(in.texts) == 1 {
			return strings.TrimRight(in.texts[0], "\n")
		}
	}
	return string(shell.OutputMark)
}

// lines returns a command's words, once for every combination of values.
func (g *guard) lines(words []shell.Word, st *state) (all [][]shell.Word) {
	g.readings(st, func(r *reading) {
		var line []shell.Word
		for _, w := range words {
			line = append(line, w.Fields(r)...)
		}
		all = append(all, line)
	})
	return all
}

// texts returns what becomes of a word that a shell does not split.
func (g *guard) texts(w shell.Word, st *state) (all []string) {
	g.readings(st, func(r *reading) { all = append(all, w.Expanded(r)) })
	return all
}

// assign assigns a NAME=value word.
func (g *guard) assign(w shell.Word, st *state) {
	name, _, ok := strings.Cut(w.Text, "=")
	name, appends := strings.CutSuffix(name, "+")
	if !ok || unknown(name) {
		return
	}
	keeps := appends || w.Array || slices.ContainsFunc(st.get(name), func(v shell.Value) bool { return v.Array })
	var values []shell.Value
	g.readings(st, func(r *reading) {
		old := unset
		if keeps {
			old = r.Variable(name, false)
		}
		if w.Array {
			values = append(values, r.array(w, old, appends))
			return
		}
		_, value, _ := strings.Cut(w.Expanded(r), "=")
		if appends {
			value = old.Text() + value
		}
		values = append(values, withText(old, value))
	})
	st.set(name, values...)
}

// withText returns a value after it was set to a text. An array keeps its other elements.
func withText(old shell.Value, text string) shell.Value {
	if !old.Array {
		return scalar(text)
	}
	return shell.Value{Set: true, Array: true, Items: append([]string{text}, old.Items[min(1, len(old.Items)):]...)}
}

// array returns the value of an array after NAME=(…), NAME+=(…) or NAME[index]=value.
func (r *reading) array(w shell.Word, old shell.Value, appends bool) shell.Value {
	v := shell.Value{Set: true, Array: true}
	if (appends || !strings.HasSuffix(w.Text, "=")) && (old.Array || old.Set) {
		v.Items = slices.Clone(old.Items)
	}
	for _, element := range w.Elements {
		for _, field := range element.Fields(r) {
			v.Items = append(v.Items, field.Text)
		}
	}
	return v
}

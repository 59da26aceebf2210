package deny

import (
	"slices"
	"strings"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// list checks commands one after the other. st is what is known before them and, at the end, after
// them. ended is true if the shell certainly does not go on after them.
func (g *guard) list(l shell.List, st *state) (why string, ended bool) {
	for len(l) > 0 {
		n := 1
		for n < len(l) && (l[n][0].Before == "&&" || l[n][0].Before == "||") {
			n++
		}
		why, end := g.chain(l[:n], st)
		if why != "" {
			return why, false
		}
		ended = ended || end
		l = l[n:]
	}
	return "", ended
}

// chain checks commands between && and ||. It assumes that a cd in front of && works.
func (g *guard) chain(l shell.List, st *state) (why string, ended bool) {
	if len(l) == 1 {
		return g.pipeline(l[0], st)
	}
	reached := st.clone() // whatever holds between any two of them
	for _, pipe := range l {
		at := st
		if pipe[0].Before == "||" {
			at = reached.clone()
		}
		why, end := g.pipeline(pipe, at)
		if why != "" {
			return why, false
		}
		if at != st && !end {
			st.merge(at)
		}
		reached.merge(at)
	}
	dirs := st.variables["PWD"]
	st.merge(reached)
	st.variables["PWD"] = dirs
	return "", false
}

// pipeline checks commands between pipes. Each has a shell of its own, unless it is the only one.
func (g *guard) pipeline(pipe shell.Pipeline, st *state) (why string, ended bool) {
	if len(pipe) == 1 && !pipe[0].Background {
		return g.stage(pipe[0], st)
	}
	in := st.input
	for i, s := range pipe {
		at := st.clone()
		at.input, at.exits = in, nil
		before, fetches := at.clone(), g.fetches
		why, _ := g.stage(s, at)
		if why == "" {
			why = g.traps(at)
		}
		if why != "" {
			return why, false
		}
		switch {
		case i == len(pipe)-1:
		case g.fetches > fetches || in.kind == fetched:
			in = input{kind: fetched}
		default:
			in = g.says(s, before)
		}
	}
	return "", false
}

// apart checks commands in a shell of their own.
func (g *guard) apart(l shell.List, st *state) string {
	at := st.clone()
	at.exits = nil
	why, _ := g.list(l, at)
	if why == "" {
		why = g.traps(at)
	}
	return why
}

// traps checks what a shell runs at its end.
func (g *guard) traps(st *state) string {
	for len(st.exits) > 0 {
		command := st.exits[0]
		st.exits = st.exits[1:]
		if why := g.script(command, st); why != "" {
			return why
		}
	}
	return ""
}

// stage checks one command or a group of commands.
func (g *guard) stage(s shell.Command, st *state) (why string, ended bool) {
	for _, l := range s.Outputs() {
		fetches := g.fetches
		if why := g.apart(l, st); why != "" {
			return why, false
		}
		if len(l) > 0 {
			g.fetching[&l[0]] = g.fetches > fetches
		}
		g.fetches = fetches
	}
	in := st.input
	defer func() { st.input = in }()
	if why := g.redirects(s, st); why != "" {
		return why, false
	}
	switch s.Keyword {
	case "":
		return g.simple(s, st)
	case "(":
		return g.apart(s.Body, st), false
	case "if", "case":
		return g.branches(s, st)
	case "for", "while":
		return g.loop(s, st), false
	case "function":
		return g.define(s, st), false
	}
	return g.list(s.Body, st)
}

// redirects checks where the output of a command goes, and notes where its input comes from.
func (g *guard) redirects(s shell.Command, st *state) string {
	for _, r := range s.Redirects {
		body := r.Target
		if r.Operator == "<<" {
			body = r.Body
		}
		texts := g.texts(body, st)
		switch {
		case r.Operator == "<<" || r.Operator == "<<<":
			st.input = input{kind: known, texts: texts}
		case strings.ContainsRune(r.Operator, '>'):
			for _, name := range texts {
				if isDisk(name) {
					return whyDisk
				}
				if st.isInside(name) {
					return whyInside
				}
			}
		case slices.ContainsFunc(texts, isFetched):
			st.input = input{kind: fetched}
		case slices.ContainsFunc(r.Target.Parts, func(p shell.Part) bool { return p.Kind == shell.Output && p.Text != "" }):
			st.input = input{kind: obscure}
		case r.Operator == "<":
			st.input = input{kind: file}
		}
	}
	return ""
}

// branches checks if and case. Each branch may be the one that runs, and none of them may.
func (g *guard) branches(s shell.Command, st *state) (why string, ended bool) {
	var ways []*state
	always := slices.ContainsFunc(s.Branches, func(b shell.Branch) bool { return b.Otherwise })
	for _, branch := range s.Branches {
		if why, _ := g.list(branch.Condition, st); why != "" {
			return why, false
		}
		at := st.clone()
		why, end := g.list(branch.Then, at)
		if why != "" {
			return why, false
		}
		if !end {
			ways = append(ways, at)
		}
	}
	if always && len(ways) > 0 {
		*st = *ways[0]
	}
	for _, way := range ways {
		st.merge(way)
	}
	return "", always && len(ways) == 0
}

const whyTired = "the command runs too many others to follow them all"

// loop checks a loop: for each of its items if they are known, otherwise until nothing new can
// happen.
func (g *guard) loop(s shell.Command, st *state) string {
	items, certain := g.items(s, st)
	if certain {
		return g.unroll(s, items, st)
	}
	for round := 0; ; round++ {
		before := st.clone()
		if s.Variable != "" {
			values := []shell.Value{open(s.Variable)}
			for _, item := range items {
				values = append(values, scalar(item))
			}
			st.set(s.Variable, values...)
		}
		if why, _ := g.list(s.Body, st); why != "" {
			return why
		}
		st.merge(before)
		changed := st.changed(before)
		switch {
		case len(changed) == 0 || round == 2:
			return ""
		case round == 1 || g.tired():
			for _, name := range changed {
				st.set(name, open(name))
			}
		}
		if g.tired() {
			g.unsure(whyTired)
			return ""
		}
	}
}

// unroll checks a loop for each of its items.
func (g *guard) unroll(s shell.Command, items []string, st *state) string {
	reached := st.clone()
	for _, item := range items {
		set := func(old shell.Value) shell.Value { return withText(old, item) }
		st.set(s.Variable, text.Mapped(st.get(s.Variable), set)...)
		if why, _ := g.list(s.Body, st); why != "" {
			return why
		}
		reached.merge(st)
		if g.tired() {
			g.unsure(whyTired)
			break
		}
	}
	dirs := st.variables["PWD"]
	st.merge(reached)
	st.variables["PWD"] = dirs
	return ""
}

// items returns what a loop goes through. certain is false if there may be others.
func (g *guard) items(s shell.Command, st *state) (items []string, certain bool) {
	if s.Variable == "" {
		return nil, false
	}
	words := s.Operands
	if len(words) == 0 { // of the shell's own parameters
		all := st.get("@")
		return all[0].Items, len(all) == 1 && all[0].Array && all[0].Known() && len(all[0].Items) <= unrollLimit
	}
	lines := g.lines(words, st)
	certain = len(lines) == 1 && len(lines[0]) <= unrollLimit && !g.tired()
	for _, line := range lines {
		for _, w := range line {
			certain = certain && !unknown(w.Text)
			items = append(items, w.Text)
		}
	}
	return items, certain
}

// define checks the body of a function, whether it is called or not, and keeps it for calls.
func (g *guard) define(s shell.Command, st *state) string {
	st.functions[s.Operands[0].Text] = function{bodies: []shell.List{s.Body}}
	at := st.clone()
	at.set("@", open("@"))
	g.quiet++
	defer func() { g.quiet-- }()
	why, _ := g.list(s.Body, at)
	return why
}

// call checks a call of a function.
func (g *guard) call(f function, args []shell.Word, st *state) string {
	if g.calls++; g.calls > callLimit || g.tired() {
		g.unsure("functions call each other too often to follow them")
		g.calls--
		return ""
	}
	defer func() { g.calls-- }()
	outer := st.get("@")
	var after *state
	for _, body := range f.bodies {
		at := st.clone()
		at.set("@", parameters(args))
		if why, _ := g.list(body, at); why != "" {
			return why
		}
		if after == nil {
			after = at
		} else {
			after.merge(at)
		}
	}
	if f.maybe {
		after.merge(st)
	}
	in := st.input
	*st = *after
	st.input = in
	st.set("@", outer...)
	return ""
}

package shell

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// printLimit limits how many bytes Printf returns.
const printLimit = 1 << 16

var errUnknown = errors.New("known only to a running shell")

// Scope is what a shell knows when it expands a word. A text that it returns may contain marks.
type Scope interface {
	// Variable returns the value of a variable, or of a parameter such as 1 or @. hasDefault is true if
	// the word has a default for it.
	Variable(name string, hasDefault bool) Value
	// Assign is called for ${NAME=value}.
	Assign(name string, v Value)
	// Output returns the output of commands.
	Output(p Part) string
}

// Value is the value of a variable.
type Value struct {
	Set   bool
	Array bool
	Items []string // one, unless it is an array
}

// Text returns the value as one text.
func (v Value) Text() string {
	if len(v.Items) == 0 {
		return ""
	}
	return v.Items[0]
}

// Known reports whether nothing in the value is left to the running shell.
func (v Value) Known() bool { return !slices.ContainsFunc(v.Items, hasMark) }

func hasMark(text string) bool { return strings.ContainsAny(text, Marks) }

// Loose reports whether a running shell may make any number of words of this one.
func (w Word) Loose() bool {
	return slices.ContainsFunc(w.Parts, func(p Part) bool { return !p.Quoted && (p.Kind != Literal || hasMark(p.Text)) })
}

// Pattern reports whether a shell replaces the word by the names of files that match it.
func (w Word) Pattern() bool {
	return slices.ContainsFunc(w.Parts, func(p Part) bool {
		return p.Kind == Literal && !p.Quoted && strings.ContainsAny(p.Text, "*?[")
	})
}

// Fields returns the words that a shell makes of a word.
func (w Word) Fields(s Scope) []Word {
	f := fields{of: w}
	separators := " \t\n"
	if v := s.Variable("IFS", false); v.Set && v.Known() {
		separators = v.Text()
	}
	for _, p := range w.withHome(s) {
		if p.Kind == Literal {
			f.add(p)
			continue
		}
		items, quoted := p.values(s)
		for i, item := range items {
			if i > 0 {
				f.end()
			}
			if quoted {
				f.add(Part{Text: item, Quoted: true})
			} else {
				f.split(item, separators)
			}
		}
	}
	f.end()
	return f.done
}

// Expanded returns a word as the one text that a shell makes of it where it does not split words,
// such as the value of a variable.
func (w Word) Expanded(s Scope) string {
	w.Parts = w.withHome(s)
	return w.render(func(p Part) string {
		items, _ := p.values(s)
		return strings.Join(items, " ")
	})
}

// withHome returns the parts of a word with the folder that a shell inserts for a ~: at the start of
// a word, or of the value in NAME=value.
func (w Word) withHome(s Scope) []Part {
	at := 0
	if w.Home && !strings.HasPrefix(w.Text, "~") { // the name is a part of its own
		at = 1 + slices.IndexFunc(w.Parts, func(p Part) bool { return p.Text == "=" })
	}
	if at >= len(w.Parts) || w.Parts[at].Kind != Literal || w.Parts[at].Quoted {
		return w.Parts
	}
	name, text := "", w.Parts[at].Text
	if before, value, ok := strings.Cut(text, "="); ok && syntax.ValidName(before) {
		name, text = before+"=", value
	}
	end := strings.IndexByte(text, '/')
	if end < 0 {
		end = len(text)
	}
	if !strings.HasPrefix(text, "~") || end == len(text) && at < len(w.Parts)-1 { // which has to end where it is literal
		return w.Parts
	}
	home := Part{Text: homeOf(s, text[1:end]), Quoted: true}
	return slices.Replace(slices.Clone(w.Parts), at, at+1, Part{Text: name}, home, Part{Text: text[end:]})
}

// homeOf returns the folder that ~ and a name stand for.
func homeOf(s Scope, name string) string {
	variable, known := map[string]string{"": "HOME", "+": "PWD", "-": "OLDPWD"}[name]
	if known {
		if v := s.Variable(variable, false); v.Set {
			return v.Text()
		}
	}
	return Part{Kind: Parameter, Text: "~" + name}.mark() // another user's, or that of the account
}

// fields collects the words that become of one.
type fields struct {
	of   Word
	done []Word
	open *Word
}

func (f *fields) add(p Part) {
	if f.open == nil {
		f.open = &Word{Start: f.of.Start, End: f.of.End}
	}
	f.open.add(p)
}

func (f *fields) end() {
	if f.open != nil {
		f.done = append(f.done, f.open.finished())
	}
	f.open = nil
}

// split adds a value that is not quoted.
func (f *fields) split(value, separators string) {
	for {
		at := strings.IndexAny(value, separators)
		if at < 0 {
			break
		}
		if at > 0 {
			f.add(Part{Text: value[:at]})
		}
		f.end()
		_, size := utf8.DecodeRuneInString(value[at:])
		value = value[at+size:]
	}
	if value != "" {
		f.add(Part{Text: value})
	}
}

// values returns what a shell inserts for a part: one text, or any number for a list. quoted is
// true if it does not split them.
func (p Part) values(s Scope) (items []string, quoted bool) {
	defer func() {
		if recover() != nil { // not everything that parses can be computed
			items = []string{p.mark()}
		}
	}()
	switch node := p.node.(type) {
	case *syntax.ParamExp:
		if p.Kind == Expansion {
			return p.parameter(s, node)
		}
		return []string{s.Variable(p.Text, false).Text()}, p.Quoted
	case *syntax.ArithmExp:
		word := &syntax.Word{Parts: []syntax.WordPart{node}}
		return p.computed(s, func(c *expand.Config) ([]string, error) {
			text, err := expand.Literal(c, word)
			return []string{text}, err
		}), p.Quoted
	}
	if p.Kind == Output {
		return []string{s.Output(p)}, p.Quoted
	}
	return []string{p.mark()}, p.Quoted
}

// parameter returns what a shell inserts for a variable with an operator, or for a list.
func (p Part) parameter(s Scope, node *syntax.ParamExp) (items []string, quoted bool) {
	list := listOf(p.Text, node)
	switch {
	case node.Exp != nil && node.Exp.Op == syntax.OtherParamOps: // ${x@P} runs commands
		return []string{p.mark()}, p.Quoted && list == ""
	case computes(node, list):
		items = p.computed(s, func(c *expand.Config) ([]string, error) {
			if list == "" {
				text, err := expand.Literal(c, &syntax.Word{Parts: []syntax.WordPart{node}})
				return []string{text}, err
			}
			whole := &syntax.DblQuoted{Parts: []syntax.WordPart{node}}
			return expand.Fields(c, &syntax.Word{Parts: []syntax.WordPart{whole}})
		})
		return items, p.Quoted && (list == "" || !slices.ContainsFunc(items, hasMark))
	case p.Text == "":
		return []string{p.mark()}, p.Quoted
	}
	v := s.Variable(p.Text, p.inner != nil)
	if other, ok := p.otherwise(s, v, node.Exp); ok {
		return []string{other}, p.Quoted
	}
	switch {
	case list == "":
		return []string{v.Text()}, p.Quoted
	case list == "*" && p.Quoted:
		return []string{strings.Join(v.Items, " ")}, true
	}
	return v.Items, p.Quoted && (v.Array || v.Known())
}

// listOf returns the sign that stands for all elements of a list, or "" if a variable stands for one
// text.
func listOf(name string, node *syntax.ParamExp) string {
	if index, ok := node.Index.(*syntax.Word); ok {
		name = index.Lit()
	}
	if name == "@" || name == "*" {
		return name
	}
	return ""
}

// computes reports whether an expansion has an operator that needs more than to choose between two
// texts.
func computes(node *syntax.ParamExp, list string) bool {
	return node.Excl || node.Length || node.Slice != nil || node.Repl != nil || node.Index != nil && list == "" ||
		node.Exp != nil && !slices.Contains(defaulting, node.Exp.Op)
}

// defaulting are the operators that choose between a variable and a word.
var defaulting = []syntax.ParExpOperator{
	syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull,
	syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull,
}

// otherwise returns what a shell inserts in place of a variable, if it does.
func (p Part) otherwise(s Scope, v Value, e *syntax.Expansion) (string, bool) {
	if e == nil || p.inner == nil {
		return "", false
	}
	missing := !v.Set
	switch e.Op {
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull, syntax.AlternateUnsetOrNull:
		missing = v.Text() == ""
	}
	switch e.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if missing {
			return "", true
		}
		return p.inner.Expanded(s), true
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if missing {
			s.Assign(p.Text, Value{Set: true, Items: []string{p.inner.Expanded(s)}})
		}
	}
	return p.inner.Expanded(s), missing
}

// computed returns the result of a computation, or a mark if it needs something that only a running
// shell knows.
func (p Part) computed(s Scope, compute func(*expand.Config) ([]string, error)) []string {
	env := &environ{scope: s}
	items, err := compute(&expand.Config{
		Env:       env,
		CmdSubst:  func(io.Writer, *syntax.CmdSubst) error { return errUnknown },
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", errUnknown },
	})
	if err != nil || env.unknown {
		return []string{p.mark()}
	}
	return items
}

// environ gives a scope to the expander.
type environ struct {
	scope   Scope
	unknown bool // something was asked for that is not known
}

// Get implements expand.Environ.
func (e *environ) Get(name string) expand.Variable {
	if strings.HasPrefix(name, "HOME ") { // the home folder of another user
		e.unknown = true
		return expand.Variable{Set: true, Kind: expand.String}
	}
	v := e.scope.Variable(name, false)
	e.unknown = e.unknown || !v.Known() && name != "IFS" && name != "PWD" // which it always asks for
	if v.Array {
		return expand.Variable{Set: v.Set, Kind: expand.Indexed, List: v.Items}
	}
	return expand.Variable{Set: v.Set, Kind: expand.String, Str: v.Text()}
}

// Each implements expand.Environ. Only the names of variables need it.
func (e *environ) Each(func(string, expand.Variable) bool) { e.unknown = true }

// Set implements expand.WriteEnviron.
func (e *environ) Set(name string, v expand.Variable) error {
	if v.Kind == expand.String {
		e.scope.Assign(name, Value{Set: v.Set, Items: []string{v.Str}})
	} else {
		e.scope.Assign(name, Value{Set: v.Set, Array: true, Items: v.List})
	}
	return nil
}

// Printf returns what printf prints.
func Printf(format string, args []string) (string, error) {
	var b strings.Builder
	for {
		text, used, err := expand.Format(nil, format, args)
		if err != nil || b.Len() > printLimit {
			return "", cmp.Or(err, errMany)
		}
		b.WriteString(text)
		if args = args[min(used, len(args)):]; len(args) == 0 || used == 0 {
			return b.String(), nil
		}
	}
}

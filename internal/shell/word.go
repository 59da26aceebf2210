package shell

import (
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Word is one word of a command, without its quotes.
type Word struct {
	// Text is the word with marks for what only a running shell knows.
	Text string
	// Outputs are the commands whose output becomes a part of the word, in the order of their marks,
	// and those that run for other reasons, such as the default of a variable.
	Outputs []List
	Parts   []Part
	Quoted  bool // at least a part of it
	Home    bool // starts with a ~ that the shell replaces; of NAME=value, the value does
	// Array is true for NAME=(…) and NAME[index]=value. Elements are the words in the brackets, or the
	// value.
	Array    bool
	Elements []Word
	// Start and End are offsets in the text that was parsed.
	Start, End int
}

// Kind is the kind of a part of a word.
type Kind int

// The kinds of parts.
const (
	Literal   Kind = iota // Text is the part itself
	Parameter             // Text names the variable whose value is inserted
	Expansion             // the same, but the value may be different, such as a default
	Output                // the output of a command; if Text is "<" or ">", the name of a file that connects to it
)

// Part is a piece of a word.
type Part struct {
	Kind   Kind
	Text   string
	Quoted bool
	// Default is what an Expansion inserts instead of the variable's value.
	Default string
	// Commands are those whose Output this is.
	Commands List

	node  syntax.WordPart // of an Expansion
	inner *Word           // the word that Default is the text of
}

// Constant returns a word's text without marks: what remains if the shell inserts nothing. The
// marks may also come from a text that was a word of another command.
func (w Word) Constant() string {
	inside := false
	return strings.Map(func(c rune) rune {
		inside = (inside || c == ParameterMark) && c != ParameterEnd
		if inside || c == ParameterEnd || c == OutputMark {
			return -1
		}
		return c
	}, w.Text)
}

// Filled returns a word's text with the defaults of variables instead of their marks.
func (w Word) Filled() string {
	return w.render(func(p Part) string {
		if p.Default != "" {
			return p.Default
		}
		return p.mark()
	})
}

// Default returns what the word's first variable with a default inserts.
func (w Word) Default() string {
	for _, p := range w.Parts {
		if p.Default != "" {
			return p.Default
		}
	}
	return ""
}

func (w Word) render(open func(Part) string) string {
	var b strings.Builder
	for _, p := range w.Parts {
		if p.Kind == Literal {
			b.WriteString(p.Text)
		} else {
			b.WriteString(open(p))
		}
	}
	return b.String()
}

func (p Part) mark() string {
	switch p.Kind {
	case Literal:
		return p.Text
	case Output:
		return string(OutputMark)
	}
	return string(ParameterMark) + p.Text + string(ParameterEnd)
}

func (w *Word) add(p Part) {
	w.Parts = append(w.Parts, p)
	w.Quoted = w.Quoted || p.Quoted
}

func (w Word) finished() Word {
	w.Text = w.render(Part.mark)
	return w
}

// quoting is the meaning of a backslash in a literal.
type quoting int

const (
	plain    quoting = iota // it escapes every character
	double                  // it escapes characters that are special in double quotes
	document                // the same in a here-document, where a quote is not special
	raw                     // it is an ordinary character
)

// Limits of brace expansion, which multiplies words; beyond them a word stays as it is written.
const (
	braceLimit    = 16 // opening braces in a word
	expandedLimit = 256
)

// wordList converts words and expands their braces, as bash does before anything else.
func (r *reader) wordList(nodes []*syntax.Word) (words []Word) {
	for _, node := range nodes {
		count, start, end := 0, offset(node.Pos()), offset(node.End())
		if r.variant != syntax.LangBash || !expandable(node) || !syntax.SplitBraces(node) {
			words = append(words, r.word(node, plain))
			continue
		}
		for expanded, err := range expand.BracesSeq(nil, node) {
			if count++; err != nil || r.err != nil || count > expandedLimit {
				break
			}
			w := r.word(expanded, plain)
			w.Start, w.End = start, end
			words = append(words, w)
		}
	}
	return words
}

func expandable(node *syntax.Word) bool {
	braces := 0
	for _, part := range node.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			braces += strings.Count(lit.Value, "{")
		}
	}
	return braces > 0 && braces <= braceLimit
}

func (r *reader) word(node *syntax.Word, q quoting) Word {
	r.depth++
	defer func() { r.depth-- }()
	if r.words++; r.words > wordLimit {
		r.err = errMany
	}
	if r.depth > depthLimit {
		r.err = errDeep
	}
	if r.err != nil {
		return Word{}
	}
	w := Word{Start: offset(node.Pos()), End: offset(node.End())}
	r.parts(&w, node.Parts, q)
	w = w.finished()
	w.Home = q == plain && len(w.Parts) > 0 && !w.Parts[0].Quoted && strings.HasPrefix(w.Text, "~")
	return w
}

func (r *reader) literal(node *syntax.Lit) Word {
	return r.word(&syntax.Word{Parts: []syntax.WordPart{node}}, plain)
}

func (r *reader) parts(w *Word, nodes []syntax.WordPart, q quoting) {
	for _, node := range nodes {
		switch part := node.(type) {
		case *syntax.Lit:
			unescape(w, part.Value, q)
		case *syntax.SglQuoted:
			text := part.Value
			if part.Dollar {
				if decoded, _, err := expand.Format(nil, text, nil); err == nil {
					text, _, _ = strings.Cut(decoded, "\x00") // bash ends the text at a NUL
				}
			}
			w.add(Part{Text: text, Quoted: true})
		case *syntax.DblQuoted:
			w.Quoted = true
			if len(part.Parts) == 0 {
				w.add(Part{Quoted: true})
			}
			r.parts(w, part.Parts, double)
		case *syntax.CmdSubst:
			r.output(w, part.Stmts, Part{Quoted: q != plain})
		case *syntax.ProcSubst:
			r.output(w, part.Stmts, Part{Text: part.Op.String()[:1]})
		case *syntax.ParamExp:
			r.parameter(w, part, q)
		case *syntax.ArithmExp:
			w.add(Part{Kind: Expansion, Quoted: q != plain, node: part})
			w.Outputs = append(w.Outputs, r.outputs(part)...)
		case *syntax.ExtGlob:
			w.add(Part{Text: part.Op.String() + part.Pattern.Value + ")"})
			if inner, err := syntax.NewParser(syntax.Variant(r.variant)).
				Document(strings.NewReader(part.Pattern.Value)); err != nil {
				r.err = err
			} else if inner != nil {
				w.Outputs = append(w.Outputs, r.outputs(inner)...)
			}
		}
	}
}

// output adds the output of commands.
func (r *reader) output(w *Word, stmts []*syntax.Stmt, p Part) {
	p.Kind, p.Commands = Output, r.stmts(nil, stmts)
	w.add(p)
	w.Outputs = append(w.Outputs, p.Commands)
}

// outputs returns the commands that run anywhere below a node.
func (r *reader) outputs(node syntax.Node) (lists []List) {
	for _, w := range r.operands(node) {
		lists = append(lists, w.Outputs...)
	}
	return lists
}

// parameter adds the value of a variable, and the commands that run to compute another value.
func (r *reader) parameter(w *Word, node *syntax.ParamExp, q quoting) {
	p := Part{Kind: Expansion, Quoted: q != plain, node: node}
	if node.Param != nil && !node.Excl && !node.Length {
		p.Text = node.Param.Value
	}
	if syntax.ValidName(p.Text) && node.Index == nil && node.Slice == nil && node.Repl == nil && node.Exp == nil {
		p.Kind = Parameter
	}
	rest := *node
	rest.Exp = nil
	w.Outputs = append(w.Outputs, r.outputs(&rest)...)
	if node.Exp != nil && node.Exp.Word != nil {
		inner := r.word(node.Exp.Word, q)
		w.Outputs = append(w.Outputs, inner.Outputs...)
		switch node.Exp.Op {
		case syntax.DefaultUnset,
			syntax.DefaultUnsetOrNull,
			syntax.AssignUnset,
			syntax.AssignUnsetOrNull,
			syntax.AlternateUnset,
			syntax.AlternateUnsetOrNull:
			p.Default, p.inner = inner.Filled(), &inner
		}
	}
	w.add(p)
}

// unescape adds a literal. A character after a backslash is quoted; a newline after one is removed.
func unescape(w *Word, text string, q quoting) {
	special := map[quoting]string{double: "$`\"\\", document: "$`\\"}[q]
	var b strings.Builder
	protected := false
	add := func(c byte, protects bool) {
		if protects != protected && b.Len() > 0 {
			w.add(Part{Text: b.String(), Quoted: q != plain || protected})
			b.Reset()
		}
		protected = protects
		b.WriteByte(c)
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\' || q == raw:
			add(text[i], false)
		case i+1 < len(text) && text[i+1] == '\n':
			i++
		case q == plain && i+1 < len(text):
			i++
			add(text[i], true)
		case q == plain:
		case i+1 < len(text) && strings.IndexByte(special, text[i+1]) >= 0:
			i++
			add(text[i], false)
		default:
			add('\\', false)
		}
	}
	if b.Len() > 0 {
		w.add(Part{Text: b.String(), Quoted: q != plain || protected})
	}
}

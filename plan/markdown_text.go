package plan

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/ralphloop/ralph"
)

// inlineParser parses one paragraph, whatever its lines start with: the text of an item such as "1.
// first" is not a nested list.
var inlineParser = parser.NewParser(
	parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
	parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(strikeParser{}, 500))...),
)

// run is a piece of text without markup.
type run struct {
	text string
	code bool // in backticks, so meant literally
}

// runs removes the markup from a paragraph. It cuts off more than a title can contain.
func runs(doc *markdownDoc, rows []string) []run {
	source := []byte(strings.Join(rows, "\n"))
	if len(source) > maxInlineBytes {
		source = bytes.ToValidUTF8(source[:maxInlineBytes], nil)
	}
	if !bytes.ContainsAny(source, "*_`[]<>&\\~!") {
		return []run{{text: string(source)}} // most rows; a list of thousands is read at every iteration
	}
	root := inlineParser.Parse(text.NewReader(source), parser.WithContext(doc.context))
	w := runWriter{source: source}
	w.children(root)
	return w.out
}

// overflows reports whether rows are more than a title can contain.
func overflows(rows []string) bool { return len(strings.Join(rows, "\n")) > maxInlineBytes }

type runWriter struct {
	source []byte
	out    []run
}

func (w *runWriter) write(s string, code bool) {
	if last := len(w.out) - 1; last >= 0 && w.out[last].code == code {
		w.out[last].text += s
		return
	}
	w.out = append(w.out, run{text: s, code: code})
}

func (w *runWriter) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		w.node(c)
	}
}

func (w *runWriter) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		w.write(unescape(n.Value(w.source)), false)
		if n.SoftLineBreak() || n.HardLineBreak() {
			w.write(" ", false)
		}
	case *ast.String:
		w.write(string(n.Value), false)
	case *ast.CodeSpan:
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			if t, ok := c.(*ast.Text); ok {
				w.write(string(t.Value(w.source)), true)
			}
		}
	case *ast.AutoLink:
		w.write(string(n.Label(w.source)), false)
	case *ast.RawHTML:
	default:
		w.children(n)
	}
}

func unescape(b []byte) string {
	return string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(b))))
}

// plainText returns a paragraph or heading without markup, on one line.
func plainText(doc *markdownDoc, rows []string) string {
	var b strings.Builder
	for _, r := range runs(doc, rows) {
		b.WriteString(r.text)
	}
	return oneLine(b.String())
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// title is a task's title, without markup and without marks.
type title struct {
	text     string
	optional bool
	human    bool
	unbroken bool
}

// proof returns the rule that a mark sets.
func (t title) proof() ralph.ProofRule {
	if t.unbroken {
		return ralph.ProofUnbroken
	}
	return ""
}

// Marks of an item besides its box. They may be anywhere in the title except in code.
var (
	humanMarks    = []string{"(human)", "(manual)", "[human]", "[manual]", "@human", "@manual"}
	optionalMarks = []string{"(optional)", "[optional]", "@optional"}
	unbrokenMarks = []string{"(unbroken)", "[unbroken]", "@unbroken"}
	doneMarks     = []string{
		"✅", "☑️", "☑", "✔️", "✔", "✓",
		"(done)", "[done]", "(completed)", "[x]", "[X]",
	}
)

func readTitle(doc *markdownDoc, rows []string) title {
	var t title
	var b strings.Builder
	for _, r := range runs(doc, rows) {
		if !r.code {
			r.text, t.human = cutMarks(r.text, humanMarks, t.human)
			r.text, t.optional = cutMarks(r.text, optionalMarks, t.optional)
			r.text, t.unbroken = cutMarks(r.text, unbrokenMarks, t.unbroken)
		}
		b.WriteString(r.text)
	}
	t.text = cmp.Or(trimTitle(oneLine(b.String())), oneLine(strings.Join(rows, " ")))
	return t
}

// cutMarks removes marks from a text and reports whether there was one, or found was already true.
func cutMarks(s string, marks []string, found bool) (string, bool) {
	for _, m := range marks {
		for from := 0; ; {
			i := indexFold(s[from:], m)
			if i < 0 {
				break
			}
			i += from
			if !standsAlone(s, i, i+len(m)) {
				from = i + len(m)
				continue
			}
			left, right := strings.TrimRight(s[:i], " "), s[i+len(m):]
			if right != "" && strings.IndexByte(".,:;", right[0]) < 0 {
				left += " "
			}
			s, found, from = left+right, true, len(left)
		}
	}
	return s, found
}

// standsAlone keeps me@human.example and f(optional) from being taken for marks.
func standsAlone(s string, begin, end int) bool {
	before, after := s[:begin], strings.TrimPrefix(s[end:], ".")
	return (before == "" || !isWord(before[len(before)-1])) && (after == "" || !isWord(after[0]))
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0x80
}

// indexFold finds an ASCII text in any case.
func indexFold(s, ascii string) int {
	for i := 0; i+len(ascii) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(ascii)], ascii) {
			return i
		}
	}
	return -1
}

// trimTitle removes done marks and what a removed mark left behind.
func trimTitle(s string) string {
	for {
		before := s
		s = strings.TrimRight(trimDone(s), ": ")
		for _, dash := range []string{" -", " –", " —"} {
			s = strings.TrimSuffix(s, dash)
		}
		if s == before {
			return s
		}
	}
}

// trimDone removes done marks: the box holds the state, and an agent that adds such a mark has not
// changed the task.
func trimDone(s string) string {
	for {
		before := s
		for _, m := range doneMarks {
			s = strings.TrimSpace(cutSuffixFold(strings.TrimPrefix(s, m), m))
		}
		if s == before {
			return s
		}
	}
}

func cutSuffixFold(s, suffix string) string {
	if i := len(s) - len(suffix); i >= 0 && strings.EqualFold(s[i:], suffix) {
		return s[:i]
	}
	return s
}

// splitTitle splits the rows of an item's first paragraph: a title may span several lines, up to a
// hard line break or the first field.
func splitTitle(rows []string) (heading, rest []string) {
	for i, row := range rows {
		if i > 0 {
			if _, _, ok := fieldIn(row); ok {
				return rows[:i], rows[i:]
			}
		}
		if cut, ok := strings.CutSuffix(row, `\`); ok {
			return append(slices.Clone(rows[:i]), cut), rows[i+1:]
		}
	}
	return rows, nil
}

// strikeParser parses ~~struck out~~ text. The library has a parser for it, in a package that takes
// longer to load than the rest of this program.
type strikeParser struct{}

var strikeKind = ast.NewNodeKind("Strike")

type strike struct{ ast.BaseInline }

func (*strike) Kind() ast.NodeKind              { return strikeKind }
func (n *strike) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

func (strikeParser) Trigger() []byte { return []byte{'~'} }

func (strikeParser) Parse(_ ast.Node, block text.Reader, context parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	mark := parser.ScanDelimiter(line, before, 1, tildes{})
	if mark == nil || mark.OriginalLength > 2 || before == '~' {
		return nil
	}
	mark.Segment = segment.WithStop(segment.Start + mark.OriginalLength)
	block.Advance(mark.OriginalLength)
	context.PushDelimiter(mark)
	return mark
}

// tildes are the delimiters of struck-out text.
type tildes struct{}

func (tildes) IsDelimiter(b byte) bool                             { return b == '~' }
func (tildes) CanOpenCloser(opener, closer *parser.Delimiter) bool { return opener.Char == closer.Char }
func (tildes) OnMatch(int) ast.Node                                { return &strike{} }

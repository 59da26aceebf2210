package plan

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Limits that keep reading fast. Agents rewrite the list, and whatever they write must be read in
// time linear in its length. But a Markdown parser's time is quadratic in nested quotations and
// lists, in consecutive link definitions and in emphasis within one paragraph.
const (
	maxContainersPerLine  = 100
	maxLinkDefinitionRows = 200
	maxInlineBytes        = 2048
)

// markdownDoc is a parsed file. Offsets of its nodes are offsets in text, which is the file without
// its byte order mark.
type markdownDoc struct {
	bom     int // bytes before text
	text    []byte
	lines   lines // of text
	root    ast.Node
	context parser.Context // contains the link definitions
}

// openMarkdown parses a file. It returns a problem if the file cannot be parsed in reasonable time.
func openMarkdown(data []byte) (*markdownDoc, *Problem) {
	doc := &markdownDoc{}
	doc.text = bytes.TrimPrefix(data, byteOrderMark)
	doc.bom = len(data) - len(doc.text)
	doc.text = endLinesAlike(doc.text)
	doc.lines = linesOf(doc.text)
	for i, begin := range doc.lines {
		if nestsTooDeep(doc.text[begin:]) {
			return doc, &Problem{Line: i + 1, Text: "quotations or lists are nested too deeply"}
		}
	}
	doc.context = parser.NewContext()
	doc.root = blockParser.Parse(text.NewReader(doc.text), parser.WithContext(doc.context))
	return doc, nil
}

// endLinesAlike converts each lone carriage return to a newline, keeping every offset.
func endLinesAlike(data []byte) []byte {
	if bytes.Count(data, []byte("\r")) == bytes.Count(data, []byte("\r\n")) {
		return data
	}
	out := bytes.Clone(data)
	for i, c := range out {
		if c == '\r' && (i+1 == len(out) || out[i+1] != '\n') {
			out[i] = '\n'
		}
	}
	return out
}

// nestsTooDeep checks the quotation and list marks at the start of a line, and how many lists its
// indentation may continue. A row of one bullet character alone is a horizontal rule.
func nestsTooDeep(rest []byte) bool {
	count, bullet, mixed := 0, byte(0), false
	above := listsAbove(rest)
scan:
	for i, c := range rest {
		switch c {
		case '>', '.', ')':
			count, mixed = count+1, true
		case '-', '*', '+':
			if i+1 < len(rest) && util.IsSpace(rest[i+1]) {
				count++
			}
			mixed = mixed || bullet != 0 && bullet != c
			bullet = c
		case '\n':
			break scan
		case ' ', '\t', '\r', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		default:
			mixed = true
			break scan
		}
	}
	return (mixed || above > 0) && count > 0 && above+count > maxContainersPerLine
}

// listsAbove returns how many lists may contain a line, by its indentation, also in quotations:
// each takes at least two columns.
func listsAbove(line []byte) int {
	indent := line[:len(line)-len(bytes.TrimLeft(line, " \t>"))]
	return (bytes.Count(indent, []byte(" ")) + 4*bytes.Count(indent, []byte("\t"))) / 2
}

// blockParser finds blocks without parsing their text: only titles are parsed further.
var blockParser = parser.NewParser(
	parser.WithBlockParsers(parser.DefaultBlockParsers()...),
	parser.WithParagraphTransformers(util.Prioritized(boundedLinkDefinitions{}, 100)),
)

type boundedLinkDefinitions struct{}

func (boundedLinkDefinitions) Transform(p *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if p.Lines().Len() <= maxLinkDefinitionRows {
		parser.LinkReferenceParagraphTransformer.Transform(p, reader, pc)
	}
}

// line returns the number of the line that contains an offset.
func (d *markdownDoc) line(offset int) int { return d.lines.at(offset) }

// start returns the offset of a block's first byte. The position of a heading underlined with = or
// - is at the underline.
func (d *markdownDoc) start(n ast.Node) int {
	begin := n.Pos()
	if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
		if first := n.Lines().At(0).Start; begin < 0 || first < begin {
			begin = first
		}
	}
	if begin < 0 && n.FirstChild() != nil {
		return d.start(n.FirstChild())
	}
	return max(begin, 0)
}

// rows returns the trimmed lines of a paragraph or heading.
func (d *markdownDoc) rows(n ast.Node) []string {
	var out []string
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		out = append(out, string(bytes.TrimSpace(bytes.ToValidUTF8(segment.Value(d.text), []byte("\ufffd")))))
	}
	return out
}

// row returns the whole line that contains an offset.
func (d *markdownDoc) row(offset int) string {
	line, _, _ := bytes.Cut(d.text[d.lines[d.line(offset)-1]:], []byte("\n"))
	return string(bytes.TrimSpace(bytes.ToValidUTF8(line, []byte("\ufffd"))))
}

// checkbox is a box and the offset of its mark.
type checkbox struct {
	mark     int
	ticked   bool
	optional bool // "[ ]*"
}

// boxed returns the box at the start of a paragraph or heading.
func (d *markdownDoc) boxed(n ast.Node) (checkbox, bool) {
	if !holdsText(n) || n.Lines().Len() == 0 {
		return checkbox{}, false
	}
	begin := n.Lines().At(0).Start
	last := n.Lines().At(n.Lines().Len() - 1)
	body := d.text[begin:max(begin, last.Stop)]
	if len(body) < 4 || body[0] != '[' || body[2] != ']' || !isMark(body[1]) {
		return checkbox{}, false
	}
	box := checkbox{mark: begin + 1, ticked: body[1] == 'x' || body[1] == 'X'}
	rest := body[3:]
	if len(rest) > 1 && rest[0] == '*' && util.IsSpace(rest[1]) {
		box.optional, rest = true, rest[1:]
	}
	return box, util.IsSpace(rest[0]) && len(bytes.TrimSpace(rest)) > 0
}

// isMark reports whether a byte between brackets makes a box. Marks for started, moved or doubtful
// work mean that it is not done. Ignoring such a box would make the task disappear.
func isMark(c byte) bool { return bytes.IndexByte([]byte(" \txX"+openMarks), c) >= 0 }

const openMarks = "-~/>!?"

func holdsText(n ast.Node) bool {
	switch n.Kind() {
	case ast.KindParagraph, ast.KindTextBlock, ast.KindHeading:
		return true
	}
	return false
}

// afterBox returns the rows of a boxed block without the box.
func afterBox(rows []string, box checkbox) []string {
	skip := len("[ ]")
	if box.optional {
		skip++
	}
	first := strings.TrimSpace(rows[0][skip:])
	if first == "" {
		return rows[1:]
	}
	return append([]string{first}, rows[1:]...)
}

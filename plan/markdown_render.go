package plan

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/ralphloop/ralph/internal/text"
)

// render returns a block of a description as it was written, without the indentation of its list.
// It collects boxes as steps instead, so that ticking one does not change the description.
func (d *taskDetails) render(n ast.Node, indent string) []string {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		return indented(d.doc.rows(n), indent)
	case *ast.List:
		return d.renderList(n, indent)
	case *ast.FencedCodeBlock:
		fence := fenceAround(n.Lines().Value(d.doc.text))
		out := append([]string{fence + string(n.Language(d.doc.text))}, d.code(n)...)
		return indented(append(out, fence), indent)
	case *ast.CodeBlock:
		return indented(d.code(n), indent+"    ")
	case *ast.HTMLBlock:
		if n.HTMLBlockType == ast.HTMLBlockType2 {
			return nil // a comment
		}
		return indented(d.doc.rows(n), indent)
	case *ast.Blockquote:
		var out []string
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			out = append(out, indented(d.quoted(c), indent+"> ")...)
		}
		return out
	}
	return nil
}

func (d *taskDetails) renderList(list *ast.List, indent string) []string {
	var out []string
	number := list.Start - 1
	for li := list.FirstChild(); li != nil; li = li.NextSibling() {
		number++
		if li.FirstChild() == nil {
			continue
		}
		if box, ok := d.doc.boxed(li.FirstChild()); ok {
			d.nested = append(d.nested, step{checkbox: box, item: li})
			continue
		}
		out = append(out, d.renderItem(li, bullet(list, number), indent)...)
	}
	return out
}

// quoted returns a block of a quotation: its boxes are part of the text.
func (d *taskDetails) quoted(n ast.Node) []string {
	if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
		return d.doc.rows(n)
	}
	var out []string
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		out = append(out, d.quoted(c)...)
	}
	return out
}

func (d *taskDetails) renderItem(li ast.Node, mark, indent string) []string {
	var out []string
	for n := li.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, d.render(n, indent+strings.Repeat(" ", len(mark)))...)
	}
	if len(out) > 0 && len(out[0]) >= len(indent)+len(mark) {
		out[0] = indent + mark + out[0][len(indent)+len(mark):]
	}
	return out
}

// bullet returns the mark of an item in its list, with a space.
func bullet(list *ast.List, number int) string {
	if !list.IsOrdered() {
		return string(list.Marker) + " "
	}
	return strconv.Itoa(number) + string(list.Marker) + " "
}

// fenceAround returns a fence that is longer than every run of backticks in the code.
func fenceAround(code []byte) string {
	longest, row := 2, 0
	for _, c := range code {
		if c != '`' {
			row = 0
			continue
		}
		row++
		longest = max(longest, row)
	}
	return strings.Repeat("`", longest+1)
}

func (d *taskDetails) code(n ast.Node) []string {
	var out []string
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		out = append(out, strings.TrimRight(strings.ToValidUTF8(string(segment.Value(d.doc.text)), "\ufffd"), "\r\n"))
	}
	return out
}

func indented(rows []string, indent string) []string {
	return text.Mapped(rows, func(row string) string { return indent + row })
}

package plan

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/ralphloop/ralph/internal/text"
)

// Texts that were meant as boxes. They are searched only where a box could be, in the text that the
// parser found there.
var (
	falseBox  = text.LazyRegexp(`^\[(?:|[ \t]{2,}|[ \t]*[xX][ \t]+|[ \t]+[xX][ \t]*|[✓✔✅☑✗✘❌]️?)\](?:[ \t]|$)`)
	gluedBox  = text.LazyRegexp(`^\[[ xX]\][^\s(\[:*]`)
	emptyBox  = text.LazyRegexp(`^\[[ xX]\]$`)
	loneBox   = text.LazyRegexp(`^(?:[-*+•–—]|\d{1,9}[.)])?\[[ xX]\](?:[ \t]|$)|^[•–—][ \t]+\[[ xX]\](?:[ \t]|$)`)
	boxInCode = text.LazyRegexp(`^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]\][ \t]`)
)

// findFalseBoxes warns about text that looks like a task but is not one in Markdown.
func (r *checklistReader) findFalseBoxes() {
	_ = ast.Walk(r.doc.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindBlockquote, ast.KindFencedCodeBlock, ast.KindHTMLBlock:
			return ast.WalkSkipChildren, nil
		case ast.KindCodeBlock:
			r.boxesInCode(n)
		case ast.KindParagraph, ast.KindTextBlock:
			r.falseBoxesIn(n)
		}
		return ast.WalkContinue, nil
	})
}

func (r *checklistReader) falseBoxesIn(n ast.Node) {
	leads := n.Parent().Kind() == ast.KindListItem && n.Parent().FirstChild() == n
	box, isBoxed := r.doc.boxed(n)
	isBoxed = isBoxed && leads
	for i, row := range r.doc.rows(n) {
		leads := leads && i == 0
		at := n.Lines().At(i).Start
		switch {
		case leads && isBoxed:
			if mark := r.doc.text[box.mark]; strings.IndexByte(openMarks, mark) >= 0 {
				r.warn(at, fmt.Sprintf("`[%c]` is read as an unticked box; write `- [ ] title`", mark))
			}
		case leads && emptyBox().MatchString(row):
			r.warn(at, "a box without a title is not a task; write `- [ ] title`")
		case leads && (falseBox().MatchString(row) || gluedBox().MatchString(row)), !leads && loneBox().MatchString(row):
			r.warn(at, fmt.Sprintf("not a box: `%s`; write `- [ ] title`", shorten(r.doc.row(at))))
		}
	}
}

func (r *checklistReader) boxesInCode(n ast.Node) {
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		if boxInCode().Match(segment.Value(r.doc.text)) {
			r.warn(segment.Start, "a box indented this far is code, not a task; indent it less")
		}
	}
}

func (r *checklistReader) warn(at int, text string) {
	r.problem(Problem{Line: r.doc.line(at), Text: text, Warning: true})
}

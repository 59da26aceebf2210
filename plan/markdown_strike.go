package plan

import (
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// strikeParser reads ~~struck out~~ text. The library has one, in a package that takes longer to load than the rest of this program.
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

// tildes are what struck-out text begins and ends with.
type tildes struct{}

func (tildes) IsDelimiter(b byte) bool                             { return b == '~' }
func (tildes) CanOpenCloser(opener, closer *parser.Delimiter) bool { return opener.Char == closer.Char }
func (tildes) OnMatch(int) ast.Node                                { return &strike{} }

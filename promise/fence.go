package promise

import "bytes"

const minFence = 3

// fence is an open fenced code block. Its tags count only if it holds nothing but tags and white
// space, which is unknown until it ends.
type fence struct {
	mark   byte // ` or ~; 0 if no fence is open
	length int
	other  bool // it holds something other than tags
	tags   findings
}

func (f *fence) open() bool { return f.mark != 0 }

func (f *fence) closedBy(trimmed []byte) bool {
	return len(trimmed) >= f.length && len(bytes.TrimLeft(trimmed, string(rune(f.mark)))) == 0
}

// spoil records that the fence holds something other than tags.
func (f *fence) spoil() { f.other, f.tags = true, findings{} }

// take reads a line, or part of one, inside the fence.
func (f *fence) take(p piece) {
	if len(bytes.TrimSpace(p.text[:p.end])) > 0 {
		f.spoil()
	}
	if f.other {
		return
	}
	for _, t := range p.tags[:p.settled] {
		f.tags.accept(t.tag)
	}
}

// opensFence detects the first line of a fence: three or more marks after any indent and list
// markers. If the text after backticks has another backtick, it is a code span.
func (p piece) opensFence() (fence, bool) {
	marks := p.firstPart(p.indent)
	if p.before.cut || !p.last || len(marks) < minFence || marks[0] != '`' && marks[0] != '~' {
		return fence{}, false
	}
	length := len(marks) - len(bytes.TrimLeft(marks, string(rune(marks[0]))))
	if length < minFence || marks[0] == '`' && bytes.IndexByte(p.text[p.indent+length:], '`') >= 0 {
		return fence{}, false
	}
	return fence{mark: marks[0], length: length}, true
}

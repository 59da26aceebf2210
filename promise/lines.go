package promise

import "bytes"

// A line of up to maxLine bytes is read as a whole. The beginning of a longer one is judged and
// folded away, so that a line may have any length.
const (
	maxLine    = 32 << 10
	tagExpense = 64 // bytes of maxLine that a tag takes in addition to its content
)

// placedTag is a tag and its position in a line.
type placedTag struct {
	tag
	at int // offset in the line's text
}

// line is a line of a message. Its tags, with any line breaks in them, are taken out of the text,
// so that they do not count as words.
type line struct {
	text   []byte
	tags   []placedTag
	before linePrefix
}

// linePrefix summarizes the beginning of a line that was folded away.
type linePrefix struct {
	cut    bool // something was folded away
	began  bool // it had more than indent
	quoted bool
	word   bool // it had a letter or digit
	last   rune
	clause clauseWords

	sentence sentenceState
}

// lineReader is the last stage: it assembles lines, tracks fences and the status block, and records
// what the agent said.
type lineReader struct {
	phrases      *phraseCounter
	blockPhrases *phraseCounter // of a COMPLETE block's RECOMMENDATION
	heard
	earlier heard // up to the end of the last message

	line       line
	indent     int // how many bytes of the current line are known to be indent and list markers
	tagBytes   int
	phraseFrom int // a phrase that began in the folded part ends here
	found      []phraseSpan
	fence      fence
	block      statusBlock
}

// heard is what the agent said so far.
type heard struct {
	said    findings
	learned learnings
	hasText bool // the agent wrote anything but white space
	status  *Status
	problem string
}

func (r *lineReader) text(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		switch {
		case end < 0:
			r.add(p)
			return
		case len(r.line.text) == 0 && len(r.line.tags) == 0 && !r.line.before.cut && end <= maxLine:
			r.readLine(&line{text: p[:end]}, 0)
		default:
			r.add(p[:end])
			r.endLine()
		}
		p = p[end+1:]
	}
}

func (r *lineReader) tag(t tag) {
	r.line.tags = append(r.line.tags, placedTag{t, len(r.line.text)})
	r.tagBytes += t.expense()
	if len(r.line.text)+r.tagBytes > maxLine {
		r.fold()
	}
}

func (t tag) expense() int { return tagExpense + len(t.name) + len(t.text) }

func (r *lineReader) endMessage() {
	r.endLine()
	r.endFence()
	r.blockWasText()
	r.earlier = r.heard
}

// forgetMessage drops what was read of the current message.
func (r *lineReader) forgetMessage() {
	r.heard = r.earlier
	r.fence, r.block = fence{}, statusBlock{}
	r.restart(linePrefix{})
}

// reach returns how far a tag that begins here may extend. One in a quoted line, or after what
// looks like a fence, must not swallow the lines below it.
func (r *lineReader) reach() reach {
	if r.fence.open() {
		return reachFence
	}
	l := &r.line
	r.indent = l.indentEnd(r.indent)
	rest := l.text[r.indent:]
	looksFenced := bytes.HasPrefix(rest, []byte("```")) || bytes.HasPrefix(rest, []byte("~~~"))
	if l.quoted(r.indent) || !l.before.cut && looksFenced {
		return reachLine
	}
	return reachAnywhere
}

// prefix summarizes the current line for a tag that follows it.
func (r *lineReader) prefix() linePrefix {
	return r.line.prefix(len(r.line.text), r.line.indentEnd(r.indent))
}

// resume ends the current line and continues an older one.
func (r *lineReader) resume(before linePrefix) {
	r.endLine()
	r.restart(before)
}

func (r *lineReader) add(p []byte) {
	for len(p) > 0 {
		n := fitting(p, max(0, maxLine-len(r.line.text)-r.tagBytes))
		if n == 0 {
			r.fold()
			continue
		}
		r.line.text = append(r.line.text, p[:n]...)
		p = p[n:]
	}
}

func (r *lineReader) endLine() {
	r.readLine(&r.line, r.indent)
	r.restart(linePrefix{})
}

func (r *lineReader) restart(before linePrefix) {
	clear(r.line.tags)
	r.line = line{text: r.line.text[:0], tags: r.line.tags[:0], before: before}
	r.indent, r.tagBytes, r.phraseFrom = 0, 0, 0
}

// readLine reads a line to its end. Its first indent bytes are known to be indent.
func (r *lineReader) readLine(l *line, indent int) {
	trimmed := bytes.TrimSpace(l.text)
	if len(trimmed) == 0 && len(l.tags) == 0 && !l.before.cut {
		return // a blank line means nothing anywhere
	}
	r.hasText = r.hasText || len(trimmed) > 0 || len(l.tags) > 0
	if !l.before.cut && len(l.tags) == 0 && r.structural(trimmed) {
		return
	}
	r.read(piece{line: l, end: len(l.text), settled: len(l.tags), indent: l.indentEnd(indent), last: true})
}

// structural handles the lines that end a fence, and those that begin or end a status block.
func (r *lineReader) structural(trimmed []byte) bool {
	switch {
	case string(trimmed) == blockBegins:
		r.fence.spoil()
		r.blockWasText()
		r.block.begin()
	case string(trimmed) == blockEnds && r.block.open:
		r.fence.spoil()
		r.endBlock()
	case r.fence.open() && r.fence.closedBy(trimmed):
		r.block.line(trimmed, wholeLine)
		r.endFence()
	default:
		return false
	}
	return true
}

// piece is the part of a line that is read at once: all of it, or the beginning that is folded
// away.
type piece struct {
	*line
	end     int // of the part of the text that is read
	settled int // how many of the line's tags are in it
	indent  int
	last    bool
}

func (r *lineReader) read(p piece) {
	switch {
	case !r.block.open || p.before.cut:
	case p.last:
		r.block.line(p.withTags(), wholeLine)
	default:
		r.block.line(p.text[:p.end], cutLine)
	}
	if r.fence.open() {
		r.fence.take(p)
		return
	}
	if p.quoted(p.indent) {
		return
	}
	into := r.into()
	if f, ok := p.opensFence(); ok {
		r.fence = f
		for _, t := range p.tags {
			into.mention(t.tag)
		}
		return
	}
	p.judge(into)
	if p.mayBeLearning() {
		r.learned.add(p.learning())
	}
	into.phrases += r.countPhrases(p)
}

// into returns where findings go. An open status block may still turn out to be valid, and then its
// lines are not text.
func (r *lineReader) into() *findings {
	if r.block.open {
		return &r.block.asText
	}
	return &r.said
}

func (r *lineReader) endFence() {
	if r.fence.open() {
		r.into().merge(&r.fence.tags)
		r.fence = fence{}
	}
}

func (r *lineReader) endBlock() {
	status, problem := r.block.end()
	r.problem = problem
	if problem != "" {
		r.blockWasText()
		return
	}
	r.status = &status
	r.block.open = false
	r.said.phrases += status.phrases(r.blockPhrases)
}

// blockWasText records the lines after a block's first mark as ordinary text.
func (r *lineReader) blockWasText() {
	if r.block.open {
		r.said.merge(&r.block.asText)
		r.block = statusBlock{}
	}
}

// countPhrases counts asserted phrases between the tags, not across them.
func (r *lineReader) countPhrases(p piece) int {
	found, from, start := r.found[:0], r.phraseFrom, 0
	for i := 0; i <= len(p.tags) && start <= p.end; i++ {
		end := len(p.text)
		if i < len(p.tags) {
			end = p.tags[i].at
		}
		n := len(found)
		found = r.phrases.find(found, p.text[start:end], max(from-start, 0), min(end, p.end)-start)
		for i := n; i < len(found); i++ {
			found[i].from, found[i].to = found[i].from+start, found[i].to+start
		}
		if len(found) > n {
			from = found[len(found)-1].to
		}
		start = end
	}
	r.phraseFrom, r.found = max(from-p.end, 0), found
	if len(found) == 0 {
		return 0
	}
	return asserted(p.text, found, p.startState(p.indent))
}

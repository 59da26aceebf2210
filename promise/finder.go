package promise

import (
	"bytes"
	"unicode/utf8"
)

const (
	opener = "<promise>"
	closer = "</promise>"
)

// maxPending is how much text after an opener is held. A tag that is not closed within it is passed
// on as text; if it is closed later, it still counts as a tag.
const maxPending = 32 << 10

// reach says how far a tag that begins here may extend.
type reach int

const (
	reachAnywhere reach = iota
	reachFence          // to the end of its fence
	reachLine           // to the end of its line
)

// tagFinder separates tags from text. It holds the text after an opener until the tag is closed, or
// until another opener, the end of the message or the end of its reach shows that it is not a tag.
// So the innermost opener counts, and nothing after a stray one is lost.
type tagFinder struct {
	out            *lineReader
	completionTags []string
	candidate      []byte // the text ends with this much of an opener or closer
	open           bool
	reach          reach
	pending        []byte // the text after the opener
	lineAt         int    // where the last line of pending begins
	late           *lateTag
}

// lateTag is an opener whose content is longer than maxPending.
type lateTag struct {
	before linePrefix
	body   tidyText
}

func (f *tagFinder) text(p []byte) {
	for len(p) > 0 {
		if len(f.candidate) > 0 {
			p = f.match(p)
			continue
		}
		at := bytes.IndexByte(p, '<')
		if at < 0 {
			f.plain(p)
			return
		}
		f.plain(p[:at])
		f.candidate = append(f.candidate, '<')
		p = p[at+1:]
	}
}

func (f *tagFinder) endMessage() {
	f.rejectCandidate()
	f.giveUp()
	f.late = nil
	f.out.endMessage()
}

// forgetMessage drops what was read of the current message.
func (f *tagFinder) forgetMessage() {
	f.candidate, f.pending = f.candidate[:0], f.pending[:0]
	f.open, f.late = false, nil
	f.out.forgetMessage()
}

// match extends the candidate until it is an opener, a closer, or neither.
func (f *tagFinder) match(p []byte) []byte {
	for i, b := range p {
		n, whole := len(f.candidate), opener
		if n == 1 && b == '/' || n > 1 && f.candidate[1] == '/' {
			whole = closer
		}
		if b != whole[n] {
			f.rejectCandidate()
			return p[i:]
		}
		f.candidate = append(f.candidate, b)
		if len(f.candidate) < len(whole) {
			continue
		}
		f.candidate = f.candidate[:0]
		if whole == opener {
			f.openTag()
		} else {
			f.closeTag()
		}
		return p[i+1:]
	}
	return nil
}

func (f *tagFinder) rejectCandidate() {
	f.plain(f.candidate)
	f.candidate = f.candidate[:0]
}

// plain takes text that is neither opener nor closer.
func (f *tagFinder) plain(p []byte) {
	for f.open && len(p) > 0 {
		p = p[f.hold(p):]
	}
	if len(p) == 0 {
		return
	}
	if f.late != nil {
		f.late.body.add(p)
	}
	f.out.text(p)
}

// hold keeps text after an opener and returns how many bytes of p it took. It takes less than all
// of p if a tag can no longer be closed.
func (f *tagFinder) hold(p []byte) int {
	n := fitting(p, maxPending-len(f.pending))
	if n == 0 {
		f.overflow()
		return 0
	}
	if f.reach == reachAnywhere {
		f.pending = append(f.pending, p[:n]...)
		return n
	}
	end := bytes.IndexByte(p[:n], '\n') + 1
	if end == 0 {
		f.pending = append(f.pending, p[:n]...)
		return n
	}
	f.pending = append(f.pending, p[:end]...)
	line, behindOpener := f.pending[f.lineAt:], f.lineAt == 0
	f.lineAt = len(f.pending)
	if f.reach == reachLine || !behindOpener && f.out.fence.closedBy(bytes.TrimSpace(line)) {
		f.giveUp()
	}
	return end
}

func (f *tagFinder) openTag() {
	f.giveUp()
	f.open, f.late = true, nil
	f.reach, f.lineAt = f.out.reach(), 0
}

func (f *tagFinder) closeTag() {
	switch {
	case f.open:
		f.closeHeld()
	case f.late != nil:
		f.closeLate()
	default:
		f.out.text([]byte(closer))
	}
}

func (f *tagFinder) closeHeld() {
	var body tidyText
	body.add(f.pending)
	t := readTag(body.String(), f.completionTags)
	if t.kind == unknownTag && body.lines {
		// These are two separately mentioned halves of a tag, with ordinary text between them.
		f.giveUp()
		f.out.text([]byte(closer))
		return
	}
	f.open, f.pending = false, f.pending[:0]
	f.out.tag(t)
}

func (f *tagFinder) closeLate() {
	late := f.late
	f.late = nil
	t := readTag(late.body.String(), f.completionTags)
	if t.kind == unknownTag {
		f.out.text([]byte(closer))
		return
	}
	f.out.resume(late.before)
	f.out.tag(t)
}

// giveUp turns an opener and the text after it back into text.
func (f *tagFinder) giveUp() {
	if !f.open {
		return
	}
	f.open = false
	f.out.text([]byte(opener))
	f.out.text(f.pending)
	f.pending = f.pending[:0]
}

func (f *tagFinder) overflow() {
	var late *lateTag
	if f.reach == reachAnywhere {
		late = &lateTag{before: f.out.prefix()}
		late.body.add(f.pending)
	}
	f.giveUp()
	f.late = late
}

// fitting returns how many bytes of p fit into room without cutting a character.
func fitting(p []byte, room int) int {
	if len(p) <= room {
		return len(p)
	}
	for room > 0 && !utf8.RuneStart(p[room]) {
		room--
	}
	return room
}

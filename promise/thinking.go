package promise

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// thinkingTags are the tags around thoughts that some models write into their text.
var thinkingTags = []struct{ opener, closer string }{
	{"<think>", "</think>"},
	{"<thinking>", "</thinking>"},
}

// messageSink is a textSink that can forget the current message.
type messageSink interface {
	textSink
	forgetMessage()
}

// thinkingFilter drops the thoughts in a message: everything from <think> to </think>, or to the end
// of the message. Some chat templates print <think> themselves, so that a model prints only the end of
// its thought: then everything before </think> is dropped. A tag directly after a backtick, a quotation
// mark or a backslash is talked about.
type thinkingFilter struct {
	out       messageSink
	candidate []byte // the text ends with this much of a tag
	closer    string // of the current thought; "" outside
	before    []byte // the end of the text before the candidate, at most one character
}

func (f *thinkingFilter) text(p []byte) {
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

func (f *thinkingFilter) endMessage() {
	f.rejectCandidate()
	f.closer, f.before = "", f.before[:0]
	f.out.endMessage()
}

// match extends the candidate until it is a tag, or cannot become one.
func (f *thinkingFilter) match(p []byte) []byte {
	for i, b := range p {
		f.candidate = append(f.candidate, b)
		switch known, whole := f.known(); {
		case !known:
			f.candidate = f.candidate[:len(f.candidate)-1]
			f.rejectCandidate()
			return p[i:]
		case whole:
			f.tag()
			return p[i+1:]
		}
	}
	return nil
}

// known reports whether the candidate begins a tag that counts here, and whether it is all of one.
func (f *thinkingFilter) known() (known, whole bool) {
	candidate := string(f.candidate)
	if f.closer != "" {
		return strings.HasPrefix(f.closer, candidate), f.closer == candidate
	}
	for _, t := range thinkingTags {
		known = known || strings.HasPrefix(t.opener, candidate) || strings.HasPrefix(t.closer, candidate)
		whole = whole || t.opener == candidate || t.closer == candidate
	}
	return known && !f.mentioned(), whole
}

func (f *thinkingFilter) mentioned() bool {
	r, size := utf8.DecodeLastRune(f.before)
	return size > 0 && strings.ContainsRune(quotationMarks+"`\\", r)
}

func (f *thinkingFilter) tag() {
	tag := string(f.candidate)
	f.candidate = f.candidate[:0]
	if f.closer != "" {
		f.closer = ""
		f.out.text([]byte("\n")) // what comes after a thought does not continue what came before it
		return
	}
	for _, t := range thinkingTags {
		switch tag {
		case t.opener:
			f.closer = t.closer
		case t.closer:
			f.before = f.before[:0]
			f.out.forgetMessage()
		}
	}
}

func (f *thinkingFilter) rejectCandidate() {
	f.plain(f.candidate)
	f.candidate = f.candidate[:0]
}

// plain passes text on, unless it is part of a thought.
func (f *thinkingFilter) plain(p []byte) {
	if len(p) == 0 || f.closer != "" {
		return
	}
	f.before = append(f.before[:0], p[max(0, len(p)-utf8.UTFMax):]...)
	f.out.text(p)
}

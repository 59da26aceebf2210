package chat

import (
	"strings"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
	"github.com/ralphloop/ralph/promise"
)

// lines shows a reply line by line while it arrives.
type lines struct {
	live    func(ralph.Activity)
	terse   bool
	kind    string
	pending strings.Builder
	said    bool // part of the text was shown
}

// hear takes a piece of a reply.
func (l *lines) hear(d model.Delta) {
	l.add("thought", d.Thought)
	if !l.terse {
		l.add("text", d.Text)
	}
}

func (l *lines) add(kind, text string) {
	if text == "" {
		return
	}
	if kind != l.kind {
		l.flush()
		l.kind = kind
	}
	for line := range strings.Lines(text) {
		l.pending.WriteString(line)
		if strings.HasSuffix(line, "\n") || l.pending.Len() >= 2*shownSize {
			l.flush()
		}
	}
}

func (l *lines) flush() {
	if detail := promise.OneLine(l.pending.String(), shownSize); detail != "" {
		l.live(ralph.Activity{Kind: l.kind, Detail: detail})
		l.said = l.said || l.kind == "text"
	}
	l.pending.Reset()
}

// cut shows the rest of a reply that broke off. The next reply starts over.
func (l *lines) cut() {
	l.flush()
	l.said = false
}

// end shows the rest, and the beginning of the text if none of it was shown.
func (l *lines) end(text string) {
	l.flush()
	if !l.said {
		l.kind = "text"
		l.pending.WriteString(text)
		l.flush()
	}
}

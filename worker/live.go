package worker

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralphloop/ralph"
	"github.com/ralphloop/ralph/model"
)

const (
	shownSize    = 120 // characters of a live detail
	sentenceSize = 300 // characters that are quoted from a provider
	maxToolNames = 64  // beyond these, calls are counted under otherTools
	otherTools   = "(other)"
)

// chatter shows a reply while it comes, line by line.
type chatter struct {
	live    func(ralph.Activity)
	kind    string
	pending strings.Builder
	told    bool
}

// hear takes a piece of a reply.
func (c *chatter) hear(d model.Delta) {
	c.add("thought", d.Thought)
	c.add("text", d.Text)
}

func (c *chatter) add(kind, text string) {
	if text == "" {
		return
	}
	if kind != c.kind {
		c.flush()
		c.kind = kind
	}
	for line := range strings.Lines(text) {
		c.pending.WriteString(line)
		if strings.HasSuffix(line, "\n") || c.pending.Len() >= 2*shownSize {
			c.flush()
		}
	}
}

func (c *chatter) flush() {
	if detail := oneLine(c.pending.String(), shownSize); detail != "" {
		c.live(ralph.Activity{Kind: c.kind, Detail: detail})
		c.told = true
	}
	c.pending.Reset()
}

// end shows what is left, and the whole text if nothing came in pieces.
func (c *chatter) end(m model.Message) {
	c.flush()
	if !c.told {
		c.kind = "text"
		c.pending.WriteString(m.Text[:min(len(m.Text), 4*shownSize)])
		c.flush()
	}
}

// usedTool counts a call and shows it.
func (t *talk) usedTool(c model.Call) {
	name := oneLine(c.Name, shownSize)
	counted := name
	if _, known := t.toolCounts[name]; !known && len(t.toolCounts) >= maxToolNames {
		counted = otherTools
	}
	t.toolCounts[counted]++
	t.in.Live(ralph.Activity{Kind: "tool", Name: name, Detail: detailOf(c.Input)})
}

// detailOf is what tells calls of one tool apart.
func detailOf(input json.RawMessage) string {
	var fields struct{ Command, Path, Pattern, Summary, Verdict string }
	if json.Unmarshal(input, &fields) != nil { // a field of another type leaves the others as they are
		return ""
	}
	for _, text := range []string{fields.Command, fields.Pattern, fields.Path, fields.Verdict, fields.Summary} {
		if text != "" {
			return oneLine(text[:min(len(text), 8*shownSize)], shownSize)
		}
	}
	return ""
}

// oneLine makes one short printable line of any text.
func oneLine(s string, limit int) string {
	var b strings.Builder
	blank, n := false, 0
	for _, c := range s {
		switch {
		case unicode.IsSpace(c):
			blank = n > 0
			continue
		case c == utf8.RuneError || !unicode.IsPrint(c):
			continue
		}
		if blank {
			b.WriteByte(' ')
			n++
		}
		if n >= limit {
			b.WriteString("…")
			break
		}
		blank = false
		b.WriteRune(c)
		n++
	}
	return b.String()
}

package canary

import (
	"cmp"
	"slices"

	"github.com/ralphloop/ralph/internal/shell"
	"github.com/ralphloop/ralph/internal/text"
)

// segment is one simple command of a shell command line.
type segment struct {
	words  []word // without assignments
	plain  bool   // only words: no redirection, no bracket, no pipe on either side
	before string // the operator before it: "", "&&", "||", ";", "|", "&", "("
	after  string
}

// word is one unquoted word of a command, and where it ends in the text.
type word struct {
	text string
	end  int
}

func (s segment) texts() []string {
	texts := make([]string, len(s.words))
	for i, w := range s.words {
		texts[i] = w.text
	}
	return texts
}

// split splits a command line into segments. Commands inside other commands, and all of a line that
// cannot be parsed, become segments that are not plain; those are left unchanged.
func split(command string) []segment {
	list, err := shell.Parse(command)
	if err != nil {
		return looseSegments(command)
	}
	segments := listSegments(list)
	for i := range segments[:max(len(segments)-1, 0)] {
		segments[i].after = cmp.Or(segments[i].after, segments[i+1].before)
	}
	return segments
}

func looseSegments(command string) (segments []segment) {
	for _, texts := range shell.Loose(command) {
		s := segment{before: "("}
		for _, text := range texts {
			s.words = append(s.words, word{text: text})
		}
		segments = append(segments, s)
	}
	return segments
}

func listSegments(list shell.List) (segments []segment) {
	for _, pipe := range list {
		for _, c := range pipe {
			outputs := c.Outputs()
			for _, inner := range append(outputs, c.Body) {
				for _, s := range listSegments(inner) {
					s.plain, s.before = false, "("
					segments = append(segments, s)
				}
			}
			if len(c.Words) == 0 {
				continue
			}
			s := segment{
				before: c.Before,
				plain:  len(pipe) == 1 && !c.Background && !c.Negated && len(c.Redirects)+len(outputs) == 0,
			}
			switch {
			case c.Negated:
				s.before = "("
			case c.Background:
				s.after = "&"
			}
			for _, w := range c.Words {
				s.words = append(s.words, word{text: w.Text, end: w.End})
			}
			segments = append(segments, s)
		}
	}
	return segments
}

var assignment = text.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_]*=`)

// insertion is text to insert into a command after a word.
type insertion struct {
	at   int
	text string
}

func insert(command string, insertions []insertion) string {
	slices.SortStableFunc(insertions, func(a, b insertion) int { return b.at - a.at })
	for _, i := range insertions {
		command = command[:i.at] + i.text + command[i.at:]
	}
	return command
}

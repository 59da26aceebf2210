package verify

import (
	"strings"
)

var (
	assignment = lazily(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)
	redirect   = lazily(`^(?:[0-9]*(?:<<<|<<-|<<|<>|<&|>>|>&|>\||<|>)|&>>|&>)[ \t]*`)
	parameter  = lazily(`^\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})`)
)

// firstWord finds the word of a shell command that names what is run: the first one
// behind assignments, redirections, opening brackets and `!`. Plain variables and `~/`
// are filled in from the environment. certain is false if only the shell could tell.
// The word is "" if nothing is named at all.
//
// It is no shell parser and need not be: its answer only tells a check that failed from
// one that cannot run, after the shell has already said 126 or 127.
func firstWord(command string, variable func(string) (string, bool)) (word string, certain bool) {
	s := wordScanner{rest: command, variable: variable}
	for {
		s.skipBlanks()
		switch {
		case s.rest == "":
			return "", true
		case redirect().MatchString(s.rest):
			s.rest = s.rest[len(redirect().FindString(s.rest)):]
			s.word()
			continue
		case strings.ContainsRune("();&|", rune(s.rest[0])):
			s.rest = s.rest[1:]
			continue
		case assignment().MatchString(s.rest):
			s.word()
			continue
		}
		found := s.word()
		switch {
		case !found.certain:
			return "", false
		case found.text == "" && !found.quoted, !found.quoted && (found.text == "!" || found.text == "{"):
			continue
		}
		s.rest = strings.TrimLeft(s.rest, " \t")
		definesFunction := strings.HasPrefix(s.rest, "(")
		return found.text, !definesFunction
	}
}

// wordScanner reads a command word by word.
type wordScanner struct {
	rest     string
	variable func(string) (string, bool)
}

// shellWord is one word after quotes and variables were taken out.
type shellWord struct {
	text    string
	quoted  bool // at least a part of it was
	certain bool
}

func (s *wordScanner) skipBlanks() {
	for {
		s.rest = strings.TrimLeft(s.rest, " \t\r\n")
		switch {
		case strings.HasPrefix(s.rest, "\\\n"):
			s.rest = s.rest[2:]
		case strings.HasPrefix(s.rest, "#"):
			_, s.rest, _ = strings.Cut(s.rest, "\n")
		default:
			return
		}
	}
}

// word reads up to the next blank or operator outside of quotes.
func (s *wordScanner) word() shellWord {
	w := shellWord{certain: true}
	if strings.HasPrefix(s.rest, "~") {
		s.tilde(&w)
	}
	var text strings.Builder
	text.WriteString(w.text)
	for s.rest != "" && !strings.ContainsRune(" \t\r\n;&|<>()", rune(s.rest[0])) {
		switch s.rest[0] {
		case '\'':
			inner, after, closed := strings.Cut(s.rest[1:], "'")
			s.rest, w.quoted = after, true
			w.certain = w.certain && closed
			text.WriteString(inner)
		case '"':
			s.rest, w.quoted = s.rest[1:], true
			s.doubleQuoted(&w, &text)
		case '\\':
			w.quoted = true
			s.escaped(&text)
		case '$':
			value := s.expansion(&w)
			fields := strings.Fields(value)
			if len(fields) > 1 || len(fields) == 1 && value != fields[0] {
				// The shell splits here; what follows is an argument already.
				text.WriteString(fields[0])
				w.text = text.String()
				return w
			}
			text.WriteString(strings.TrimSpace(value))
		case '`':
			w.certain = false
			s.skipNested("`", "`")
		case '*', '?':
			w.certain = false
			s.rest = s.rest[1:]
		default:
			text.WriteByte(s.rest[0])
			s.rest = s.rest[1:]
		}
	}
	w.text = text.String()
	return w
}

func (s *wordScanner) tilde(w *shellWord) {
	if len(s.rest) > 1 && s.rest[1] != '/' {
		w.certain = false
		return
	}
	home, known := s.variable("HOME")
	w.text, w.certain = home, known
	s.rest = s.rest[1:]
}

func (s *wordScanner) doubleQuoted(w *shellWord, text *strings.Builder) {
	for s.rest != "" {
		switch s.rest[0] {
		case '"':
			s.rest = s.rest[1:]
			return
		case '\\':
			if len(s.rest) > 1 && strings.ContainsRune("$`\"\\\n", rune(s.rest[1])) {
				s.escaped(text)
				continue
			}
			text.WriteByte('\\')
			s.rest = s.rest[1:]
		case '$':
			text.WriteString(s.expansion(w))
		case '`':
			w.certain = false
			s.skipNested("`", "`")
		default:
			text.WriteByte(s.rest[0])
			s.rest = s.rest[1:]
		}
	}
	w.certain = false // the quote is never closed
}

// escaped takes a backslash and what it protects; a protected line break is nothing.
func (s *wordScanner) escaped(text *strings.Builder) {
	if len(s.rest) > 1 && s.rest[1] != '\n' {
		text.WriteByte(s.rest[1])
	}
	s.rest = s.rest[min(2, len(s.rest)):]
}

// expansion takes a plain $NAME or ${NAME}. Anything else that begins with a dollar is
// the shell's secret, but for the dollar at the end of a word.
func (s *wordScanner) expansion(w *shellWord) string {
	if match := parameter().FindStringSubmatch(s.rest); match != nil {
		s.rest = s.rest[len(match[0]):]
		value, _ := s.variable(match[1] + match[2])
		return value
	}
	switch {
	case strings.HasPrefix(s.rest, "$("):
		s.skipNested("(", ")")
	case strings.HasPrefix(s.rest, "${"):
		s.skipNested("{", "}")
	default:
		s.rest = s.rest[1:]
		if s.rest == "" || strings.ContainsRune(" \t\r\n;&|<>)\"", rune(s.rest[0])) {
			return "$"
		}
	}
	w.certain = false
	return ""
}

// skipNested jumps behind the bracket that closes the next one, quoted text aside, or to
// the end if none does.
func (s *wordScanner) skipNested(opening, closing string) {
	depth := 0
	for s.rest != "" {
		c := s.rest[:1]
		s.rest = s.rest[1:]
		switch {
		case c == "\\":
			s.rest = s.rest[min(1, len(s.rest)):]
		case c == "'":
			_, s.rest, _ = strings.Cut(s.rest, "'")
		case c == closing && depth > 0:
			if depth--; depth == 0 {
				return
			}
		case c == opening:
			depth++
		}
	}
}

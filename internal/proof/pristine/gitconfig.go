package pristine

import (
	"bytes"
	"strings"
)

// gitSetting is one setting in a configuration file of git.
type gitSetting struct {
	section, key string // in lower case; a section is without its subsection
	value        string
}

// parseGitConfig reads a configuration file as git does. It starts no program: git would need the settings of the
// repository for that, which an agent can change. Git refuses a file with an error, so what follows one does not count.
func parseGitConfig(text []byte) []gitSetting {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	p := gitParser{rest: bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))}
	for p.next() {
	}
	return p.found
}

type gitParser struct {
	rest    []byte
	section string
	found   []gitSetting
}

// next reads a section's name, a setting or a comment. It reports false at the end and at an error.
func (p *gitParser) next() bool {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n\v\f")
	if len(p.rest) == 0 {
		return false
	}
	switch c := p.rest[0]; {
	case c == '#' || c == ';':
		_, p.rest, _ = bytes.Cut(p.rest, []byte("\n"))
		return true
	case c == '[':
		return p.header()
	case isLetter(c):
		return p.setting()
	}
	return false
}

// header reads [section], [section "subsection"] or the old [section.subsection].
func (p *gitParser) header() bool {
	end := bytes.IndexAny(p.rest, "]\" \t\n")
	if end < 0 || p.rest[end] == '\n' {
		return false
	}
	name, _, _ := strings.Cut(string(p.rest[1:end]), ".")
	p.section = strings.ToLower(name)
	quoted := false
	for i := end; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '\n':
			return false
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			p.rest = p.rest[i+1:]
			return true
		}
	}
	return false
}

func (p *gitParser) setting() bool {
	end := 0
	for end < len(p.rest) && (isLetter(p.rest[end]) || p.rest[end] >= '0' && p.rest[end] <= '9' || p.rest[end] == '-') {
		end++
	}
	s := gitSetting{section: p.section, key: strings.ToLower(string(p.rest[:end]))}
	p.rest = bytes.TrimLeft(p.rest[end:], " \t")
	if len(p.rest) > 0 && p.rest[0] != '\n' {
		if p.rest[0] != '=' {
			return false
		}
		var ok bool
		if s.value, ok = p.value(); !ok {
			return false
		}
	}
	p.found = append(p.found, s)
	return true
}

// gitEscapes are the characters that may follow a backslash in a value; a line can continue on the next one.
var gitEscapes = map[byte]string{'\n': "", 't': "\t", 'b': "\b", 'n': "\n", '\\': `\`, '"': `"`}

// value reads what follows the equals sign, to the end of the line. Spaces at its end count only in quotes.
func (p *gitParser) value() (string, bool) {
	text := bytes.TrimLeft(p.rest[1:], " \t")
	var b strings.Builder
	kept, quoted, comment := 0, false, false
	i := 0
	for ; i < len(text) && text[i] != '\n'; i++ {
		switch c := text[i]; {
		case comment:
		case (c == '#' || c == ';') && !quoted:
			comment = true
		case c == '"':
			quoted = !quoted
			kept = b.Len()
		case c == '\\':
			i++
			if i == len(text) {
				return "", false
			}
			as, known := gitEscapes[text[i]]
			if !known {
				return "", false
			}
			b.WriteString(as)
			kept = b.Len()
		default:
			b.WriteByte(c)
			if quoted || c != ' ' && c != '\t' {
				kept = b.Len()
			}
		}
	}
	p.rest = text[i:]
	return b.String()[:kept], !quoted
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// splice returns the text with one part replaced.
func (d document) splice(start, end int, with string) []byte {
	return bytes.Join([][]byte{d.text[:start], []byte(with), d.text[end:]}, nil)
}

// remove returns the text without a member of a container, and without the comma that it leaves. Every comment stays.
func (d document) remove(container value, i int) []byte {
	all := container.members
	m, from, to := all[i], container.start+1, container.end-1
	comma, last := m.comma, i == len(all)-1
	if i > 0 {
		from = all[i-1].value.end
		if comma == 0 {
			comma = all[i-1].comma
		}
	}
	if !last {
		to = all[i+1].start
	}
	before, after := d.without(comma, from, m.start), d.without(comma, m.value.end, to)
	inside := strings.Join(comments(d.text[m.start:m.value.end]), d.newline()+d.indentAt(m.start))
	if inside != "" && !last {
		inside += d.newline() + d.indentAt(m.start)
	}
	switch {
	case !last:
		after = strings.TrimLeft(after, whiteSpace)
	case inside != "":
	case strings.TrimSpace(before+after) == "" && i == 0:
		before, after = "", ""
	default:
		before = trimBehindComment(before)
	}
	if endsInLineComment(before + inside) {
		after = strings.TrimLeft(after, " \t")
		if !strings.HasPrefix(after, "\n") && !strings.HasPrefix(after, "\r\n") {
			after = d.newline() + after
		}
	}
	return d.splice(from, to, before+inside+after)
}

// without returns a part of the text without the character at an offset, which may be elsewhere.
func (d document) without(offset, from, to int) string {
	if offset < from || offset >= to {
		return string(d.text[from:to])
	}
	return string(d.text[from:offset]) + string(d.text[offset+1:to])
}

const whiteSpace = " \t\r\n"

// comments returns the comments in a part of a JSON text, each without a line break at its end.
func comments(text []byte) []string {
	var found []string
	for i := 0; i < len(text); i++ {
		if n := commentLength(text[i:]); n > 0 {
			found = append(found, strings.TrimRight(string(text[i:i+n]), "\r"))
			i += n - 1
			continue
		}
		if text[i] != '"' {
			continue
		}
		for i++; i < len(text) && text[i] != '"'; i++ {
			if text[i] == '\\' {
				i++
			}
		}
	}
	return found
}

// trimBehindComment returns a text between two values without the white space at its end, which a line comment may
// have as its own.
func trimBehindComment(gap string) string {
	trimmed := strings.TrimRight(gap, whiteSpace)
	if all := comments([]byte(gap)); len(all) > 0 {
		last := all[len(all)-1]
		trimmed = gap[:max(len(trimmed), strings.LastIndex(gap, last)+len(last))]
	}
	return trimmed
}

// endsInLineComment reports whether what follows a text between two values would become part of a comment.
func endsInLineComment(gap string) bool {
	all := comments([]byte(gap))
	return len(all) > 0 && strings.HasPrefix(all[len(all)-1], "//") && strings.HasSuffix(gap, all[len(all)-1])
}

// add returns the text with a new last member of a container: in the container's own style, on lines of their own or
// on one line, and with a comma behind it if the last member had one. Every comment stays behind what it was behind.
func (d document) add(container value, key string, content any) ([]byte, error) {
	indent, lines := d.styleOf(container)
	entry, err := d.render(key, content, indent, lines)
	if err != nil {
		return nil, err
	}
	entry = strings.ReplaceAll(entry, "\n", d.newline())
	at, to, before, separator := container.start+1, container.end-1, "", ""
	if n := len(container.members); n > 0 {
		last := container.members[n-1]
		at, before, separator = last.value.end, ",", " "
		if last.comma > 0 {
			at, before, entry = last.comma+1, "", entry+","
		}
		to = d.lineEnd(at)
		before += string(d.text[at:to])
	} else {
		before = trimBehindComment(string(d.text[at:to]))
		if lines {
			entry += d.newline() + d.indentAt(container.start)
		}
	}
	if lines || endsInLineComment(before) {
		separator = d.newline() + indent
	}
	return d.splice(at, to, before+separator+entry), nil
}

// lineEnd returns the end of the comments that begin behind an offset, in its line.
func (d document) lineEnd(offset int) int {
	for end := offset; ; {
		end += len(d.text[end:]) - len(bytes.TrimLeft(d.text[end:], " \t"))
		n := commentLength(d.text[end:])
		if n == 0 {
			return offset
		}
		isLine := d.text[end+1] == '/'
		end += n
		offset = end
		if isLine {
			return offset - n + len(bytes.TrimRight(d.text[offset-n:offset], "\r"))
		}
	}
}

// newline returns the line break of the text.
func (d document) newline() string {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// styleOf returns the white space before the members of a container, and whether each has lines of its own.
func (d document) styleOf(container value) (indent string, lines bool) {
	indent = d.indentAt(container.start) + d.unit()
	if len(container.members) == 0 {
		return indent, container.start == d.root.start || bytes.Contains(d.text, []byte("\n"+d.unit()))
	}
	first := container.members[0].start
	if lines = bytes.Contains(d.text[container.start:first], []byte("\n")); lines {
		indent = d.indentAt(first)
	}
	return indent, lines
}

// render writes a member.
func (d document) render(key string, content any, indent string, lines bool) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // shell commands stay readable
	if lines {
		encoder.SetIndent(indent, d.unit())
	}
	if err := encoder.Encode(content); err != nil {
		return "", fmt.Errorf("write JSON: %w", err)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if key == "" {
		return text, nil
	}
	return fmt.Sprintf("%q: %s", key, text), nil
}

// indentAt returns the white space at the beginning of the line that contains an offset.
func (d document) indentAt(offset int) string {
	line := d.text[bytes.LastIndexByte(d.text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit returns the white space of one level.
func (d document) unit() string {
	if len(d.root.members) > 0 {
		first := d.root.members[0].start
		if bytes.Contains(d.text[d.root.start:first], []byte("\n")) {
			if unit := d.indentAt(first); unit != "" {
				return unit
			}
		}
	}
	return "  "
}

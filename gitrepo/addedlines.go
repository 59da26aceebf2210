package gitrepo

import (
	"bufio"
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// diffReader reads `git diff -U0` as it is written and gives every added line to line.
// It holds one line, and of that no more than is looked at.
type diffReader struct {
	line    func(name string, text []byte)
	partial []byte
	name    string
	removed int // lines that the hunk still has
	added   int
}

func (d *diffReader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			d.keep(p)
			break
		}
		if len(d.partial) == 0 {
			d.take(p[:end])
		} else {
			d.keep(p[:end])
			d.take(d.partial)
			d.partial = d.partial[:0]
		}
		p = p[end+1:]
	}
	return n, nil
}

func (d *diffReader) keep(p []byte) {
	d.partial = append(d.partial, p[:min(len(p), lineLimit-len(d.partial))]...)
}

var hunk = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`) })

func (d *diffReader) take(line []byte) {
	if len(line) == 0 {
		return
	}
	switch {
	case d.removed > 0 && line[0] == '-':
		d.removed--
	case d.added > 0 && line[0] == '+':
		d.added--
		d.line(d.name, line[1:])
	case bytes.HasPrefix(line, []byte("+++ ")):
		d.name = diffName(string(line[4:]))
	case line[0] == '@':
		if m := hunk().FindSubmatch(line); m != nil {
			d.removed, d.added = hunkLines(m[1]), hunkLines(m[2])
		}
	}
}

// hunkLines reads a count of lines, which is left out if it is 1.
func hunkLines(count []byte) int {
	if len(count) == 0 {
		return 1
	}
	n := 0
	for _, digit := range count {
		n = n*10 + int(digit-'0')
	}
	return n
}

// diffName is the path of a "+++" line: behind b/, in quotes if it holds odd characters,
// with a tab at the end if it holds blanks.
func diffName(name string) string {
	name = strings.TrimSuffix(name, "\t")
	if strings.HasPrefix(name, `"`) {
		name = unquote(name)
	}
	return strings.TrimPrefix(name, "b/")
}

// unquote reads a path as git quotes it, which is C's way.
func unquote(quoted string) string {
	var path strings.Builder
	in := bufio.NewReader(strings.NewReader(strings.Trim(quoted, `"`)))
	for {
		c, err := in.ReadByte()
		if err != nil {
			return path.String()
		}
		if c == '\\' {
			c = escaped(in)
		}
		path.WriteByte(c)
	}
}

func escaped(in *bufio.Reader) byte {
	c, _ := in.ReadByte()
	if i := strings.IndexByte("abtnvfr", c); i >= 0 {
		return "\a\b\t\n\v\f\r"[i]
	}
	if c < '0' || c > '7' {
		return c
	}
	value := c - '0'
	for range 2 {
		digit, _ := in.ReadByte()
		value = value<<3 | (digit-'0')&7
	}
	return value
}

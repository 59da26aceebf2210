package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Clip keeps at most limit characters of the beginning of a text.
func Clip(text string, limit int) string {
	short := firstRunes(text, limit)
	if len(short) < len(text) {
		return short + "…"
	}
	return short
}

// firstRunes returns the beginning of a text.
func firstRunes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	n := 0
	for at := range text {
		if n == limit {
			return text[:at]
		}
		n++
	}
	return text
}

// lastRunes returns the end of a text.
func lastRunes(text string, limit int) string {
	from := len(text)
	for ; limit > 0 && from > 0; limit-- {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	return text[from:]
}

// plain makes text out of bytes. Bytes that are not UTF-8, and NUL, which some providers refuse,
// become replacement characters; lossy reports whether there were any.
func plain(raw []byte) (text string, lossy bool) {
	if utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0 {
		return string(raw), false
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(raw), "\uFFFD"), "\x00", "\uFFFD"), true
}

// binaryLook is how much of a file is examined to tell whether it is text, as in git.
const binaryLook = 8000

func isBinary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), binaryLook)], 0) >= 0
}

// lineLimit is how many characters of a line are shown.
const lineLimit = 2000

// line is one line of a file, without its line break.
type line struct {
	kept   []byte // its beginning; valid until the next line is read
	bytes  int    // its full length
	ending string // "\n", "\r\n", or "" at the end of the file
}

// text returns the line as it is shown, with at most limit characters.
func (l line) text(limit int) (text string, cut, lossy bool) {
	kept, lossy := plain(l.kept)
	short := firstRunes(kept, limit)
	if len(short) == len(kept) && len(l.kept) == l.bytes {
		return short, false, lossy
	}
	return fmt.Sprintf("%s[… %d bytes cut …]", short, max(l.bytes-len(short), 1)), true, lossy
}

// lineReader reads lines in limited memory, however long they are.
type lineReader struct {
	source *bufio.Reader
	keep   int // bytes of each line
	kept   []byte
}

func newLineReader(ctx context.Context, r io.Reader, keep int) *lineReader {
	return &lineReader{source: bufio.NewReaderSize(untilDone{ctx, r}, 32<<10), keep: keep}
}

// untilDone reads until its context is done: a single line of a sparse file can take very long to
// read.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// next returns io.EOF after the last line.
func (r *lineReader) next() (line, error) {
	r.kept = r.kept[:0]
	total, last := 0, byte(0)
	for {
		piece, err := r.source.ReadSlice('\n')
		if len(piece) > 0 {
			r.kept = append(r.kept, piece[:min(len(piece), max(0, r.keep+2-len(r.kept)))]...)
			total += len(piece)
			if len(piece) > 1 {
				last = piece[len(piece)-2]
			}
		}
		switch {
		case err == nil:
			return r.ended(total, last), nil
		case errors.Is(err, bufio.ErrBufferFull):
			last = piece[len(piece)-1]
		case total > 0 && errors.Is(err, io.EOF):
			return line{kept: r.kept[:min(len(r.kept), r.keep)], bytes: total}, nil
		default:
			return line{}, err
		}
	}
}

// ended returns a line whose length with its break is total; last is the byte before the break.
func (r *lineReader) ended(total int, last byte) line {
	l := line{bytes: total - 1, ending: "\n"}
	if last == '\r' && total > 1 {
		l = line{bytes: total - 2, ending: "\r\n"}
	}
	l.kept = r.kept[:min(len(r.kept), r.keep, l.bytes)]
	return l
}

// sum is a text of limited size that is made of lines.
type sum struct {
	text  strings.Builder
	left  int // characters that still fit
	lines int
}

// add adds a line if it fits.
func (s *sum) add(line string) bool {
	n := utf8.RuneCountInString(line) + 1
	if n > s.left {
		return false
	}
	s.left -= n
	s.lines++
	s.text.WriteString(line)
	s.text.WriteByte('\n')
	return true
}

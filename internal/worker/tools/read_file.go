package tools

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

//go:embed read_file.md
var readFilePage string

// readLimit is how many characters of a file are returned.
const readLimit = 50_000

type readFileInput struct {
	Path   string `json:"path" doc:"The file, relative to the workspace or absolute."`
	Offset int    `json:"offset,omitempty" doc:"The first line to return, counted from 1."`
	Limit  int    `json:"limit,omitempty" doc:"How many lines to return at most."`
}

func (w *workspace) readFile(ctx context.Context, in readFileInput) Output {
	if w.isOutput(in.Path) {
		return w.outputs.readFile(ctx, in)
	}
	if in.Offset < 0 || in.Limit < 0 {
		return Failf("offset and limit must not be negative")
	}
	name, err := w.find(in.Path)
	if err != nil {
		return failed(err)
	}
	file, info, err := w.open(in.Path, name)
	if err != nil {
		return failed(err)
	}
	defer file.Close()
	head := make([]byte, binaryLook)
	n, err := io.ReadFull(file, head)
	switch {
	case errors.Is(err, io.EOF):
		return Output{Text: in.Path + " is empty"}
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return Failf("%s cannot be read: %w", in.Path, reason(err))
	case isBinary(head[:n]):
		return Output{Text: fmt.Sprintf("%s: binary file, %d bytes", in.Path, info.Size())}
	}
	p := page{in: in, size: info.Size(), sum: sum{left: readLimit - noteRoom}}
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err = p.read(limited, file, head[:n])
	switch {
	case limited.Err() != nil:
		return gaveUp(ctx)
	case err != nil:
		return Failf("%s cannot be read: %w", in.Path, reason(err))
	}
	return p.output()
}

// noteRoom is reserved for the notes below a page.
const noteRoom = 600

// page is the part of a file that is returned.
type page struct {
	in    readFileInput
	size  int64
	sum   sum
	line  int // the last line that was read
	next  int // where to continue; 0 at the end of the file
	cut   bool
	lossy bool
	crlf  int
	open  bool // the last line of the file has no line break
}

func (p *page) read(ctx context.Context, file *os.File, head []byte) error {
	lines := newLineReader(ctx, io.MultiReader(bytes.NewReader(head), file), 4*lineLimit)
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.line++
		if p.line < p.in.Offset {
			continue
		}
		if p.in.Limit > 0 && p.sum.lines == p.in.Limit || !p.show(l) {
			p.next = p.line
			return nil
		}
	}
}

// show adds a line unless the page is full.
func (p *page) show(l line) bool {
	text, cut, lossy := l.text(lineLimit)
	if !p.sum.add(fmt.Sprintf("%6d\t%s", p.line, text)) {
		return false
	}
	p.cut, p.lossy, p.open = p.cut || cut, p.lossy || lossy, l.ending == ""
	if l.ending == "\r\n" {
		p.crlf++
	}
	return true
}

func (p *page) output() Output {
	if p.sum.lines == 0 {
		return Failf("%s has only %s", p.in.Path, text.Count(p.line, "line"))
	}
	var notes []string
	note := func(applies bool, text string) {
		if applies {
			notes = append(notes, text)
		}
	}
	note(p.lossy, "bytes that are not UTF-8 are shown as \uFFFD")
	note(p.crlf > 0, "lines end with CRLF, which edit_file keeps")
	note(p.open, "there is no line break at the end of the file")
	note(p.next > 0, fmt.Sprintf("there is more (%d bytes in total): continue with offset %d", p.size, p.next))
	text := p.sum.text.String()
	if len(notes) > 0 {
		text += "[" + strings.Join(notes, "; ") + "]\n"
	}
	return Output{Text: text, Cut: p.cut || p.next > 0}
}

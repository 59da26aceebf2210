package tools

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/text"
)

//go:embed edit_file.md
var editFilePage string

// editLimit is the maximum size in bytes of an edited file, before and after.
const editLimit = 8 << 20

type editFileInput struct {
	Path string `json:"path" doc:"The file, relative to the workspace or absolute."`
	Old  string `json:"old" doc:"The text to replace."`
	New  string `json:"new" doc:"The text to put in its place."`
	All  bool   `json:"all,omitempty" doc:"Replace every occurrence."`
}

func (w *workspace) editFile(ctx context.Context, in editFileInput) Output {
	switch {
	case in.Old == "":
		return Failf("old is empty; use write_file to write a whole file")
	case in.Old == in.New:
		return Failf("old and new are the same; there is nothing to change")
	case utf8.RuneCountInString(in.New) > writeLimit:
		return Failf("new has more than the %d characters that one call may write", writeLimit)
	}
	name, err := w.findWritable(in.Path)
	if err != nil {
		return failed(err)
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if ctx.Err() != nil {
		return gaveUp(ctx)
	}
	return w.edit(in, name)
}

func (w *workspace) edit(in editFileInput, name string) Output {
	file, info, err := w.open(in.Path, name)
	if err != nil {
		return failed(err)
	}
	content, err := io.ReadAll(io.LimitReader(file, editLimit+1))
	file.Close()
	switch {
	case err != nil:
		return Failf("%s cannot be read: %w", in.Path, reason(err))
	case len(content) > editLimit:
		return Failf("%s has more than %d bytes, too many to be edited here; use bash", in.Path, editLimit)
	case isBinary(content):
		return Failf("%s is a binary file and cannot be edited here", in.Path)
	}
	edited, at, err := replace(content, in)
	if err == nil {
		err = w.put(name, info, edited)
	}
	if err != nil {
		return Failf("%s: %w", in.Path, err)
	}
	return Output{
		Text:   fmt.Sprintf("edited %s: %s, at %s", in.Path, text.Count(len(at), "replacement"), lineList(at)),
		Edited: []string{filepath.ToSlash(name)},
	}
}

// replace makes the edit and returns the lines in which it was made.
func replace(content []byte, in editFileInput) (edited []byte, at []int, err error) {
	before, after := []byte(in.Old), []byte(in.New)
	if crlf(content) {
		before, after = withCRLF(before), withCRLF(after)
	}
	n := bytes.Count(content, before)
	if n == 0 && bytes.ContainsRune(before, '\n') {
		// In a file with both kinds of line ends, the text may have the other kind.
		if other := withCRLF(before); bytes.Contains(content, other) {
			before, after = other, withCRLF(after)
			n = bytes.Count(content, before)
		}
	}
	switch {
	case n == 0:
		return nil, nil, notFound(content, in.Old)
	case bytes.Equal(before, after):
		return nil, nil, fmt.Errorf("old and new differ only in line endings, and the file keeps its own")
	case n > 1 && !in.All:
		return nil, nil, fmt.Errorf("old occurs %d times, at %s; add lines around it until it occurs once, or set all", n,
			lineList(linesOf(content, before)))
	case len(content)+n*(len(after)-len(before)) > editLimit:
		return nil, nil, fmt.Errorf("the file would have more than %d bytes", editLimit)
	}
	return bytes.ReplaceAll(content, before, after), linesOf(content, before), nil
}

// crlf reports whether all lines of a file end with CRLF.
func crlf(content []byte) bool {
	n := bytes.Count(content, []byte("\n"))
	return n > 0 && n == bytes.Count(content, []byte("\r\n"))
}

func withCRLF(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
}

// linesOf returns the line in which each occurrence begins.
func linesOf(content, text []byte) []int {
	var lines []int
	line := 1
	for {
		i := bytes.Index(content, text)
		if i < 0 {
			return lines
		}
		line += bytes.Count(content[:i], []byte("\n"))
		lines = append(lines, line)
		line += bytes.Count(text, []byte("\n"))
		content = content[i+len(text):]
	}
}

// lineList returns "line 3" or "lines 3, 9".
func lineList(lines []int) string {
	const most = 10
	word, shown := "line ", text.Mapped(lines[:min(len(lines), most)], strconv.Itoa)
	if len(lines) > 1 {
		word = "lines "
	}
	if len(lines) > most {
		shown = append(shown, "…")
	}
	return word + strings.Join(shown, ", ")
}

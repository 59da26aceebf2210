package tools

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/ralphloop/ralph/internal/atomicfile"
	"github.com/ralphloop/ralph/internal/text"
)

//go:embed write_file.md
var writeFilePage string

// writeLimit is how many characters one call may write.
const writeLimit = 200_000

type writeFileInput struct {
	Path    string `json:"path" doc:"The file, relative to the workspace or absolute."`
	Content string `json:"content" doc:"The whole content of the file."`
}

func (w *workspace) writeFile(ctx context.Context, in writeFileInput) Output {
	if n := utf8.RuneCountInString(in.Content); n > writeLimit {
		return Failf("content has %d characters, more than the %d that one call may write; write a part, then add to it", n,
			writeLimit)
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
	before, err := w.regular(in.Path, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	if err := w.put(name, before, []byte(in.Content)); err != nil {
		return Failf("%s cannot be written: %w", in.Path, err)
	}
	did := "made"
	if before != nil {
		did = "replaced"
	}
	return Output{
		Text: fmt.Sprintf("%s %s: %s, %s", did, in.Path, text.Count(lineCount(in.Content), "line"),
			text.Count(len(in.Content), "byte")),
		Edited: []string{filepath.ToSlash(name)},
	}
}

func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// put writes a file atomically. before is the existing file, or nil.
func (w *workspace) put(name string, before fs.FileInfo, content []byte) error {
	if before != nil && before.Mode().Perm()&0o200 == 0 {
		return errors.New("it is read-only")
	}
	switch err := w.Root.MkdirAll(filepath.Dir(name), 0o755); {
	case errors.Is(err, fs.ErrExist), errors.Is(err, syscall.ENOTDIR):
		return errors.New("a part of its path is a file, not a folder")
	case err != nil:
		return reason(err)
	}
	draft := filepath.Join(filepath.Dir(name), atomicfile.TempName())
	err := w.draft(draft, before, content)
	if err == nil {
		err = w.Root.Rename(draft, name)
	}
	if err != nil {
		_ = w.Root.Remove(draft)
		return reason(err)
	}
	return nil
}

// draft writes the file that will replace another, with the same mode.
func (w *workspace) draft(name string, before fs.FileInfo, content []byte) error {
	file, err := w.Root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil && before != nil {
		err = file.Chmod(before.Mode().Perm())
	}
	return cmp.Or(err, file.Close())
}

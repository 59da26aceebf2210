// Package textfile reads texts that people write for a run: goals, specs, prompts, steering. An
// agent can replace them with anything, so only a regular file of sensible size is read.
package textfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxSize is far more than fits into a prompt.
const maxSize = 4 << 20

// ErrEmpty means that the file contains only white space.
var ErrEmpty = errors.New("the file is empty")

// Read reads the file at path, which is relative to dir unless it is absolute.
func Read(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|NonBlocking, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return readAll(file, path)
}

// ReadInside reads a file that a repository may contain. Its name must not lead out of dir.
func ReadInside(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|NonBlocking, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return readAll(file, name)
}

// Inside returns the name below dir of a file that a user named, with slashes. It returns "" for a
// file outside of dir, and for no name.
func Inside(dir, name string) string {
	if filepath.IsAbs(name) {
		name, _ = filepath.Rel(dir, name)
	}
	if name == "" || !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(name))
}

// Clean drops a byte order mark and replaces invalid UTF-8.
func Clean(text string) string {
	return strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "\ufffd")
}

// readAll reads an open file; path is for messages.
func readAll(file *os.File, path string) (string, error) {
	switch info, err := file.Stat(); {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxSize:
		return "", fmt.Errorf("%s is larger than %d MiB", path, maxSize>>20)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSize))
	if err != nil {
		return "", err
	}
	text := Clean(string(data))
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("%s: %w", path, ErrEmpty)
	}
	return text, nil
}

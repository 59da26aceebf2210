// Package textfile reads texts that people write for a run: goals, specs, prompts, steering. An
// agent can replace them with anything, so only a regular file of sensible size is read.
package textfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
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

// Inside returns the name below dir of a file that a user named, with slashes, and those of the links
// that lead to it. The name is "" for a file outside of dir, and for no name.
func Inside(dir, name string) (file string, links []string) {
	if name == "" {
		return "", nil
	}
	dir = followed(dir)
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	name = filepath.Clean(name)
	for range maxLinks {
		link, next := followOne(name)
		if link == "" {
			return below(dir, name), links
		}
		if inside := below(dir, link); inside != "" {
			links = append(links, inside)
		}
		name = next
	}
	return "", links
}

// maxLinks is how many links the system follows, too.
const maxLinks = 40

func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// followOne returns the first link on a path, and the path with what that leads to. Without a link it
// returns "".
func followOne(path string) (link, next string) {
	var above []string
	for at := path; at != filepath.Dir(at); at = filepath.Dir(at) {
		above = append(above, at)
	}
	for _, at := range slices.Backward(above) {
		target, err := os.Readlink(at)
		if err != nil {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(at), target)
		}
		return at, filepath.Join(target, strings.TrimPrefix(path, at))
	}
	return "", path
}

func below(dir, path string) string {
	name, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(name) {
		return ""
	}
	return filepath.ToSlash(name)
}

// Clean drops a byte order mark and replaces invalid UTF-8.
func Clean(text string) string {
	return strings.ToValidUTF8(strings.TrimPrefix(text, "\ufeff"), "\ufffd")
}

// IsText reports whether a text can be read by people: it has no NUL, and little of it is invalid UTF-8.
func IsText(text string) bool {
	invalid := strings.Count(strings.ToValidUTF8(text, "\ufffd"), "\ufffd")
	return !strings.ContainsRune(text, 0) && invalid*5 < utf8.RuneCountInString(text)
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

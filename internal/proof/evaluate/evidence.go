package evaluate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// maxSeen is how much of a file is read to find a line.
const maxSeen = 16 << 20

// lookUp verifies that everything the pointers name exists, and returns them as file:line. The
// problem describes the first that does not.
func lookUp(dir string, pointers []string) (found []string, problem string, err error) {
	if len(pointers) == 0 {
		return nil, "", nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", fmt.Errorf("open workspace: %w", err)
	}
	defer root.Close()
	for _, p := range pointers[:min(len(pointers), maxPointers)] {
		name, first, last, err := parsePointer(dir, p)
		if err == nil {
			err = hasLine(root, name, last)
		}
		if err != nil {
			return nil, fmt.Sprintf("the evidence %s cannot be verified: %v", quoted(p), err), nil
		}
		found = append(found, fmt.Sprintf("%s:%d", name, first))
	}
	return found, "", nil
}

var errPointer = errors.New("the form is path:line")

// parsePointer parses path:line, or path:line-line. Paths are in the workspace: relative, or
// absolute paths that lead there, since some agents see files that way.
func parsePointer(dir, pointer string) (name string, first, last int, err error) {
	at := strings.LastIndexByte(pointer, ':')
	if at <= 0 {
		return "", 0, 0, errPointer
	}
	from, to, isRange := strings.Cut(strings.TrimSpace(pointer[at+1:]), "-")
	if first, err = strconv.Atoi(from); err != nil || first < 1 {
		return "", 0, 0, errPointer
	}
	if last = first; isRange {
		if last, err = strconv.Atoi(to); err != nil || last < first {
			return "", 0, 0, errPointer
		}
	}
	file := filepath.FromSlash(strings.TrimSpace(pointer[:at]))
	if filepath.IsAbs(file) {
		if file, err = filepath.Rel(dir, file); err != nil {
			return "", 0, 0, errors.New("it is not in the workspace")
		}
	}
	if !filepath.IsLocal(file) {
		return "", 0, 0, errors.New("it is not in the workspace")
	}
	name = path.Clean(filepath.ToSlash(file))
	if top, _, _ := strings.Cut(name, "/"); strings.EqualFold(top, ".git") {
		return "", 0, 0, errors.New("files in .git are not evidence")
	}
	return name, first, last, nil
}

// hasLine returns why a file of the workspace has no such line, or nil if it has.
func hasLine(root *os.Root, name string, line int) error {
	name = filepath.FromSlash(name)
	// Opening a pipe would block until something writes to it.
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return errors.New("there is no such file")
	}
	f, err := root.Open(name)
	if err != nil {
		return errors.New("the file cannot be read")
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxSeen)) // what cannot be read has no lines
	lines := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines++
	}
	if lines < line {
		return fmt.Errorf("the file has %d lines", lines)
	}
	return nil
}
